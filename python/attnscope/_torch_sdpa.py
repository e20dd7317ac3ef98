"""torch's scaled_dot_product_attention() on the engine."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from . import _torch_plain
from . import torch as _ours
from ._sdpa import _MOST, Layout, check_options, lay_out
from ._torch_state import in_autocast_dtype, is_transformed

# torch.nn.functional's name may be set to the function below.
_theirs = torch._C._nn.scaled_dot_product_attention


def _is_ours(*tensors) -> bool:
    """Tells whether these are dense tensors on the CPU; others are torch's own business."""
    return all(x is None or (x.device.type == "cpu" and not x.is_nested and x.layout is torch.strided) for x in tensors)


def _table_or_offset(attn_mask, is_causal, query, key):
    """Returns the mask as a table or None, and the offset of a causal mask or None."""
    if type(attn_mask).__name__ != "CausalBias":
        return attn_mask, 0 if is_causal else None
    if is_causal:
        raise ValueError("attn_mask is a CausalBias: leave out is_causal")
    if attn_mask.variant.name == "UPPER_LEFT":
        return None, 0
    sizes = (attn_mask.seq_len_q, attn_mask.seq_len_kv)
    if sizes != (query.shape[-2], key.shape[-2]):
        raise RuntimeError(
            f"attn_mask is a CausalBias of {sizes}; query and key have {(query.shape[-2], key.shape[-2])}"
        )
    return None, sizes[1] - sizes[0]


def _finite_or_never(bias):
    """As _sdpa.finite_or_never(); one with a gradient keeps its numbers."""
    if bias is None or bias.requires_grad or bias.dtype is torch.float16:
        return bias
    return torch.where(bias.isinf(), bias, bias.clamp(-_MOST, _MOST))


def _plainly(laid: Layout, offset, dropout_p, scale) -> Tensor:
    sizes = (*laid.q.shape[:3], laid.k.shape[2])
    allowed, added = (laid.mask, None) if laid.mask is not None and laid.mask.dtype is torch.bool else (None, laid.mask)
    if offset is not None:
        allowed = torch.ones(sizes[2:], dtype=torch.bool).tril(offset)
    with torch.autocast("cpu", enabled=False):
        kept = None
        if dropout_p:
            kept = torch.nn.functional.dropout(torch.ones(sizes, dtype=laid.q.dtype), dropout_p)
        return _torch_plain.formula(*laid[:3], scale=scale, allowed=allowed, added=(added,), kept=kept)[0]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Computes torch.nn.functional.scaled_dot_product_attention() on the engine, with gradients.

    Arguments, broadcasting, results and errors (RuntimeError) are torch's, so that
    ``torch.nn.functional.scaled_dot_product_attention = attnscope.torch.scaled_dot_product_attention`` changes nothing but
    the kernel; attnscope.scaled_dot_product_attention() describes them. float16, bfloat16 and float32 run on the engine
    in O(N) memory; float64, widths beyond 512, transforms of torch.func and forward-mode derivatives by torch's own
    operations. Dropout draws other weights than torch does for the same seed. Tensors on other devices and nested
    tensors are passed on to torch.

    >>> import torch, attnscope as at
    >>> q, k, v = (torch.randn(2, 4, 5, 8, requires_grad=True) for _ in range(3))
    >>> ours = at.torch.scaled_dot_product_attention(q, k, v, is_causal=True)
    >>> theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    >>> torch.allclose(ours, theirs, atol=1e-5)
    True
    """
    if not _is_ours(query, key, value):
        if type(attn_mask).__name__ == "CausalBias":
            attn_mask = attn_mask._materialize(query.device)  # type: ignore[union-attr]
        return _theirs(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    attn_mask, offset = _table_or_offset(attn_mask, is_causal, query, key)
    check_options(attn_mask, dropout_p, offset is not None, RuntimeError)
    if attn_mask is not None and attn_mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise RuntimeError(f"attn_mask is {attn_mask.dtype}; it must be bool, float32 or query's {query.dtype}")
    query, key, value, attn_mask = in_autocast_dtype(query, key, value, attn_mask)
    laid = lay_out(query, key, value, attn_mask, enable_gqa, RuntimeError)
    on_engine = query.dtype is not torch.float64 and laid.is_for_engine() and dropout_p < 1
    on_engine = on_engine and (scale is None or math.isfinite(scale))
    if not on_engine or (not torch.compiler.is_compiling() and is_transformed(query, key, value, attn_mask)):
        return _plainly(laid, offset, dropout_p, scale).to(query.dtype).reshape(laid.shape)
    if laid.mask is not None and laid.mask.dtype is torch.bool:
        rule, bias = laid.mask, None
    else:
        rule, bias = None if offset is None else f"causal({offset})", _finite_or_never(laid.mask)
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in laid[:3])
    out = _ours.attention(q, k, v, mask=rule, bias=bias, scale=scale, dropout=dropout_p)
    assert isinstance(out, Tensor)
    return out.reshape(laid.shape)
