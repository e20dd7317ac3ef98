"""Attention as a textbook writes it, in double precision."""

import numpy as np


def scores(q, k, *, scale=None, softcap=None, bias=None):
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    k = np.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    s = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap:
        s = softcap * np.tanh(s / softcap)
    return s if bias is None else s + bias


def attention(q, k, v, *, allowed=True, sink=None, **options):
    """Returns out, lse, weights; a row that sees no key is zero, its lse -inf."""
    s = np.where(allowed, scores(q, k, **options), -np.inf)
    logits = s
    if sink is not None:
        column = np.broadcast_to(np.asarray(sink, np.float64)[:, None, None], (*s.shape[:-1], 1))
        logits = np.concatenate([s, column], axis=-1)
    peak = np.maximum(logits.max(axis=-1, initial=-np.inf), -1e300)
    with np.errstate(divide="ignore"):
        lse = peak + np.log(np.exp(logits - peak[..., None]).sum(axis=-1))
    weights = np.exp(s - np.where(np.isfinite(lse), lse, 0)[..., None])
    v = np.repeat(np.asarray(v, np.float64), q.shape[-3] // v.shape[-3], axis=-3)
    return weights @ v, lse, weights


def linear(q, k, v, *, phi, causal=False, epsilon=1e-6):
    q, k = phi(np.asarray(q, np.float64)), phi(np.asarray(k, np.float64))
    k, v = (np.repeat(np.asarray(x, np.float64), q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    w = q @ np.swapaxes(k, -1, -2)
    if causal:
        w = np.tril(w)
    return w @ v / (w.sum(axis=-1, keepdims=True) + epsilon)
