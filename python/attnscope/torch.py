"""Attention for torch, with gradients.

>>> import torch, attnscope as at
>>> q, k, v = (torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(3))
>>> at.torch.attention(q, k, v, mask="causal").sum().backward()
>>> q.grad.shape
torch.Size([1, 2, 5, 8])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from . import _attnscope, _torch_ops
from ._attention import _LSE, _WEIGHTS, _feature
from ._attnscope import Mask, Plan
from ._bias import DistanceBias
from ._masks import _NO_GRADIENT, _argument

__all__ = ["attention", "linear_attention"]


def _tensor(x, name, stacklevel):
    """Checks that x is a tensor and makes its last axis contiguous: copied once here, and read again in backward."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch tensor if a gradient is required, not {type(x).__name__}")
    if x.layout is torch.strided and x.numel() > 1 and x.shape[-1] > 1 and x.stride(-1) != 1:
        warnings.warn(f"{name} is copied: its last axis is not contiguous", UserWarning, stacklevel=stacklevel)
        return x.resolve_neg().contiguous()
    return x


def _plan(mask, q, k):
    """Compiles a mask once for forward and backward; a copy, so that a table may change in between."""
    if mask is None or isinstance(mask, Plan) or q.ndim not in (2, 3, 4) or k.ndim not in (2, 3, 4):
        return mask
    if not isinstance(mask, Mask) and mask.ndim == 3 and q.ndim == 3:
        mask = _attnscope.mask_of_axes(mask, "HNM")
    batch, heads = ((1, 1) + tuple(q.shape[:-2]))[-2:]
    return _attnscope.plan(mask, batch, heads, q.shape[-2], k.shape[-2])


class _Last(torch.autograd.Function):
    """Passes gradients through; their own backward raises, because there are no second derivatives."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tensors[:count]

    backward = staticmethod(_torch_ops.refuse)


def _gradients(ctx, found, *inputs):
    """Returns the required gradients; in a graph of gradients (create_graph=True), as its last nodes."""
    if torch.is_grad_enabled():
        there = [gradient for gradient in found if gradient is not None]
        last = iter(_Last.apply(len(there), *there, *inputs))
        found = [None if gradient is None else next(last) for gradient in found]
    return tuple(gradient if asked else None for gradient, asked in zip(found, ctx.needs_input_grad))


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, bias, sink, given, returns):
        out, lse, *weights = _attnscope.attention(q, k, v, given.options(bias, sink), returns)
        ctx.given = given
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*weights)
        ctx.save_for_backward(q, k, v, bias, sink, out, lse)
        return out, lse, *weights

    @staticmethod
    def backward(ctx, d_out, d_lse, *_):
        *inputs, out, lse = ctx.saved_tensors
        with torch.no_grad():
            found = _torch_ops.backward(inputs, ctx.given, (out, lse, d_out, d_lse), ctx.needs_input_grad[3:5])
        return *_gradients(ctx, found, *inputs, d_out, d_lse), None, None


def _draw_seed() -> int:
    return int(torch.randint(2**63 - 1, ()))


def _wants_gradient(*inputs) -> bool:
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in inputs)


@torch.compiler.assume_constant_result
def _text(mask) -> str:
    """Returns the text of a mask, or of a plan's mask; raises TypeError if it carries a bias, which has no text."""
    return (mask.mask if isinstance(mask, Plan) else mask).__reduce__()[1][0]


def _traced(inputs, given, return_lse, return_weights):
    """Calls the operator instead, for the graph of torch.compile."""
    mask, scale, softcap, by_distance, dropout, seed = given
    table = None
    if mask is None:
        rule = ""
    elif isinstance(mask, str):
        rule = mask
    elif isinstance(mask, torch.Tensor):
        if mask.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(f"mask {_NO_GRADIENT}")
        rule, table = "", mask
    else:
        rule = _text(mask)
    if dropout == 0:
        seed = None
    elif seed is None:
        seed = torch.randint(2**63 - 1, ())
    else:
        seed = torch.tensor(seed - 2**64 if seed >= 2**63 else seed)
    options = (table, seed, rule, scale, softcap, by_distance, dropout, return_weights)
    out, lse, weights = torch.ops.attnscope.attention(*inputs, *options)
    if not (return_lse or return_weights):
        return out
    return (out, *([lse] if return_lse else []), *([weights] if return_weights else []))


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    mask: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    bias: torch.Tensor | DistanceBias | None = None,
    sink: torch.Tensor | None = None,
    dropout: float = 0.0,
    seed: int | None = None,
    return_lse: bool = False,
    return_weights: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Computes attnscope.attention() with gradients for q, k, v, bias, the table of a distance_bias(), and sink.

    Arguments, shapes, results and errors are those of attnscope.attention(). Backward keeps q, k, v, the output and
    lse, O(N), and rebuilds the weights from them. lse has a gradient too; the returned weights have none, and there are
    no second derivatives (RuntimeError). A mask has no gradient: pass what is learned and added to the scores as bias.

    Inside torch.compile, with fullgraph=True too, this is one operator, torch.ops.attnscope.attention. Make a mask
    outside of the compiled code, or pass text: mask="causal & window(256)".

    seed   seed of dropout (default: drawn from torch's generator, which torch.manual_seed() sets)

    >>> import torch, attnscope as at
    >>> q, k, v = (torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3))
    >>> table = torch.zeros(4, 11, requires_grad=True)
    >>> out, lse = at.torch.attention(q, k, v, mask=at.causal(), bias=at.distance_bias(table), return_lse=True)
    >>> (out.square().mean() + 1e-4 * lse.square().mean()).backward()
    >>> table.grad.shape
    torch.Size([4, 11])
    """
    by_distance = isinstance(bias, DistanceBias)
    table = bias.table if isinstance(bias, DistanceBias) else bias
    if torch.compiler.is_compiling():
        given = _torch_ops.Given(mask, scale, softcap, by_distance, dropout, seed)
        return _traced((q, k, v, table, sink), given, return_lse, return_weights)
    if mask is not None and not isinstance(mask, (Mask, Plan)):
        mask = _argument(mask)
    if seed is None:
        seed = _draw_seed() if dropout else 0
    returns = (_LSE if return_lse else 0) | (_WEIGHTS if return_weights else 0)
    if not _wants_gradient(q, k, v, table, sink):
        return _attnscope.attention(q, k, v, (mask, scale, softcap, bias, sink, dropout, seed), returns)
    q, k, v = _tensor(q, "q", 3), _tensor(k, "k", 3), _tensor(v, "v", 3)
    table = None if table is None else _tensor(table, "bias", 3)
    sink = None if sink is None else _tensor(sink, "sink", 3)
    given = _torch_ops.Given(_plan(mask, q, k), scale, softcap, by_distance, dropout, seed)
    out, lse, *weights = _Attention.apply(q, k, v, table, sink, given, returns | _LSE)
    if returns == 0:
        return out
    return (out, lse, *weights) if return_lse else (out, *weights)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, options):
        out = _attnscope.linear_attention(q, k, v, options)
        ctx.options = options
        ctx.save_for_backward(q, k, v, out)
        return out

    @staticmethod
    def backward(ctx, d_out):
        q, k, v, out = ctx.saved_tensors
        with torch.no_grad():
            found = _attnscope.linear_backward(q, k, v, ctx.options, (out, d_out.contiguous()))
        return *_gradients(ctx, found, q, k, v, d_out), None


def linear_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    feature: str | Callable[[torch.Tensor], torch.Tensor] = "elu+1",
    epsilon: float = 1e-6,
) -> torch.Tensor:
    """Computes attnscope.linear_attention() with gradients for q, k and v; torch differentiates a feature function.

    >>> import torch, attnscope as at
    >>> q, k, v = (torch.randn(1, 2, 6, 4, requires_grad=True) for _ in range(3))
    >>> at.torch.linear_attention(q, k, v, causal=True).sum().backward()
    >>> k.grad.shape
    torch.Size([1, 2, 6, 4])
    """
    q, k, code = _feature(q, k, feature)
    options = (code, bool(causal), epsilon)
    if torch.compiler.is_compiling():
        return torch.ops.attnscope.linear_attention(q, k, v, *options)
    if not _wants_gradient(q, k, v):
        return _attnscope.linear_attention(q, k, v, options)
    return _Linear.apply(_tensor(q, "q", 3), _tensor(k, "k", 3), _tensor(v, "v", 3), options)
