"""Attention by torch's own operations, as a textbook writes it.

It stores all N x M weights. What the engine cannot do goes this way: float64, second derivatives, forward-mode
derivatives, and the transforms of torch.func.
"""

from __future__ import annotations

import torch

from . import _attnscope
from ._attnscope import Mask, Plan
from ._mask_arguments import _argument, _argument_for

_NEVER = -torch.inf


def _four_axes(table, sizes):
    """Returns a table as [1|B, 1|H, 1|N, 1|M]; attn::table_axes has the rule."""
    if table.ndim == 2 and table.shape[0] not in (1, sizes[2]) and table.shape[0] == sizes[0]:
        return table[:, None, None]
    return table[(None,) * (4 - table.ndim)]


def pairs(mask, sizes):
    """Returns which pairs of [B, H, N, M] a mask allows, and what it adds to their scores; each may be None."""
    if mask is None:
        return None, None
    if not isinstance(mask, (Mask, Plan, torch.Tensor)) or type(mask).__name__ == "CausalBias":
        mask = _argument(mask) if isinstance(mask, str) else _argument_for(mask, sizes)
        mask = mask if isinstance(mask, Mask) else torch.from_numpy(mask)
    if isinstance(mask, torch.Tensor):
        table = _four_axes(mask, sizes)
        if table.dtype is torch.bool:
            return table, None
        allowed = table > max(-1e9, torch.finfo(table.dtype).min)
        return allowed, torch.where(allowed, table, 0.0)
    rule = mask.mask if isinstance(mask, Plan) else mask
    bias = _attnscope.mask_bias(rule)
    return torch.from_numpy(rule.table(*sizes)), None if bias is None else torch.from_numpy(bias)


def by_distance(table, queries, keys):
    """Returns the bias [H, N, M] of a table [H, N+M-1]."""
    distance = torch.arange(keys) - torch.arange(queries)[:, None]
    return table[..., distance + queries - 1]


def _heads(x, times):
    return x if times == 1 else x[:, :, None].expand(-1, -1, times, -1, -1).flatten(1, 2)


def formula(q, k, v, *, scale=None, softcap=None, allowed=None, added=(), sink=None, kept=None):
    """Returns out, lse and weights of q [B, H, N, D], k [B, G, M, D] and v [B, G, M, E], at least in float32.

    allowed, each of added, and kept (by what dropout multiplies each weight) broadcast to [B, H, N, M].
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    times = q.shape[1] // max(k.shape[1], 1)
    q, k, v = q.to(wide), _heads(k.to(wide), times), _heads(v.to(wide), times)
    scores = q @ k.mT * ((q.shape[-1] or 1) ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    for bias in added:
        if bias is not None:
            scores = scores + bias
    if allowed is not None:
        scores = torch.where(allowed, scores, _NEVER)
    logits = scores
    if sink is not None:
        logits = torch.cat([scores, sink.to(wide)[:, None, None].expand(*scores.shape[:-1], 1)], dim=-1)
    if logits.shape[-1] == 0:
        return scores @ v, torch.full_like(scores[..., :1].sum(-1), _NEVER), scores
    # A constant: neither weights nor lse depend on it.
    peak = logits.detach().amax(dim=-1, keepdim=True)
    peak = torch.where(peak == _NEVER, 0.0, peak)
    total = torch.exp(logits - peak).sum(dim=-1, keepdim=True)
    alive = total != 0
    total = torch.where(alive, total, 1.0)
    weights = torch.exp(scores - peak) / total
    lse = torch.where(alive, torch.log(total) + peak, _NEVER).squeeze(-1)
    return (weights if kept is None else weights * kept) @ v, lse, weights


def attention(q, k, v, given, bias, sink):
    """Computes attnscope.torch.attention(); returns out, lse and weights with the axes of q. given is a Given."""
    missing = 4 - q.ndim
    q4, k4, v4 = (x[(None,) * (4 - x.ndim)] for x in (q, k, v))
    sizes = (*q4.shape[:3], k4.shape[2])
    with torch.autocast("cpu", enabled=False):
        allowed, added = pairs(given.mask, sizes)
        if bias is not None:
            bias = by_distance(bias, *sizes[2:]) if given.by_distance else bias
        kept = None
        if given.dropout:
            kept = torch.from_numpy(_attnscope.dropout_kept(given.dropout, given.seed, sizes)) / (1 - given.dropout)
        options = {"scale": given.scale, "softcap": given.softcap, "sink": sink, "kept": kept}
        found = formula(q4, k4, v4, allowed=allowed, added=(bias, added), **options)
        out, lse, weights = (x[(0,) * missing] for x in found)
    return out.to(q.dtype), lse, weights
