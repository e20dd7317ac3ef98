"""Attention as a textbook writes it, in torch and in double precision, so that torch finds its gradients."""

import torch


def attention(q, k, v, *, allowed=None, scale=None, softcap=None, bias=None, sink=None, kept=None):
    """out, lse, weights of [B, H, N, D]; a row that may see nothing is zero, its lse -inf (or the sink).

    allowed, bias and kept (by what dropout multiplies each weight) broadcast to [B, H, N, M].
    """
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias.double()
    seen = torch.ones_like(scores, dtype=torch.bool) if allowed is None else allowed.expand(scores.shape)
    scores = torch.where(seen, scores, -1e300)
    logits = scores
    if sink is not None:
        logits = torch.cat([scores, sink.double()[:, None, None].expand(*scores.shape[:-1], 1)], -1)
    alive = seen.any(-1) if sink is None else torch.ones_like(scores[..., :1].sum(-1), dtype=torch.bool)
    if logits.shape[-1] == 0:
        return scores @ v, torch.full(scores.shape[:-1], -torch.inf, dtype=torch.float64), scores
    lse = torch.logsumexp(logits, -1)
    weights = torch.where(seen, torch.exp(scores - lse[..., None]), 0.0)
    used = weights if kept is None else weights * kept
    return used @ v, torch.where(alive, lse, -torch.inf), weights


def by_distance(table, queries, keys):
    """[H, N, M] of a table [H, N+M-1]."""
    index = torch.arange(keys)[None, :] - torch.arange(queries)[:, None] + queries - 1
    return table[..., index]


def agree(got, wanted, tolerance, what=""):
    """Within the tolerance of the largest number, or of 1."""
    assert got.shape == wanted.shape, f"{what} is {list(got.shape)}, not {list(wanted.shape)}"
    got, wanted = got.detach().double(), wanted.detach().double()
    endless = torch.isinf(wanted)
    assert torch.equal(torch.where(endless, got, 0.0), torch.where(endless, wanted, 0.0)), f"{what}: infinities"
    wanted, got = torch.where(endless, 0.0, wanted), torch.where(endless, 0.0, got)
    if not wanted.numel():
        return
    limit = tolerance * max(1.0, wanted.abs().max().item())
    error = (got - wanted).abs().max().item()
    assert error <= limit, f"{what} is wrong by {error:.3g}, allowed is {limit:.3g}"
