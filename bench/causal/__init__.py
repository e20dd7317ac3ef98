"""A query sees itself and the keys before it."""

import full
from harness.figure import Figure, Row, share
from harness.result import Measured
from harness.task import Task

SHORT, MIDDLE, BATCH, LONG, WIDE, MANY = (
    case.with_(rule="causal") for case in (full.SHORT, full.MIDDLE, full.BATCH, full.LONG, full.WIDE, full.MANY)
)


def figures(m: Measured) -> list[Figure]:
    found = [share(f"share of the peak, {case.label}", m.share(case), 76, 80) for case in (MIDDLE, LONG, WIDE)]
    found.append(Figure(f"torch SDPA, {MIDDLE.label}", m.faster(MIDDLE, "torch_sdpa"), 1.45, 1.6))
    found.append(Figure(f"torch SDPA, {SHORT.label}", m.faster(SHORT, "torch_sdpa"), 2.2, 2.5))
    return found


def rows(m: Measured) -> list[Row]:
    labels = {SHORT: "causal, 8 heads, 512 tokens, D 64", MIDDLE: "causal, 8 heads, 2,048 tokens, D 64"}
    return full.rows_of(m, labels)


TASK = Task(
    "causal attention, float32 (B,H,N,D)",
    groups=[(case,) for case in (SHORT, MIDDLE, BATCH, LONG, WIDE, MANY)],
    figures=figures,
    rows=rows,
    notes=("Only pairs that may be seen are counted.",),
)
