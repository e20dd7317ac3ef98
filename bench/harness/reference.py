"""The textbook in double precision, for a sample of the queries: cheap enough to check every case."""

from __future__ import annotations

import torch

from harness.case import WINDOW, Case, Inputs

ROWS = 24  # queries that are looked at, the first and the last among them
TOLERANCE = 1e-3
TOLERANCE_BFLOAT = 4e-3  # what rounding the output to eight bits costs


class WrongResult(Exception):
    """What a contender gave is not attention."""


def sampled_rows(case: Case) -> torch.Tensor:
    if case.n <= ROWS:
        return torch.arange(case.n)
    return torch.linspace(0, case.n - 1, ROWS).round().long().unique()


def visible(case: Case, rows: torch.Tensor) -> torch.Tensor:
    """[rows, M]: true where the key may be seen."""
    i, j = rows[:, None], torch.arange(case.keys)[None, :]
    if case.rule == "causal":
        return j <= i
    if case.rule == "window":
        return (i - j).abs() <= WINDOW
    return torch.ones(len(rows), case.keys, dtype=torch.bool)


def softmax_rows(case: Case, x: Inputs, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, H, rows, D] and weights [B, H, rows, M]."""
    q = x.q[:, :, rows].double().reshape(case.b, case.heads, -1, case.d)  # heads that share keys, one below the other
    scores = (q @ x.k.double().transpose(-1, -2)).view(case.b, case.h, len(rows), case.keys) * case.d**-0.5
    weights = scores.masked_fill(~visible(case, rows), -torch.inf).softmax(-1)
    out = weights.view(case.b, case.heads, -1, case.keys) @ x.v.double()
    return out.view(case.b, case.h, len(rows), case.d), weights


def linear_rows(case: Case, x: Inputs, rows: torch.Tensor) -> torch.Tensor:
    """Linear attention written as attention: the weights are products of features. Output [B, H, rows, D]."""
    q, k = (torch.nn.functional.elu(t.double()) + 1 for t in (x.q[:, :, rows], x.k))
    weights = (q @ k.transpose(-1, -2)).masked_fill(~visible(case, rows), 0)
    return weights @ x.v.double() / weights.sum(-1, keepdim=True)


def check_close(case: Case, what: str, got: torch.Tensor, want: torch.Tensor) -> None:
    if got.shape != want.shape:
        raise WrongResult(f"{what}: shape {tuple(got.shape)} instead of {tuple(want.shape)}")
    error = (got.double() - want).abs().max().item()
    limit = TOLERANCE_BFLOAT if case.dtype == "bfloat16" else TOLERANCE
    if not error <= limit:
        raise WrongResult(f"{what}: off by {error:.1e}, more than {limit:.0e}")
