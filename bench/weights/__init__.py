"""The whole table of weights is asked for, beside the output."""

from harness.case import Case
from harness.figure import Figure, Row
from harness.result import Measured
from harness.task import Task

SHORT, MIDDLE = Case(1, 8, 512, 64), Case(1, 8, 2048, 64)
SHORT_TABLE, MIDDLE_TABLE = SHORT.with_(weights=True), MIDDLE.with_(weights=True)


def figures(m: Measured) -> list[Figure]:
    return [
        Figure(f"time with weights over without, {SHORT.label}", m.between(SHORT_TABLE, SHORT), 1.1, at_most=True),
        Figure(f"torch naive, {MIDDLE_TABLE.label}", m.faster(MIDDLE_TABLE, "torch_naive"), 3),
    ]


def rows(m: Measured) -> list[Row]:
    faster = m.faster(MIDDLE_TABLE, "torch_naive")
    label = "full with all weights, 8 heads, 2,048 tokens, D 64"
    return [Row(label, m.share(MIDDLE_TABLE), torch=faster, torch_form="naive")]


TASK = Task(
    "returning all weights, float32 (B,H,N,D)",
    groups=[(SHORT, SHORT_TABLE), (MIDDLE, MIDDLE_TABLE)],
    figures=figures,
    rows=rows,
)
