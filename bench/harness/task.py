"""Tasks: the folders beside this one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from harness import reference
from harness.case import Case, Inputs
from harness.contender import load_contenders
from harness.figure import Figure, Findings, Row
from harness.measure import Group, Settings, Threads
from harness.result import Lane, Measured

# In the order in which they are shown.
NAMES = (
    *("full", "causal", "window", "tiny", "weights", "decode", "linear", "half", "backward", "threads", "memory"),
    *(
        "binding",
        "planning",
        "product",
        "bert",
        "generate",
        "start",
        "analysis",
        "heatmap",
        "training",
        "ring",
        "recording",
        "page",
        "wasm",
    ),
)


def check_attention(case: Case, x: Inputs, results: tuple[torch.Tensor, ...]) -> None:
    rows = reference.sampled_rows(case)
    out, weights = reference.softmax_rows(case, x, rows)
    reference.check_close(case, "output", results[0][:, :, rows], out)
    if case.weights:
        reference.check_close(case, "weights", results[1][:, :, rows], weights)


@dataclass(frozen=True)
class Context:
    """What a task may need beyond its contenders."""

    quick: bool


@dataclass(frozen=True)
class Task:
    title: str
    groups: Sequence[Sequence[Case]] = ()
    figures: Callable[[Measured], list[Figure]] = lambda measured: []
    rows: Callable[[Measured], list[Row]] = lambda measured: []
    flops: Callable[[Case], float] = lambda case: case.attention_flops
    check: Callable[[Case, Inputs, tuple[torch.Tensor, ...]], None] = check_attention
    extra: Callable[[Context], Findings] | None = None  # measured after the rounds, in processes of its own
    quick: Callable[[Case], bool] = lambda case: case.n <= 2048 and case.m <= 32768  # cases of a quick run
    notes: tuple[str, ...] = ()


@dataclass
class Outcome:
    key: str
    task: Task
    measured: Measured = field(default_factory=Measured)
    absent: dict[str, str] = field(default_factory=dict)  # contenders that could not be imported
    findings: Findings = field(default_factory=Findings)

    @property
    def figures(self) -> list[Figure]:
        """What we promise of one thread is not asked of several."""
        return (self.task.figures(self.measured) if self.measured.threads == 1 else []) + self.findings.figures

    def as_json(self) -> dict[str, Any]:
        return {
            "task": self.key,
            "title": self.task.title,
            "notes": list(self.task.notes),
            "lanes": [lane_json(lane) for lane in self.measured.lanes],
            "absent": self.absent,
            "facts": [fact.as_json() for fact in self.findings.facts],
            "figures": [figure.as_json() for figure in self.figures],
            "rows": [row.as_json() for row in self.task.rows(self.measured)],
        }


def lane_json(lane: Lane) -> dict[str, Any]:
    return {
        "contender": lane.key,
        "name": lane.name,
        "case": lane.case.label,
        "threads": lane.case.threads,
        "cpu_ms": to_ms(lane.seconds("cpu")),
        "wall_ms": to_ms(lane.seconds("wall")),
        "share": lane.share(),
        "rounds": len(lane.samples),
        "repetitions": lane.repetitions,
        "note": lane.note,
    }


def to_ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def load_task(name: str) -> Task:
    return importlib.import_module(name).TASK


def run_task(name: str, settings: Settings, context: Context, threads: int) -> Outcome:
    task = load_task(name)
    contenders, absent = load_contenders(importlib.import_module(name))
    outcome = Outcome(name, task, absent=absent)
    state = Threads()
    if all(case.threads == 1 for cases in task.groups for case in cases):
        outcome.measured.threads = threads
    for cases in task.groups:
        cases = [outcome.measured.as_run(case) for case in cases]
        cases = [case for case in cases if not context.quick or task.quick(case)]
        if cases:
            group = Group(cases, contenders, task.flops, task.check, state)
            outcome.measured.lanes += group.run(settings).lanes
    if task.extra:
        settings.progress("in processes of its own")
        outcome.findings = task.extra(context)
    return outcome
