"""Compiling a mask into tiles, against the call that uses it, at 4,096 tokens."""

from harness.engine import run_engine
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task


def measure(context: Context) -> Findings:
    found = run_engine(context, "plan") or {}
    masks = found.get("masks", [])
    worst = max((mask["share"] for mask in masks), default=None)
    percent = None if worst is None else 100 * worst
    figure = Figure("planning, share of the call, the slowest mask", percent, 3, unit="%", at_most=True)
    facts = [Fact(f"{mask['mask']}, {100 * mask['share']:.2f}% of the call", mask["plan_us"], "us") for mask in masks]
    return Findings(facts, [figure])


TASK = Task("planning, 1,8,4096,64", extra=measure)
