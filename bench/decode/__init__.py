"""One new token against a cache of keys: nothing but reading. Eight query heads share two key heads."""

from harness.case import Case
from harness.figure import Figure, Row, share
from harness.result import Measured
from harness.task import Task

TYPES = ("float32", "float16", "bfloat16")
SHORT = [Case(1, 8, 1, 64, g=2, m=32768, dtype=dtype) for dtype in TYPES]
LONG = [case.with_(m=262144) for case in SHORT]
TORCH_FORMS = ("torch_gqa", "torch_folded_sdpa", "torch_folded_matmul")


def of_plain_read(m: Measured, case: Case) -> float | None:
    return m.faster(case, "plain_read")


def figures(m: Measured) -> list[Figure]:
    found = []
    for single in (SHORT[0], LONG[0]):
        keys = f"{single.keys:,} keys"
        found += [
            share(f"share of a plain read, {keys}", of_plain_read(m, single), 85, 95),
            Figure(f"torch SDPA enable_gqa, {keys}", m.faster(single, "torch_gqa"), 4.3, 5),
            Figure(f"best torch form, {keys}", m.faster(single, *TORCH_FORMS), 2),
        ]
    for half in LONG[1:]:
        found.append(Figure(f"{half.dtype} over float32, {half.keys:,} keys", m.between(LONG[0], half), 1.7))
    return found


def rows(m: Measured) -> list[Row]:
    return [
        Row(
            f"decode, 1 query, 8 heads on 2, {case.keys:,} keys",
            of_plain_read(m, case),
            share_of="read",
            torch=m.faster(case, "torch_gqa"),
        )
        for case in (SHORT[0], LONG[0])
    ]


TASK = Task("decode, 1 query", groups=[SHORT, LONG], figures=figures, rows=rows, flops=lambda case: 0)
