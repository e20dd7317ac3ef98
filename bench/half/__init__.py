"""Inputs in 16 bits: half the bytes should not cost speed."""

from harness.case import Case
from harness.figure import Figure
from harness.result import Measured
from harness.task import Task

SINGLE = Case(1, 8, 2048, 64)
HALVES = [SINGLE.with_(dtype="float16"), SINGLE.with_(dtype="bfloat16")]


def figures(m: Measured) -> list[Figure]:
    return [
        Figure(f"time of {case.dtype} over float32, {SINGLE.label}", m.between(case, SINGLE), 1.05, at_most=True)
        for case in HALVES
    ]


TASK = Task("full attention, 16-bit inputs (B,H,N,D)", groups=[(SINGLE, *HALVES)], figures=figures)
