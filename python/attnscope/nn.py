"""Attention layers for torch on the kernels of attnscope: O(N) memory, forward and backward.

All take and return [B, N, d_model] or [N, d_model]; their parameters are called q, k, v and out.

>>> import torch, attnscope as at
>>> layer = at.nn.MultiHeadAttention(d_model=128, num_heads=8)
>>> x = torch.randn(2, 10, 128)
>>> y, weights = layer(x, mask=at.causal(), return_weights=True)
>>> y.shape, weights.shape
(torch.Size([2, 10, 128]), torch.Size([2, 8, 10, 10]))
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from torch import Tensor

from ._bias import distance_bias
from .torch import attention

__all__ = ["CrossAttention", "MultiHeadAttention", "RelativePositionAttention", "SelfAttention"]

Result: TypeAlias = Tensor | tuple[Tensor, ...]  # y, or with return_weights (y, weights)

_PARTS = ("q", "k", "v")


class _Attention(torch.nn.Module):
    """Computes y = W_o concat_h softmax(q_h k_h^T / sqrt(D) + bias) v_h; q = W_q x, k = W_k memory, v = W_v memory."""

    def __init__(self, d_model, num_heads, *, key_heads=None, memory_width=None, dropout=0.0, bias=True, **factory):
        super().__init__()
        key_heads = num_heads if key_heads is None else key_heads
        if num_heads < 1 or d_model < 1 or d_model % num_heads:
            raise ValueError(f"d_model of {d_model} is not divisible by {num_heads} heads")
        if key_heads < 1 or num_heads % key_heads:
            raise ValueError(f"{num_heads} heads cannot share {key_heads} key heads evenly")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; it must be from 0 to below 1")
        self.d_model, self.num_heads, self.key_heads = d_model, num_heads, key_heads
        self.memory_width = d_model if memory_width is None else memory_width
        self.dropout = dropout
        width = d_model // num_heads
        self.q = torch.nn.Linear(d_model, d_model, bias, **factory)
        self.k = torch.nn.Linear(self.memory_width, key_heads * width, bias, **factory)
        self.v = torch.nn.Linear(self.memory_width, key_heads * width, bias, **factory)
        self.out = torch.nn.Linear(d_model, d_model, bias, **factory)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes matrices by Glorot's rule and biases to zero."""
        for part in (self.q, self.k, self.v, self.out):
            torch.nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                torch.nn.init.zeros_(part.bias)

    def extra_repr(self) -> str:
        text = f"d_model={self.d_model}, num_heads={self.num_heads}"
        if self.key_heads != self.num_heads:
            text += f", key_heads={self.key_heads}"
        if self.memory_width != self.d_model:
            text += f", memory_width={self.memory_width}"
        return text + (f", dropout={self.dropout}" if self.dropout else "")

    def _bias(self, queries: int, keys: int):
        return None

    def _attend(self, x: Tensor, memory: Tensor, mask, return_weights: bool):
        for name, given, width in (("x", x, self.d_model), ("memory", memory, self.memory_width)):
            if given.ndim not in (2, 3) or given.shape[-1] != width:
                raise ValueError(f"{name} is {list(given.shape)}; it must be [B, N, {width}] or [N, {width}]")
        width = self.d_model // self.num_heads
        split = lambda y: y.unflatten(-1, (-1, width)).transpose(-3, -2)  # noqa: E731  a view [B, H, N, D]
        found = attention(
            split(self.q(x)),
            split(self.k(memory)),
            split(self.v(memory)),
            mask=mask,
            bias=self._bias(x.shape[-2], memory.shape[-2]),
            dropout=self.dropout if self.training else 0.0,
            return_weights=return_weights,
        )
        mixed, *weights = found if return_weights else (found,)
        y = self.out(mixed.transpose(-3, -2).flatten(-2))
        return (y, *weights) if return_weights else y

    def _load_from_state_dict(self, state_dict, prefix, *args):
        _take_torch_names(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _take_torch_names(state, prefix):
    """Renames the parameters of torch.nn.MultiheadAttention in a state dict to those of this module."""
    for kind in ("weight", "bias"):
        together = state.pop(f"{prefix}in_proj_{kind}", None)
        if together is not None:
            state.update({f"{prefix}{part}.{kind}": piece for part, piece in zip(_PARTS, together.chunk(3))})
        if f"{prefix}out_proj.{kind}" in state:
            state[f"{prefix}out.{kind}"] = state.pop(f"{prefix}out_proj.{kind}")
    for part in _PARTS:
        if f"{prefix}{part}_proj_weight" in state:
            state[f"{prefix}{part}.weight"] = state.pop(f"{prefix}{part}_proj_weight")


class MultiHeadAttention(_Attention):
    """Attention with its projections: forward(x, memory=None, mask=None, return_weights=False).

    d_model       width of x and of the result; each head has d_model / num_heads of it
    key_heads     number of key and value heads that the num_heads query heads share (default: num_heads)
    memory_width  width of memory (default: d_model)
    dropout       share of the weights to drop in training, after the softmax; the returned weights are those before
    bias          whether the four projections have a bias

    x is [B, N, d_model]; the queries attend to memory [B, M, memory_width] (default: x). mask is any that
    attnscope.attention() takes. Returns y [B, N, d_model] and, with return_weights, the weights [B, H, N, M]. Raises
    ValueError for sizes that do not fit. It also loads a state dict of torch.nn.MultiheadAttention.

    >>> import torch, attnscope as at
    >>> layer = at.nn.MultiHeadAttention(d_model=128, num_heads=8, key_heads=2)
    >>> layer(torch.randn(2, 10, 128), mask=at.padding([10, 7])).shape
    torch.Size([2, 10, 128])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        key_heads: int | None = None,
        memory_width: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        options = {"key_heads": key_heads, "memory_width": memory_width, "dropout": dropout, "bias": bias}
        super().__init__(d_model, num_heads, **options, device=device, dtype=dtype)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Any = None, return_weights: bool = False
    ) -> Result:
        return self._attend(x, x if memory is None else memory, mask, return_weights)

    @classmethod
    def from_torch(cls, layer: torch.nn.MultiheadAttention) -> MultiHeadAttention:
        """Copies torch's layer into one that computes the same, batch first.

        Raises ValueError for add_bias_kv, add_zero_attn, and a kdim other than vdim.

        >>> import torch, attnscope as at
        >>> theirs = torch.nn.MultiheadAttention(16, 4, batch_first=True)
        >>> ours = at.nn.MultiHeadAttention.from_torch(theirs)
        >>> x = torch.randn(2, 5, 16)
        >>> torch.allclose(ours(x), theirs(x, x, x)[0], atol=1e-5)
        True
        """
        if layer.bias_k is not None or layer.add_zero_attn:
            raise ValueError("MultiHeadAttention has no extra keys: add_bias_kv and add_zero_attn cannot be copied")
        if layer.kdim != layer.vdim:
            raise ValueError(f"kdim is {layer.kdim} and vdim {layer.vdim}; keys and values must have the same width")
        weight = layer.out_proj.weight
        ours = cls(
            layer.embed_dim,
            layer.num_heads,
            memory_width=layer.kdim,
            dropout=layer.dropout,
            bias=layer.in_proj_bias is not None,
            device=weight.device,
            dtype=weight.dtype,
        )
        ours.load_state_dict(layer.state_dict())
        return ours.train(layer.training)


class SelfAttention(_Attention):
    """Attention of x to itself: forward(x, mask=None, return_weights=False).

    Options, shapes and errors are those of MultiHeadAttention.

    >>> import torch, attnscope as at
    >>> layer = at.nn.SelfAttention(d_model=32, n_heads=4)
    >>> layer(torch.randn(2, 7, 32), mask="causal").shape
    torch.Size([2, 7, 32])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        key_heads: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        options = {"key_heads": key_heads, "dropout": dropout, "bias": bias}
        super().__init__(d_model, n_heads, **options, device=device, dtype=dtype)

    def forward(self, x: Tensor, mask: Any = None, return_weights: bool = False) -> Result:
        return self._attend(x, x, mask, return_weights)


class CrossAttention(MultiHeadAttention):
    """Attention of one text to another: forward(x, memory, mask=None, return_weights=False).

    Options, shapes and errors are those of MultiHeadAttention.

    >>> import torch, attnscope as at
    >>> layer = at.nn.CrossAttention(d_model=256, num_heads=4, dropout=0.1)
    >>> decoder, encoder = torch.randn(2, 10, 256), torch.randn(2, 20, 256)
    >>> y, weights = layer(decoder, encoder, mask=at.padding([20, 13]), return_weights=True)
    >>> y.shape, weights.shape
    (torch.Size([2, 10, 256]), torch.Size([2, 4, 10, 20]))
    """

    def forward(  # type: ignore[override]  # memory must be given
        self, x: Tensor, memory: Tensor, mask: Any = None, return_weights: bool = False
    ) -> Result:
        return self._attend(x, memory, mask, return_weights)


class RelativePositionAttention(_Attention):
    """SelfAttention with a learned bias for each distance and head: forward(x, mask=None, return_weights=False).

    The score of query i and key j gets row clamp(j - i, -max_rel_pos, max_rel_pos) + max_rel_pos of the parameter
    relation [2 max_rel_pos + 1, num_heads], which is initialized to zero: keys farther away than max_rel_pos share a
    bias. The other options are those of MultiHeadAttention.

    >>> import torch, attnscope as at
    >>> layer = at.nn.RelativePositionAttention(d_model=32, num_heads=4, max_rel_pos=32)
    >>> layer(torch.randn(2, 50, 32)).sum().backward()
    >>> layer.relation.grad.shape
    torch.Size([65, 4])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        max_rel_pos: int = 32,
        *,
        key_heads: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        options = {"key_heads": key_heads, "dropout": dropout, "bias": bias}
        super().__init__(d_model, num_heads, **options, device=device, dtype=dtype)
        if max_rel_pos < 0:
            raise ValueError(f"max_rel_pos is {max_rel_pos}; it must not be negative")
        self.max_rel_pos = max_rel_pos
        self.relation = torch.nn.Parameter(torch.zeros(2 * max_rel_pos + 1, num_heads, device=device, dtype=dtype))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, max_rel_pos={self.max_rel_pos}"

    def _bias(self, queries: int, keys: int):
        distances = torch.arange(1 - queries, keys, device=self.relation.device)
        rows = distances.clamp(-self.max_rel_pos, self.max_rel_pos) + self.max_rel_pos
        return distance_bias(self.relation[rows].T.contiguous())

    def forward(self, x: Tensor, mask: Any = None, return_weights: bool = False) -> Result:
        return self._attend(x, x, mask, return_weights)
