"""Two threads against one, by the clock on the wall."""

from harness.case import Case
from harness.figure import Figure
from harness.result import WALL, Measured
from harness.task import Task

ONE = Case(1, 8, 2048, 64)
TWO = ONE.with_(threads=2)


def figures(m: Measured) -> list[Figure]:
    return [Figure(f"two threads over one, {ONE.label}", m.between(ONE, TWO, clock=WALL), 1.9)]


TASK = Task(
    "two threads, full attention, float32 (B,H,N,D)",
    groups=[(ONE, TWO)],
    figures=figures,
    notes=("By wall time: needs two idle cores.",),
)
