"""Linear attention with elu + 1, all keys and causal."""

import torch

from harness import reference
from harness.case import Case, Inputs
from harness.figure import Figure, Row, share
from harness.result import Measured
from harness.task import Task

ALL = Case(8, 1, 1024, 64)
CAUSAL = ALL.with_(rule="causal")


def flops(case: Case) -> float:
    """phi(K)^T V, then phi(Q) times that: the least that either form needs."""
    return 4.0 * case.b * case.h * case.n * case.d * case.d


def check(case: Case, x: Inputs, results: "tuple[torch.Tensor, ...]") -> None:
    rows = reference.sampled_rows(case)
    reference.check_close(case, "output", results[0][:, :, rows], reference.linear_rows(case, x, rows))


def figures(m: Measured) -> list[Figure]:
    return [
        share(f"share of the peak, {ALL.label}", m.share(ALL), 70, 75),
        Figure(f"torch, {ALL.label}", m.faster(ALL, "torch_formula"), 3.2),
        Figure(f"torch chunked, {CAUSAL.label}", m.faster(CAUSAL, "torch_chunked"), 4),
    ]


def rows(m: Measured) -> list[Row]:
    return [
        Row(
            "linear, B 8, 1,024 tokens, D 64", m.share(ALL), torch=m.faster(ALL, "torch_formula"), torch_form="formula"
        ),
        Row("linear causal, B 8, 1,024 tokens, D 64", torch=m.faster(CAUSAL, "torch_chunked"), torch_form="chunked"),
    ]


TASK = Task(
    "linear attention, float32 (B,H,N,D)",
    groups=[(ALL,), (CAUSAL,)],
    figures=figures,
    rows=rows,
    flops=flops,
    check=check,
)
