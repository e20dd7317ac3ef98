"""Twelve heads of sixteen tokens: what a call costs when there is hardly anything to compute."""

from harness.case import Case
from harness.engine import run_engine
from harness.figure import Fact, Figure, Findings, Row
from harness.result import Measured
from harness.task import Context, Task

TINY = Case(1, 12, 16, 64)


def figures(m: Measured) -> list[Figure]:
    return [Figure(f"torch SDPA, {TINY.label}, from Python", m.faster(TINY, "torch_sdpa"), 2)]


def rows(m: Measured) -> list[Row]:
    return [
        Row(
            "full, 12 heads, 16 tokens, D 64",
            m.share(TINY),
            torch=m.faster(TINY, "torch_sdpa"),
            onnxruntime=m.faster(TINY, "onnxruntime_mha"),
        )
    ]


def latency(context: Context) -> Findings:
    """The call in C++, by the clock on the wall."""
    found = run_engine(context, "tiny") or {}
    goals = {
        "one_thread": ("one thread", 18),
        "warm_helper": ("a warm helper", 10),
        "busy_neighbour": ("a helper whose core is taken", 18),
    }
    findings = Findings()
    for key, (label, goal) in goals.items():
        measured = found.get(key, {})
        name = f"latency in C++, {label}"
        findings.figures.append(Figure(f"{name}, median", measured.get("median_us"), goal, unit="us", at_most=True))
        findings.facts.append(Fact(f"{name}, 90% are below", measured.get("p90_us"), "us"))
    return findings


TASK = Task("tiny attention, float32 (B,H,N,D)", groups=[(TINY,)], figures=figures, rows=rows, extra=latency)
