"""Fast exact attention on the CPU, for numpy and torch.

>>> import numpy as np, attnscope as at
>>> q = k = v = np.eye(3, dtype=np.float32)
>>> out, weights = at.attention(q, k, v, mask=at.causal(), return_weights=True)
>>> weights.round(2)
array([[1.  , 0.  , 0.  ],
       [0.36, 0.64, 0.  ],
       [0.26, 0.26, 0.47]], dtype=float32)
"""

import importlib as _importlib
import os as _os

from . import _attnscope
from ._attention import attention, linear_attention, weights
from ._attnscope import CacheView, KvCache, Mask, Plan
from ._bias import DistanceBias, alibi, clamped_relative, distance_bias, t5_bias
from ._masks import (
    block,
    causal,
    combined,
    dilated,
    document,
    global_,
    mask,
    natten,
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
    "combined",
    "dilated",
    "distance_bias",
    "document",
    "get_num_threads",
    "global_",
    "linear_attention",
    "mask",
    "natten",
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

# Loaded on first use: importing torch takes seconds, and figures need cairo.
_SUBMODULES = ("datasets", "nn", "torch", "transformers")
_HOMES = {
    "Comparison": "_compare",
    "Error": "_errors",
    "Figure": "_figures",
    "HeadReport": "_report",
    "HeadStatistics": "_report",
    "HeadType": "_report",
    "Html": "_page",
    "LiveRecording": "_live",
    "Model": "_model",
    "Page": "_page",
    "Recording": "_recording",
    "Report": "_report",
    "Shares": "_report",
    "Stack": "_recording",
    "Statistics": "_report",
    "Token": "_model",
    "analyze": "_report",
    "head_view": "_page",
    "heads": "_figures",
    "headview": "_figures",
    "heatmap": "_figures",
    "load": "_model",
    "model_view": "_page",
    "models": "_model",
    "onnx_attention": "_onnx",
    "open": "_files",
    "overview": "_figures",
    "record": "_live",
    "scaled_dot_product_attention": "_sdpa",
}
__all__ += _HOMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import datasets, nn, torch, transformers
    from ._compare import Comparison
    from ._errors import Error
    from ._figures import Figure, heads, headview, heatmap, overview
    from ._files import open
    from ._live import LiveRecording, record
    from ._model import Model, Token, load, models
    from ._onnx import onnx_attention
    from ._page import Html, Page, head_view, model_view
    from ._recording import Recording, Stack
    from ._report import HeadReport, HeadStatistics, HeadType, Report, Shares, Statistics, analyze
    from ._sdpa import scaled_dot_product_attention


def __getattr__(name: str):
    if name in _SUBMODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value  # the next lookup does not come here
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_attnscope.after_fork)
