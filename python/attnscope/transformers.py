"""Runs the attention of Hugging Face transformers models on attnscope's kernels.

>>> import torch, transformers, attnscope as at
>>> at.transformers.register()
>>> config = transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
...                                   num_key_value_heads=2, vocab_size=50)
>>> model = transformers.AutoModel.from_config(config, attn_implementation="attnscope")
>>> model(input_ids=torch.tensor([[1, 2, 3]])).last_hidden_state.shape
torch.Size([1, 3, 32])
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from . import _masks
from . import torch as _torch
from ._attnscope import Plan
from ._bias import DistanceBias
from ._hf.masks import MaskRule, mask_function, rule_of

try:
    from transformers.utils.output_capturing import _active_collector
except ImportError:  # other versions pass output_attentions only
    _active_collector = None

__all__ = ["NAME", "attention_forward", "register"]

NAME = "attnscope"

# Arguments that would change the result and are not supported here.
_REFUSED = ("block_indices", "indices", "cache", "cu_seq_lens_q", "cu_seq_lens_k")


class Seen(NamedTuple):
    """The inputs and the lse of one attention call."""

    module: torch.nn.Module
    q: torch.Tensor  # [B, H, N, D]
    k: torch.Tensor  # [B, G, M, D]
    v: torch.Tensor  # [B, G, M, E]
    lse: torch.Tensor  # [B, H, N]
    rule: MaskRule | None
    mask: torch.Tensor | None  # without a rule: a table, or None if everything is visible
    causal: bool  # if there is neither rule nor mask
    scale: float | None
    softcap: float | None
    bias: torch.Tensor | None  # [1|B, H, N, M]
    sink: torch.Tensor | None  # [H]


class Listener(Protocol):
    def hear(self, seen: Seen) -> None: ...


listeners: list[Listener] = []  # each filters by module, because generate() may run in another thread


def register() -> None:
    """Registers attn_implementation="attnscope" with transformers. May be called repeatedly.

    >>> import attnscope as at
    >>> at.transformers.register()
    """
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, mask_function)


def kept(tensor: torch.Tensor, key: str, make):
    """Caches make(tensor) on the tensor until it changes: layers share masks and biases.

    A tensor of inference mode has no version counter: cache only those that models make afresh in every pass.
    """
    if torch.compiler.is_compiling():
        return make(tensor)
    version = None if tensor.is_inference() else tensor._version
    known = tensor.__dict__.get("_attnscope_" + key)
    if known is None or known[0] != version:
        known = (version, make(tensor))
        tensor.__dict__["_attnscope_" + key] = known
    return known[1]


def by_distance(bias: torch.Tensor) -> torch.Tensor | DistanceBias | None:
    """Turns a bias [1, H, N, M] that depends on j - i alone into a table of distances; zeros become None."""
    bias = bias.detach()
    if torch.compiler.is_compiling():  # the values are not known yet
        return bias.contiguous()
    if bias.shape[0] == 1 and torch.equal(bias[:, :, 1:, 1:], bias[:, :, :-1, :-1]):
        table = torch.cat((bias[0, :, 1:, 0].flip(-1), bias[0, :, 0, :]), dim=-1).float().contiguous()
        return DistanceBias(table) if bool(table.any()) else None
    return bias.contiguous()


def _bias(position_bias):
    if position_bias is None:
        return None
    if torch.is_grad_enabled() and position_bias.requires_grad:
        return kept(position_bias, "dense", torch.Tensor.contiguous)
    return kept(position_bias, "bias", by_distance)


def _table_plan(attention_mask, q, k):
    """Compiles a user's mask: a table [1|B, 1|H, 1|N, M] of bool, or of floats that are added to the scores."""
    sizes = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    if attention_mask.dim() != 4 or any(x not in (1, y) for x, y in zip(attention_mask.shape[:3], sizes)):
        raise ValueError(
            f"attention_mask has the shape {tuple(attention_mask.shape)}; it must be {sizes}, where an axis may be 1"
        )

    if torch.compiler.is_compiling():
        return attention_mask[..., : sizes[3]]

    def make(table):
        return _masks.plan(_masks.mask(table[..., : sizes[3]], axes="BHNM"), *sizes)

    return make(attention_mask) if attention_mask.is_inference() else kept(attention_mask, f"plan{sizes}", make)


def _mask(attention_mask, q, k, is_causal) -> tuple[MaskRule | None, Plan | torch.Tensor | str | None]:
    if attention_mask is None:
        if is_causal and q.shape[2] > 1:
            if torch.compiler.is_compiling():
                return None, "causal"
            return None, _masks.plan(_masks.causal(), q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        return None, None
    rule = None if torch.compiler.is_compiling() else rule_of(attention_mask)
    if rule is None:
        return None, _table_plan(attention_mask, q, k)
    if rule.shape != (q.shape[0], q.shape[2], k.shape[2]):
        raise ValueError(
            f"attention_mask is for {rule.shape[0]} sequences of {rule.shape[1]} queries and {rule.shape[2]} keys, but "
            f"there are {q.shape[0]} of {q.shape[2]} and {k.shape[2]}"
        )
    return rule, rule.plan(q.shape[1])


def _weights_wanted(output_attentions) -> bool:
    if output_attentions is not None:
        return bool(output_attentions)
    collected = None if _active_collector is None else _active_collector.get()
    return any(name.endswith("attentions") for name in collected or ())


def _learned_weights(q, k, attention_mask, scale, softcap, bias, sink):
    """Computes the weights with torch's operations, so that they have a gradient, as in eager attention."""
    groups = q.shape[1] // k.shape[1]
    scores = q.float() @ k.float().repeat_interleave(groups, dim=1).transpose(2, 3) * (scale or q.shape[-1] ** -0.5)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    forbidden = None
    if attention_mask is not None:
        table = attention_mask[..., : k.shape[2]]
        forbidden = ~table if table.dtype is torch.bool else table <= max(-1e9, torch.finfo(table.dtype).min)
        scores = scores if table.dtype is torch.bool else scores + table
        scores = scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)
    if sink is None:
        weights = scores.softmax(dim=-1)
    else:
        with_sink = torch.cat((scores, sink.float().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)), dim=-1)
        weights = with_sink.softmax(dim=-1)[..., :-1]
    return (weights if forbidden is None else weights.masked_fill(forbidden, 0)).to(q.dtype)


def attention_forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    position_bias: torch.Tensor | None = None,
    s_aux: torch.Tensor | None = None,
    is_causal: bool | None = None,
    output_attentions: bool | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Computes one attention layer for transformers: query [B, H, N, D], key [B, G, M, D], value [B, G, M, E].

    Returns the output [B, N, H, E] and, with output_attentions, the weights [B, H, N, M]. Raises NotImplementedError
    for an argument that would change the result and is not supported.
    """
    for name in _REFUSED:
        if kwargs.get(name) is not None:
            raise NotImplementedError(f"{type(module).__name__} passes {name}, which attnscope does not support")
    learns = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad)
    given_mask, given_bias = attention_mask, position_bias
    if torch.is_grad_enabled() and attention_mask is not None and attention_mask.requires_grad:  # a learned mask
        position_bias = attention_mask if position_bias is None else position_bias + attention_mask
        attention_mask = None
    rule, plan = _mask(attention_mask, query, key, is_causal)
    options = dict(mask=plan, scale=scaling, softcap=softcap, bias=_bias(position_bias), sink=s_aux)
    heard, weights_wanted = tuple(listeners), _weights_wanted(output_attentions)
    show = weights_wanted and not learns
    found = _torch.attention(query, key, value, dropout=dropout, return_lse=bool(heard), return_weights=show, **options)
    out, *more = found if isinstance(found, tuple) else (found,)
    weights = more[-1].to(query.dtype) if show else None
    if weights_wanted and learns:
        if given_mask is None and plan is not None:
            given_mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()
        weights = _learned_weights(query, key, given_mask, scaling, softcap, given_bias, s_aux)
    if heard:
        table = attention_mask if rule is None else None
        causal = attention_mask is None and plan is not None
        seen = Seen(module, query, key, value, more[0], rule, table, causal, scaling, softcap, position_bias, s_aux)
        for one in heard:
            one.hear(seen)
    return out.transpose(1, 2).contiguous(), weights
