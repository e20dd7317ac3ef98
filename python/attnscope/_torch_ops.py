"""Registers attnscope's operators as torch.ops.attnscope, for the graphs of torch.compile.

They take tensors, numbers and text only. A mask is text (empty: no mask) or a separate table; the seed of dropout is a
tensor, so that a compiled graph draws a new one on each run.
"""

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor
from torch.utils.flop_counter import register_flop_formula

from . import _attnscope
from ._attention import _LSE, _WEIGHTS
from ._bias import DistanceBias
from ._mask_arguments import _argument


class Given(NamedTuple):
    """The options of a call, except tensors with a gradient."""

    mask: Any
    scale: float | None
    softcap: float | None
    by_distance: bool
    dropout: float
    seed: int | None  # None: no dropout, or a compiled call draws it

    def options(self, bias, sink):
        """Returns the tuple that the C++ module takes."""
        if self.by_distance:
            bias = DistanceBias(bias)
        return self.mask, self.scale, self.softcap, bias, sink, self.dropout, self.seed


def backward(inputs, given: Given, outputs, wanted):
    """Returns the gradients of q, k, v, bias and sink in their dtypes; the last two are None unless wanted."""
    q, k, v, bias, sink = inputs
    out, lse, d_out, d_lse = outputs
    d_out = torch.zeros_like(out) if d_out is None else d_out.contiguous()
    d_lse = None if d_lse is None else d_lse.contiguous()
    found = _attnscope.attention_backward(
        q, k, v, given.options(bias, sink), (out, lse, d_out, d_lse, wanted[0], wanted[1])
    )
    d_bias, d_sink = found[3:]
    return (
        *found[:3],
        d_bias.to(bias.dtype) if wanted[0] else None,
        d_sink.to(sink.dtype) if wanted[1] else None,
    )


def _given(mask, table, scale, softcap, by_distance, dropout, seed):
    rule = _argument(table) if table is not None else _argument(mask) if mask else None
    return Given(rule, scale, softcap, by_distance, dropout, 0 if seed is None else int(seed) % 2**64)


@torch.library.custom_op("attnscope::attention", mutates_args=())
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Optional[Tensor] = None,
    sink: Optional[Tensor] = None,
    table: Optional[Tensor] = None,
    seed: Optional[Tensor] = None,
    mask: str = "",
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    by_distance: bool = False,
    dropout: float = 0.0,
    return_weights: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns out, lse and the weights, which are empty unless return_weights is set."""
    given = _given(mask, table, scale, softcap, by_distance, dropout, seed)
    returns = _LSE | (_WEIGHTS if return_weights else 0)
    out, lse, *weights = _attnscope.attention(q, k, v, given.options(bias, sink), returns)
    return out, lse, weights[0] if weights else lse.new_empty(0)


@attention.register_fake
def _(
    q,
    k,
    v,
    bias=None,
    sink=None,
    table=None,
    seed=None,
    mask="",
    scale=None,
    softcap=None,
    by_distance=False,
    dropout=0.0,
    return_weights=False,
):
    rows = q.shape[:-1]
    weights = (*rows, k.shape[-2]) if return_weights else (0,)
    new = lambda shape: q.new_empty(shape, dtype=torch.float32)  # noqa: E731
    return q.new_empty((*rows, v.shape[-1])), new(rows), new(weights)


@torch.library.custom_op("attnscope::attention_backward", mutates_args=())
def attention_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Optional[Tensor],
    sink: Optional[Tensor],
    table: Optional[Tensor],
    seed: Optional[Tensor],
    mask: str,
    scale: Optional[float],
    softcap: Optional[float],
    by_distance: bool,
    dropout: float,
    out: Tensor,
    lse: Tensor,
    d_out: Tensor,
    d_lse: Tensor,
    wants_bias: bool,
    wants_sink: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Returns the gradients of q, k, v, bias and sink; the last two are empty unless wanted."""
    given = _given(mask, table, scale, softcap, by_distance, dropout, seed)
    found = backward((q, k, v, bias, sink), given, (out, lse, d_out, d_lse), (wants_bias, wants_sink))
    return tuple(lse.new_empty(0) if gradient is None else gradient for gradient in found)


@attention_backward.register_fake
def _(q, k, v, bias, sink, table, seed, mask, scale, softcap, by_distance, dropout, out, lse, d_out, d_lse, *wanted):
    new = lambda like: like.new_empty(like.shape)  # noqa: E731
    d_bias, d_sink = (new(x) if asked else lse.new_empty(0) for x, asked in zip((bias, sink), wanted))
    return new(q), new(k), new(v), d_bias, d_sink


def _keep(ctx, inputs, output):
    out, lse, weights = output
    ctx.mark_non_differentiable(weights)
    ctx.save_for_backward(*inputs[:7], out, lse)
    ctx.options = inputs[7:12]


def _go_back(ctx, d_out, d_lse, _):
    *inputs, out, lse = ctx.saved_tensors
    wanted = (*ctx.needs_input_grad, False, False)  # trailing defaults have no entry
    found = torch.ops.attnscope.attention_backward(*inputs, *ctx.options, out, lse, d_out, d_lse, wanted[3], wanted[4])
    gradients = [gradient if asked else None for gradient, asked in zip(found, wanted)]
    return tuple([*gradients, *[None] * 8][: len(ctx.needs_input_grad)])


def refuse(ctx, *_):
    """Rejects the backward pass of a backward pass."""
    raise RuntimeError("attnscope has no second derivatives: leave out create_graph=True")


attention.register_autograd(_go_back, setup_context=_keep)
attention_backward.register_autograd(refuse)


@torch.library.custom_op("attnscope::linear_attention", mutates_args=())
def linear_attention(q: Tensor, k: Tensor, v: Tensor, feature: int, causal: bool, epsilon: float) -> Tensor:
    return _attnscope.linear_attention(q, k, v, (feature, causal, epsilon))


@linear_attention.register_fake
def _(q, k, v, feature, causal, epsilon):
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


@torch.library.custom_op("attnscope::linear_backward", mutates_args=())
def linear_backward(
    q: Tensor, k: Tensor, v: Tensor, feature: int, causal: bool, epsilon: float, out: Tensor, d_out: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return _attnscope.linear_backward(q, k, v, (feature, causal, epsilon), (out, d_out.contiguous()))


@linear_backward.register_fake
def _(q, k, v, feature, causal, epsilon, out, d_out):
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _keep_linear(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:3], output)
    ctx.options = inputs[3:]


def _go_back_linear(ctx, d_out):
    q, k, v, out = ctx.saved_tensors
    found = torch.ops.attnscope.linear_backward(q, k, v, *ctx.options, out, d_out)
    return *(gradient if asked else None for gradient, asked in zip(found, ctx.needs_input_grad)), None, None, None


linear_attention.register_autograd(_go_back_linear, setup_context=_keep_linear)
linear_backward.register_autograd(refuse)


def _four_axes(shape):
    return (1,) * (4 - len(shape)) + tuple(shape)


@register_flop_formula(torch.ops.attnscope.attention)
def _(q_shape, k_shape, v_shape, *args, out_shape=None, **kwargs) -> int:
    """Counts q k^T and p v, as for torch's attention: pairs that a mask hides count too."""
    (batch, heads, queries, width), keys = _four_axes(q_shape), k_shape[-2]
    return 2 * batch * heads * queries * keys * (width + v_shape[-1])


@register_flop_formula(torch.ops.attnscope.attention_backward)
def _(q_shape, k_shape, v_shape, *args, out_shape=None, **kwargs) -> int:
    """Counts the products of the backward pass: q k^T again, d_out v^T, p^T d_out, ds k and ds^T q."""
    (batch, heads, queries, width), keys = _four_axes(q_shape), k_shape[-2]
    return 2 * batch * heads * queries * keys * (3 * width + 2 * v_shape[-1])
