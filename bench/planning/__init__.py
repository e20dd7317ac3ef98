"""Compiling a mask into tiles, against the call that uses it, at 4,096 tokens."""

from harness.engine import run_engine
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task


def measure(context: Context) -> Findings:
    found = run_engine(context, "plan") or {}
    masks = found.get("masks", [])
    worst = max((mask["share"] for mask in masks), default=None)
    figure = Figure(
        "planning, share of the call, the slowest mask", None if worst is None else 100 * worst, 3, unit="%", at_most=True
    )
    facts = [Fact(f"planning {mask['mask']}", mask["plan_us"], "us") for mask in masks]
    facts += [Fact(f"share of the call, {mask['mask']}", 100 * mask["share"], "%") for mask in masks]
    return Findings(facts, [figure])


TASK = Task("planning, 1,8,4096,64", extra=measure)
