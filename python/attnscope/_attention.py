"""Exact fused attention, and linear attention."""

import sys
from collections.abc import Callable
from typing import Any

from . import _attnscope
from ._attnscope import GradientWanted, Mask, Plan
from ._mask_arguments import _argument

_LSE, _WEIGHTS = 1, 2
_torch_state: Any = None  # the module, once there are tensors
_FEATURES = {"elu+1": 0, "relu": 1, "identity": 2}
_NAMES = tuple(_FEATURES)


def _is_for_torch(q):
    """Tells whether q is a tensor that torch transforms, casts or watches at present: attnscope.torch has the details."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(q, torch.Tensor):
        return False
    global _torch_state
    if _torch_state is None:
        from . import _torch_state
    return not _torch_state.is_quiet() or _torch_state.is_dispatched(q)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    sink: Any = None,
    dropout: float = 0.0,
    seed: int = 0,
    return_lse: bool = False,
    return_weights: bool = False,
) -> Any:
    """Computes softmax(scale q k^T + bias) v over the keys that the mask allows, without storing an N x M array.

    q is [B, H, N, D], k [B, G, M, D] and v [B, G, M, E]; H query heads share G key heads. The first axis, or the first
    two, may be omitted from all three. Each is a numpy array, a torch tensor on the CPU, or a KvCache's k or v, and may
    have its own dtype: float32, float16 or bfloat16. Inputs are read in place; one whose last axis is not contiguous is
    copied, with a warning.

    Returns the output [B, H, N, E], numpy or torch as q is, in q's dtype (computed in float32). return_lse adds the
    log-sum-exp of the scores [B, H, N], return_weights adds the weights [B, H, N, M]; both are float32.

    mask      a mask from mask(), causal(), window() ...; or text, a plan(), a function of b, h, i, j as in plan(), or a
              table of bool or floats that broadcasts to [B, H, N, M] from the right: [N, M], [H, N, M] (mask() says
              more). A query that may see no key gets an output of zeros and an lse of -inf.
    scale     factor of q k^T (default: 1 / sqrt(D))
    softcap   turns each score into softcap tanh(score / softcap)
    bias      added to the scores: [N, M], [H, N, M] or [B, H, N, M], where an axis of 1 broadcasts; or distance_bias()
    sink      [H]: one extra logit per head that takes part in the softmax and has no value
    dropout   share of the weights to drop, chosen by seed; lse and the returned weights are those before dropout

    A torch tensor that requires a gradient gets one, except inside torch.no_grad(): see attnscope.torch.attention().
    Raises ValueError if shapes disagree, TypeError for an argument of the wrong type or dtype.

    >>> import numpy as np, attnscope as at
    >>> rng = np.random.default_rng(0)
    >>> q, k, v = (rng.standard_normal((1, 2, 5, 8), dtype=np.float32) for _ in range(3))
    >>> at.attention(q, k, v, mask=at.causal() & at.window(2)).shape
    (1, 2, 5, 8)
    >>> out, lse = at.attention(q, k, v, return_lse=True)
    >>> lse.shape
    (1, 2, 5)
    >>> same = at.attention(q, k, v, mask=lambda b, h, i, j: (j <= i) & (i - j <= 2))
    >>> out, weights = at.attention(q, k, v, mask="causal", return_weights=True)
    >>> weights[0, 0].sum(axis=1).round(5)
    array([1., 1., 1., 1., 1.], dtype=float32)
    """
    if not _is_for_torch(q):
        if mask is not None and not isinstance(mask, (Mask, Plan)):
            mask = _argument(mask, q, k)
        returns = (_LSE if return_lse else 0) | (_WEIGHTS if return_weights else 0)
        try:
            return _attnscope.attention(q, k, v, (mask, scale, softcap, bias, sink, dropout, seed), returns)
        except GradientWanted:
            pass
    from . import torch

    options = {"mask": mask, "scale": scale, "softcap": softcap, "bias": bias, "sink": sink}
    returned = {"return_lse": return_lse, "return_weights": return_weights}
    return torch.attention(q, k, v, **options, dropout=dropout, seed=seed, **returned)


def _length(array):
    """Returns the number of queries or keys; 0 for a non-array, which the C++ module then rejects with a message."""
    shape: tuple[int, ...] = getattr(array, "shape", ())
    return shape[-2] if len(shape) > 1 else 0


def _range(part, size, name):
    """Returns the first index and the length of a slice, a range, a number or None (everything)."""
    if part is None:
        return 0, size
    if isinstance(part, slice):
        part = range(*part.indices(size))
    elif not isinstance(part, range):
        if not hasattr(part, "__index__"):
            raise TypeError(f"{name} must be a slice, a range or a number, not {type(part).__name__}")
        part = range(part, part + 1) if part >= 0 else range(part + size, part + size + 1)
    if len(part) > 1 and part.step != 1:
        raise ValueError(f"{name} must be contiguous (step 1), not step {part.step}")
    if len(part) and not 0 <= part.start <= part.stop <= size:
        raise ValueError(f"{name} {part.start} to {part.stop} are not all within 0 to {size}")
    return (part.start, len(part)) if len(part) else (0, 0)


def weights(
    q: Any,
    k: Any,
    lse: Any,
    *,
    rows: slice | range | int | None = None,
    cols: slice | range | int | None = None,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    sink: Any = None,
) -> Any:
    """Rebuilds a rectangle of the weights, exactly, from the lse that attention(..., return_lse=True) returned.

    rows and cols are slices, ranges or single numbers (which keep their axis); None takes all. The other options must
    be those of the call that returned lse. Returns float32 [B, H, rows, cols], without the axes that q lacks. Raises
    ValueError for rows or cols out of range or with a step other than 1.

    >>> import numpy as np, attnscope as at
    >>> q = k = v = np.eye(4, dtype=np.float32)
    >>> out, lse, table = at.attention(q, k, v, mask=at.causal(), return_lse=True, return_weights=True)
    >>> part = at.weights(q, k, lse, rows=slice(1, 3), cols=slice(0, 2), mask=at.causal())
    >>> np.allclose(part, table[1:3, 0:2])
    True
    """
    if mask is not None and not isinstance(mask, (Mask, Plan)):
        mask = _argument(mask, q, k)
    row, row_count = _range(rows, _length(q), "rows")
    col, col_count = _range(cols, _length(k), "cols")
    options = (mask, scale, softcap, bias, sink, 0.0, 0)
    return _attnscope.weights(q, k, lse, options, (row, row_count, col, col_count))


def _feature(q, k, feature):
    """Returns q and k as the C++ module takes them, and its number for the feature map."""
    if callable(feature):
        q, k, feature = feature(q), feature(k), "identity"
    if feature not in _FEATURES:
        raise ValueError(f"feature is {feature!r}; use one of {', '.join(map(repr, _FEATURES))} or a function")
    return q, k, _FEATURES[feature]


def linear_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    feature: str | Callable[[Any], Any] = "elu+1",
    epsilon: float = 1e-6,
) -> Any:
    """Computes phi(q) S / (phi(q) z + epsilon), where S = sum phi(k)^T v and z = sum phi(k), in O(N) time and memory.

    The sums run over all keys or, if causal, over j <= i. feature is phi: "elu+1" (Katharopoulos et al., 2020), "relu",
    "identity" (q and k hold phi already), or a function that takes an array [..., D] and returns one [..., F]. Shapes,
    array types and dtypes are those of attention(). Raises ValueError for an unknown feature.

    >>> import numpy as np, attnscope as at
    >>> rng = np.random.default_rng(0)
    >>> q, k, v = (rng.standard_normal((1, 2, 6, 4), dtype=np.float32) for _ in range(3))
    >>> out = at.linear_attention(q, k, v, causal=True)
    >>> np.allclose(out[:, :, 0], v[:, :, 0], atol=1e-5)
    True
    >>> same = at.linear_attention(q, k, v, causal=True, feature=lambda x: np.where(x > 0, x + 1, np.exp(x)))
    >>> np.allclose(out, same, atol=1e-5)
    True
    """
    q, k, code = _feature(q, k, feature)
    try:
        return _attnscope.linear_attention(q, k, v, (code, bool(causal), epsilon))
    except GradientWanted:
        from . import torch

        return torch.linear_attention(q, k, v, causal=causal, feature=_NAMES[code], epsilon=epsilon)
