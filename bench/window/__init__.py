"""A query sees 256 keys on each side; and what becomes of the time when the text grows to 131,072 tokens."""

from harness.case import Case
from harness.figure import Figure, Row, share
from harness.result import Measured
from harness.task import Task

LONG = Case(1, 4, 8192, 64, rule="window")
LONGER = [LONG.with_(n=n) for n in (16384, 32768, 65536, 131072)]


def growth(m: Measured) -> float | None:
    """Time of a token in the longest text over that in the shortest."""
    ratio = m.between(LONGER[-1], LONG)
    return None if ratio is None else ratio * LONG.n / LONGER[-1].n


def figures(m: Measured) -> list[Figure]:
    return [
        share(f"share of the peak, {LONG.label}", m.share(LONG), 74, 78),
        Figure(f"FlexAttention, {LONG.label}", m.faster(LONG, "flex_attention"), 3),
        Figure(f"torch SDPA with that mask, {LONG.label}", m.faster(LONG, "torch_sdpa"), 30),
        Figure("time of a token, 131,072 tokens over 8,192", growth(m), 1.15, at_most=True),
    ]


def rows(m: Measured) -> list[Row]:
    return [
        Row(
            "window of 256 each side, 4 heads, 8,192 tokens, D 64",
            m.share(LONG),
            torch=m.faster(LONG, "torch_sdpa"),
            flex=m.faster(LONG, "flex_attention"),
        )
    ]


TASK = Task(
    "window of 256 each side, float32 (B,H,N,D)",
    groups=[(LONG, *LONGER)],
    figures=figures,
    rows=rows,
    quick=lambda case: case.n <= 16384,
    notes=("Only pairs that may be seen are counted.",),
)
