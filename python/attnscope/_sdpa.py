"""Attention with the signature and the meaning of torch's scaled_dot_product_attention()."""

import math
import sys
from typing import Any, NamedTuple

from . import _attnscope
from ._attention import attention

MOST_WIDTH = 512  # of the engine


class Layout(NamedTuple):
    """Arguments of scaled_dot_product_attention() as the engine takes them."""

    q: Any  # [B, H, N, D]
    k: Any  # [B, G, M, D]
    v: Any  # [B, G, M, E]
    mask: Any  # [1|B, 1|H, 1|N, 1|M] of bool or floats, or None
    shape: tuple[int, ...]  # of the result

    def is_for_engine(self) -> bool:
        """Tells whether the engine takes these widths."""
        return 1 <= self.q.shape[-1] <= MOST_WIDTH and 1 <= self.v.shape[-1] <= MOST_WIDTH


def _stretched(x, shape):
    """Repeats axes of length 1, without copying."""
    if tuple(x.shape) == tuple(shape):
        return x
    if hasattr(x, "expand"):
        return x.expand(shape)
    import numpy as np

    return np.broadcast_to(x, shape)


def _common(*shapes):
    """Returns the shape to which all broadcast, or None if there is none."""
    longest = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (longest - len(shape)) + tuple(shape) for shape in shapes)):
        size = next((size for size in sizes if size != 1), 1)
        if any(other not in (1, size) for other in sizes):
            return None
        result.append(size)
    return tuple(result)


def _repeated_heads(x, times):
    """Returns every head of [..., G, M, D] `times` times in a row."""
    if times == 1:
        return x
    *lead, heads, rows, width = x.shape
    return _stretched(x[..., None, :, :], (*lead, heads, times, rows, width)).reshape(*lead, heads * times, rows, width)


def _shared_heads(query, key, value, error):
    """Checks the heads of enable_gqa; returns key and value with one number of heads, repeated only if they differ."""
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise error("enable_gqa needs an axis of heads: inputs must have at least three axes")
    heads, key_heads, value_heads = query.shape[-3], key.shape[-3], value.shape[-3]
    if not key_heads or not value_heads or heads % key_heads or heads % value_heads:
        raise error(
            f"{heads} query heads cannot share {key_heads} key heads and {value_heads} value heads: both must divide them"
        )
    if key_heads == value_heads:
        return key, value
    return _repeated_heads(key, heads // key_heads), _repeated_heads(value, heads // value_heads)


def _check(query, key, value, attn_mask, error):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise error(f"{name} has {x.ndim} axes; it must have at least two: [..., N, D]")
        if x.dtype != query.dtype:
            raise error(f"query is {query.dtype} and {name} is {x.dtype}; all must have the same dtype")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise error(
            f"query is {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)}; query and key must have "
            "the same last axis, key and value the same number of rows"
        )
    pairs = (query.shape[-2], key.shape[-2])
    if attn_mask is not None and _common(attn_mask.shape[-2:], pairs) != pairs:
        raise error(f"attn_mask is {list(attn_mask.shape)}; it must broadcast to [..., {pairs[0]}, {pairs[1]}]")


def lay_out(query, key, value, attn_mask, enable_gqa, error) -> Layout:
    """Arranges the arguments, numpy or torch; raises `error` for those that do not fit."""
    _check(query, key, value, attn_mask, error)
    if enable_gqa:
        key, value = _shared_heads(query, key, value, error)
    grouped = enable_gqa and key.shape[-3] != query.shape[-3]
    heads = (query.shape[-3],) if grouped else ()
    shapes = [x.shape[: -3 if grouped else -2] for x in (query, key, value)]
    scores, lead = _common(*shapes[:2]), _common(*shapes)
    if scores is None or lead is None:
        raise error(
            f"the leading axes of query, key and value do not broadcast: {', '.join(map(str, map(list, shapes)))}"
        )
    if attn_mask is not None and _common(attn_mask.shape[:-2], (*scores, *heads)) != (*scores, *heads):
        raise error(f"attn_mask is {list(attn_mask.shape)}; its leading axes must broadcast to {[*scores, *heads]}")
    result = (*lead, *heads, query.shape[-2], value.shape[-1])
    lead = (1, 1, *lead, *heads)[-max(2, len(lead) + len(heads)) :]
    batch = math.prod(lead[:-1])

    def four_axes(x, count):
        full = _stretched(x, (*lead[:-1], count, *x.shape[-2:]))
        return full if full.ndim == 4 else full.reshape(batch, count, *x.shape[-2:])

    key_heads = key.shape[-3] if grouped else lead[-1]
    laid = (four_axes(query, lead[-1]), four_axes(key, key_heads), four_axes(value, key_heads))
    return Layout(*laid, _mask_of_four_axes(attn_mask, lead, batch), result)


def _mask_of_four_axes(mask, lead, batch):
    if mask is None:
        return None
    shape = (1,) * (len(lead) + 2 - mask.ndim) + tuple(mask.shape)
    mask = mask.reshape(shape)
    if len(shape) == 4:
        return mask
    if all(size == 1 for size in shape[:-3]):
        return mask.reshape(1, *shape[-3:])
    return _stretched(mask, (*lead[:-1], *shape[-3:])).reshape(batch, *shape[-3:])


def scores_of(laid: Layout, scale, softcap, added, allowed):
    """Computes scores [B, H, N, M] as a textbook writes it, in double precision."""
    import numpy as np

    k = _repeated_heads(laid.k, laid.q.shape[1] // max(laid.k.shape[1], 1))
    scores = np.asarray(laid.q, np.float64) @ np.swapaxes(np.asarray(k, np.float64), -1, -2) * scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if added is not None:
        scores = scores + added
    return scores if allowed is None else np.where(allowed, scores, -np.inf)


def weights_of(scores):
    """Computes the softmax of the last axis; a row of -inf becomes 0."""
    import numpy as np

    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def mix_values(weights, laid: Layout):
    """Multiplies weights by the values, in the dtype of the query."""
    import numpy as np

    v = _repeated_heads(laid.v, laid.q.shape[1] // max(laid.v.shape[1], 1))
    return (weights @ np.asarray(v, np.float64)).astype(laid.q.dtype)


def check_options(attn_mask, dropout_p, is_causal, error):
    if is_causal and attn_mask is not None:
        raise error("attn_mask and is_causal exclude each other: pass one of them")
    if not 0 <= dropout_p <= 1:
        raise error(f"dropout_p is {dropout_p}; it must be from 0 to 1")


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Computes what torch.nn.functional.scaled_dot_product_attention() computes, on the engine.

    query is [..., N, D], key [..., M, D] and value [..., M, E], with any number of leading axes that broadcast. attn_mask
    broadcasts to [..., N, M]: bool (True is visible) or floats, which are added to the scores. is_causal lets query i
    see the keys j <= i, counted from the top left also if N is not M. enable_gqa shares the heads of key and value, the
    third axis from the end, among those of query. scale is the factor of q k^T (default: 1 / sqrt(D)).

    Takes numpy arrays, or torch tensors as attnscope.torch.scaled_dot_product_attention() does. A row that sees nothing
    is zero. float64 is computed in double precision by plain numpy, with all N x M weights in memory, and so are widths
    beyond 512. Dropout draws from numpy's global generator. Raises ValueError for shapes and options that do not fit.

    >>> import numpy as np, attnscope as at
    >>> q, k, v = np.random.default_rng(0).standard_normal((3, 2, 4, 5, 8), dtype=np.float32)
    >>> at.scaled_dot_product_attention(q, k, v, is_causal=True).shape
    (2, 4, 5, 8)
    >>> double = (x.astype(np.float64) for x in (q, k, v))
    >>> at.scaled_dot_product_attention(*double, attn_mask=np.ones((5, 1), bool)).dtype
    dtype('float64')
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(query, torch.Tensor):
        from .torch import scaled_dot_product_attention as by_torch

        return by_torch(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    import numpy as np

    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    mask = None if attn_mask is None else np.asarray(attn_mask)
    check_options(mask, dropout_p, is_causal, ValueError)
    if mask is not None and mask.dtype not in (np.bool_, np.float32, query.dtype):
        raise ValueError(f"attn_mask is {mask.dtype}; it must be bool, float32 or query's {query.dtype}")
    laid = lay_out(query, key, value, mask, enable_gqa, ValueError)
    if dropout_p == 1:
        return np.zeros(laid.shape, query.dtype)
    seed = int(np.random.randint(2**63 - 1)) if dropout_p else 0
    rule, bias = (laid.mask, None) if mask is not None and mask.dtype == np.bool_ else (None, laid.mask)
    if query.dtype != np.float64 and laid.is_for_engine():
        bias = None if bias is None else finite_or_never(bias)
        rule = "causal" if is_causal else rule
        rows = (x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x) for x in laid[:3])
        out = attention(*rows, mask=rule, bias=bias, scale=scale, dropout=dropout_p, seed=seed)
    else:
        pairs = (*laid.q.shape[:3], laid.k.shape[2])
        kept = _attnscope.dropout_kept(dropout_p, seed, pairs) / (1 - dropout_p) if dropout_p else None
        allowed = np.tri(*pairs[2:], dtype=np.bool_) if is_causal else rule
        factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
        weights = weights_of(scores_of(laid, factor, None, bias, allowed))
        out = mix_values(weights if kept is None else weights * kept, laid)
    return out.reshape(laid.shape)


_MOST = 1e38  # the engine multiplies scores by log2(e): float32's lowest number would become -inf, which forbids


def finite_or_never(bias):
    """Returns a bias of floats as the engine adds it: -inf, or numbers that stay finite in its units."""
    import numpy as np

    bias = np.asarray(bias, np.float32)
    return np.where(np.isinf(bias), bias, np.clip(bias, -_MOST, _MOST))
