"""Every query sees every key."""

from harness.case import Case
from harness.figure import Figure, Row, share
from harness.result import Measured
from harness.task import Task

SHORT = Case(1, 8, 512, 64)
MIDDLE = Case(1, 8, 2048, 64)
BATCH = Case(8, 1, 1024, 64)
LONG = Case(1, 4, 8192, 64)
WIDE = Case(1, 2, 16384, 128)
MANY = Case(32, 12, 128, 32)


def figures(m: Measured) -> list[Figure]:
    found = [share(f"share of the peak, {case.label}", m.share(case), 80, 85) for case in (MIDDLE, LONG)]
    found.append(share(f"share of the peak, {WIDE.label}", m.share(WIDE), 84, 88))
    found += [
        Figure(f"torch SDPA, {case.label}", m.faster(case, "torch_sdpa"), 1.18, 1.3) for case in (MIDDLE, LONG, WIDE)
    ]
    found.append(share(f"share of the peak, {MANY.label}", m.share(MANY), 66, 70))
    found.append(Figure(f"torch SDPA, {MANY.label}", m.faster(MANY, "torch_sdpa"), 1.7, 2))
    return found


def rows_of(m: Measured, labels: dict[Case, str]) -> list[Row]:
    return [
        Row(
            label,
            m.share(case),
            torch=m.faster(case, "torch_sdpa"),
            flex=m.faster(case, "flex_attention"),
            onnxruntime=m.faster(case, "onnxruntime_mha"),
        )
        for case, label in labels.items()
    ]


def rows(m: Measured) -> list[Row]:
    labels = {
        SHORT: "full, 8 heads, 512 tokens, D 64",
        MIDDLE: "full, 8 heads, 2,048 tokens, D 64",
        LONG: "full, 4 heads, 8,192 tokens, D 64",
        WIDE: "full, 2 heads, 16,384 tokens, D 128",
        MANY: "full, 32 x 12 heads, 128 tokens, D 32",
    }
    return rows_of(m, labels)


TASK = Task(
    "full attention, float32 (B,H,N,D)",
    groups=[(case,) for case in (SHORT, MIDDLE, BATCH, LONG, WIDE, MANY)],
    figures=figures,
    rows=rows,
)
