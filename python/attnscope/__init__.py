"""Fast exact attention on the CPU, for numpy and torch.

>>> import numpy as np, attnscope as at
>>> q = k = v = np.eye(3, dtype=np.float32)
>>> out, weights = at.attention(q, k, v, mask=at.causal(), return_weights=True)
>>> weights.round(2)
array([[1.  , 0.  , 0.  ],
       [0.36, 0.64, 0.  ],
       [0.26, 0.26, 0.47]], dtype=float32)
"""

import os as _os

from . import _attnscope
from ._attention import attention, linear_attention, weights
from ._attnscope import CacheView, DistanceBias, KvCache, Mask, Plan
from ._bias import alibi, clamped_relative, distance_bias, t5_bias
from ._masks import (
    block,
    causal,
    document,
    global_,
    mask,
    padding,
    padding_ids,
    plan,
    prefix,
    sparse,
    window,
)
from ._threads import get_num_threads, set_num_threads

__version__ = _attnscope.version

__all__ = [
    "CacheView",
    "DistanceBias",
    "KvCache",
    "Mask",
    "Plan",
    "alibi",
    "attention",
    "block",
    "causal",
    "clamped_relative",
    "distance_bias",
    "document",
    "get_num_threads",
    "global_",
    "linear_attention",
    "mask",
    "padding",
    "padding_ids",
    "plan",
    "prefix",
    "set_num_threads",
    "sparse",
    "t5_bias",
    "weights",
    "window",
]

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_attnscope.after_fork)
