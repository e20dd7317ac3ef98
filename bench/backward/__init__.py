"""Attention and its gradients: one forward pass, one backward pass."""

from __future__ import annotations

import math

import torch

from harness.case import Case, Inputs
from harness.figure import Figure, Row, share
from harness.reference import WrongResult, visible
from harness.result import Measured
from harness.task import Task

FULL = Case(1, 8, 2048, 64)
CAUSAL = FULL.with_(rule="causal")
SHORT = Case(1, 8, 512, 64)
SHORT_CAUSAL = SHORT.with_(rule="causal")
TOLERANCE = 1e-3


def gradient_of_output(case: Case) -> torch.Tensor:
    return torch.randn(case.b, case.h, case.n, case.d, generator=torch.Generator().manual_seed(1))


def flops(case: Case) -> float:
    """Two products forward and five backward, over the visible pairs."""
    return 3.5 * case.attention_flops


def check(case: Case, x: Inputs, results: tuple[torch.Tensor, ...]) -> None:
    """dq, dk and dv of the first head, against the formulas in double precision."""
    q, k, v, g = (t[0, 0].double() for t in (x.q, x.k, x.v, gradient_of_output(case)))
    scale = 1 / math.sqrt(case.d)
    allowed = visible(case, torch.arange(case.n))
    weights = (scale * q @ k.T).masked_fill(~allowed, -torch.inf).softmax(-1)
    dp = g @ v.T
    ds = weights * (dp - (weights * dp).sum(-1, keepdim=True))
    for name, got, want in zip("qkv", results, (scale * ds @ k, scale * ds.T @ q, weights.T @ g), strict=True):
        error = (got[0, 0].double() - want).abs().max().item()
        if not error <= TOLERANCE:
            raise WrongResult(f"d{name}: off by {error:.1e}, more than {TOLERANCE:.0e}")


def figures(m: Measured) -> list[Figure]:
    return [
        share(f"share of the peak, {FULL.label}", m.share(FULL), 70, 78),
        Figure(f"torch SDPA, {FULL.label}", m.faster(FULL, "torch_sdpa"), 1.15, 1.25),
        Figure(f"torch SDPA, {CAUSAL.label}", m.faster(CAUSAL, "torch_sdpa"), 1.4, 1.6),
    ]


def rows(m: Measured) -> list[Row]:
    labels = {
        FULL: "forward + backward, 8 heads, 2,048 tokens, D 64",
        CAUSAL: "forward + backward, causal, 8 heads, 2,048 tokens, D 64",
    }
    return [Row(label, m.share(case), torch=m.faster(case, "torch_sdpa")) for case, label in labels.items()]


TASK = Task(
    "forward and backward, float32 (B,H,N,D)",
    groups=[(case,) for case in (SHORT, SHORT_CAUSAL, FULL, CAUSAL)],
    figures=figures,
    rows=rows,
    flops=flops,
    check=check,
    notes=("Counted as 3.5 forward passes: two products forward, five backward.",),
)
