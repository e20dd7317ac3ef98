"""What Python adds to a call: the same kernel, called by a program in C++, with torch tensors and with numpy arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch

from harness.case import Case
from harness.figure import Figure, Findings
from harness.result import Measured
from harness.task import Context, Task

CASES = [Case(1, 8, 512, 64), Case(1, 8, 512, 64, rule="causal"), Case(1, 8, 2048, 64)]
KINDS = {"attnscope": "torch tensors", "numpy_arrays": "numpy arrays"}


def figures(m: Measured) -> list[Figure]:
    found = []
    for case in CASES:
        for contender, kind in KINDS.items():
            times = m.faster(case, contender, key="in_cpp")
            found.append(Figure(f"time of the call in C++, {kind}, {case.label}", times, 1.05, at_most=True))
    return found


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """Of one call: the median over rounds of 1,000."""
    call()
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(1000):
            call()
        took.append(1e3 * (time.perf_counter() - begin))
    return median(took)


def overhead(context: Context) -> Findings:
    """One query and one key of width 8: there is nothing to compute, all of it is the way in and out."""
    import attnscope as at

    at.set_num_threads(1)
    x = np.ones((1, 1, 1, 8), np.float32)
    t = torch.ones(1, 1, 1, 8)
    rule = at.causal()
    rounds = 5 if context.quick else 31
    calls = {
        "numpy": lambda: at.attention(x, x, x),
        "torch": lambda: at.attention(t, t, t),
        "numpy, causal": lambda: at.attention(x, x, x, mask=rule),
        "torch, causal": lambda: at.attention(t, t, t, mask=rule),
    }
    return Findings(
        figures=[
            Figure(f"a call of one query and one key, {name}", microseconds(call, rounds), 10, unit="us", at_most=True)
            for name, call in calls.items()
        ]
    )


TASK = Task("the way through Python (B,H,N,D)", groups=[tuple(CASES)], figures=figures, extra=overhead)
