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

from . import _attnscope, _torch_ops, _torch_plain
from ._attention import _LSE, _WEIGHTS, _feature
from ._attnscope import Mask, Plan
from ._bias import DistanceBias
from ._mask_arguments import _NO_GRADIENT, _argument, _sizes
from ._torch_state import for_every_key, in_autocast_dtype, is_dispatched, is_quiet, is_transformed

__all__ = ["attention", "linear_attention", "scaled_dot_product_attention"]


def _tensor(x, name, stacklevel):
    """Checks that x is a tensor and makes its last axis contiguous: copied once here, and read again in backward."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch tensor if a gradient is required, not {type(x).__name__}")
    if x.is_neg():
        warnings.warn(f"{name} is copied: it is a lazily negated view", UserWarning, stacklevel=stacklevel)
        x = x.resolve_neg()
    if x.layout is torch.strided and x.numel() > 1 and x.shape[-1] > 1 and x.stride(-1) != 1:
        warnings.warn(f"{name} is copied: its last axis is not contiguous", UserWarning, stacklevel=stacklevel)
        return x.contiguous()
    return x


def _plan(mask, q, k):
    """Compiles a mask once for forward and backward; a copy, so that a table may change in between."""
    if mask is None or isinstance(mask, Plan) or q.ndim not in (2, 3, 4) or k.ndim not in (2, 3, 4):
        return mask
    batch, heads = ((1, 1) + tuple(q.shape[:-2]))[-2:]
    return _attnscope.plan(mask, batch, heads, q.shape[-2], k.shape[-2])


class _Last(torch.autograd.Function):
    """Passes gradients through; their own backward raises, because there are no second derivatives."""

    @staticmethod
    def forward(ctx, given, count, *tensors):
        return tensors[:count]

    backward = staticmethod(_torch_ops.refuse)


def _derivatives(outputs, inputs, create_graph):
    """Returns the gradients of inputs, given pairs of an output and its gradient."""
    if not outputs:
        return [None] * len(inputs)
    values, gradients = zip(*outputs)
    return torch.autograd.grad(values, inputs, gradients, create_graph=create_graph, allow_unused=True)


class _Gradients(torch.autograd.Function):
    """Passes gradients through; their own backward differentiates the plain formula."""

    @staticmethod
    def forward(ctx, given, count, *tensors):
        ctx.given = given
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors[count:])
        return tensors[:count]

    @staticmethod
    def backward(ctx, *directions):
        further = torch.is_grad_enabled()
        with torch.enable_grad():
            # Aliases, so that q, k and v have gradients of their own even if they are one tensor.
            inputs = [x.view_as(x) if x is not None and x.requires_grad else x for x in ctx.saved_tensors]
            q, k, v, bias, sink, d_out, d_lse = inputs
            out, lse, _ = _torch_plain.attention(q, k, v, ctx.given, bias, sink)
            outputs = [(y, dy) for y, dy in ((out, d_out), (lse, d_lse)) if dy is not None]
            learned = [x for x in inputs[:5] if x is not None and x.requires_grad]
            first = _derivatives(outputs, learned, create_graph=True)
            used = [(g, d) for g, d in zip(first, directions) if g is not None and g.requires_grad and d is not None]
            wanted = [x for x in inputs if x is not None and x.requires_grad]
            second = iter(_derivatives(used, wanted, create_graph=further))
        found = (next(second) if x is not None and x.requires_grad else None for x in inputs)
        return None, None, *(None for _ in directions), *found


def _gradients(ctx, function, given, found, *inputs):
    """Returns the required gradients; in a graph of gradients (create_graph=True), as outputs of `function`."""
    found = [gradient if asked else None for gradient, asked in zip(found, ctx.needs_input_grad)]
    if not torch.is_grad_enabled():
        return tuple(found)
    there = [gradient for gradient in found if gradient is not None]
    last = iter(function.apply(given, len(there), *there, *inputs))
    return tuple(None if gradient is None else next(last) for gradient in found)


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
        return *_gradients(ctx, _Gradients, ctx.given, found, *inputs, d_out, d_lse), None, None


def _draw_seed() -> int:
    return int(torch.randint(2**63 - 1, ()))


def _wants_gradient(*inputs) -> bool:
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in inputs)


@torch.compiler.assume_constant_result
def _text(mask) -> str:
    """Returns the text of a mask, or of a plan's mask; raises TypeError if it carries a bias, which has no text."""
    if not isinstance(mask, (Mask, Plan)):
        raise TypeError(
            f"inside torch.compile a mask is text, a tensor, or a mask made outside, not {type(mask).__name__}"
        )
    return (mask.mask if isinstance(mask, Plan) else mask).__reduce__()[1][0]


def _rule_and_table(mask, q, k):
    """Returns a mask as the operator takes it: text, or a table."""
    if mask is None or isinstance(mask, str):
        return mask or "", None
    if isinstance(mask, torch.Tensor):
        if type(mask).__name__ == "CausalBias":
            return _text(_argument(mask, q, k)), None
        if mask.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(f"mask {_NO_GRADIENT}")
        return "", mask
    if torch.compiler.is_compiling():
        return _text(mask), None
    if not isinstance(mask, (Mask, Plan)):
        mask = _argument(mask, q, k)
    if not isinstance(mask, (Mask, Plan)):
        return "", torch.from_numpy(mask)
    allowed, added = _torch_plain.pairs(mask, _sizes(q, k))
    if added is None:
        return _text(mask), None
    return "", torch.where(allowed, added, -torch.inf)


def _traced(inputs, given, return_lse, return_weights):
    """Calls the operator instead, for the graph of torch.compile and for modes that see every operator."""
    mask, scale, softcap, by_distance, dropout, seed = given
    rule, table = _rule_and_table(mask, *inputs[:2])
    if dropout == 0:
        seed = None
    elif seed is None:
        seed = torch.randint(2**63 - 1, ())
    else:
        seed = torch.tensor(seed - 2**64 if seed >= 2**63 else seed)
    options = (table, seed, rule, scale, softcap, by_distance, dropout, return_weights)
    out, lse, weights = torch.ops.attnscope.attention(*inputs, *options)
    return _chosen(out, lse, [weights], return_lse, return_weights)


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
    lse, O(N), and rebuilds the weights from them. lse has a gradient too; the returned weights have none. A mask has no
    gradient: pass what is learned and added to the scores as bias. Second derivatives (create_graph=True), forward-mode
    derivatives and the transforms of torch.func are computed by torch's own operations, with all N x M weights in
    memory. Under torch.autocast q, k and v are cast, as in torch's scaled_dot_product_attention().

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
    table = bias.table if isinstance(bias, DistanceBias) else None if bias is None else for_every_key(bias, k)
    compiling = torch.compiler.is_compiling()
    quiet = not compiling and is_quiet() and not is_dispatched(q, k, v)
    if not quiet:
        q, k, v = in_autocast_dtype(q, k, v)
        if compiling or is_dispatched(q, k, v):
            given = _torch_ops.Given(mask, scale, softcap, by_distance, dropout, seed)
            return _traced((q, k, v, table, sink), given, return_lse, return_weights)
    if seed is None:
        seed = _draw_seed() if dropout else 0
    if not quiet and is_transformed(q, k, v, table, sink, mask):
        given = _torch_ops.Given(mask, scale, softcap, by_distance, dropout, seed)
        out, lse, weights = _torch_plain.attention(q, k, v, given, table, sink)
        return _chosen(out, lse, [weights], return_lse, return_weights)
    if mask is not None and not isinstance(mask, (Mask, Plan)):
        mask = _argument(mask, q, k)
    returns = (_LSE if return_lse else 0) | (_WEIGHTS if return_weights else 0)
    if not _wants_gradient(q, k, v, table, sink):
        return _attnscope.attention(q, k, v, (mask, scale, softcap, bias, sink, dropout, seed), returns)
    q, k, v = _tensor(q, "q", 3), _tensor(k, "k", 3), _tensor(v, "v", 3)
    table = None if table is None else _tensor(table, "bias", 3)
    sink = None if sink is None else _tensor(sink, "sink", 3)
    given = _torch_ops.Given(_plan(mask, q, k), scale, softcap, by_distance, dropout, seed)
    out, lse, *weights = _Attention.apply(q, k, v, table, sink, given, returns | _LSE)
    return _chosen(out, lse, weights, return_lse, return_weights)


def _chosen(out, lse, weights, return_lse, return_weights):
    if not (return_lse or return_weights):
        return out
    return (out, *([lse] if return_lse else []), *(weights if return_weights else []))


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
        return *_gradients(ctx, _Last, None, found, q, k, v, d_out), None


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


from ._torch_sdpa import scaled_dot_product_attention  # noqa: E402  it calls attention()
