"""Calls that take turns, for what is not one attention problem: whole models and whole programs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from statistics import median

Seconds = dict[str, list[float]]  # by name, a number a round; wall clock


def take_turns(
    calls: Mapping[str, Callable[[], object]], rounds: int, least: float = 0.05, warm: bool = True
) -> Seconds:
    """Every round each call once (short ones several times, for `least` seconds), in an order that rotates."""
    names = list(calls)
    seconds: Seconds = {name: [] for name in names}
    repeats = dict.fromkeys(names, 1)
    for name in names if warm else ():
        calls[name]()
        start = time.perf_counter()
        calls[name]()
        repeats[name] = max(1, int(least / (time.perf_counter() - start)))
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            if warm:
                calls[name]()  # after its neighbours, caches and helpers are cold
            start = time.perf_counter()
            for _ in range(repeats[name]):
                calls[name]()
            seconds[name].append((time.perf_counter() - start) / repeats[name])
    return seconds


def times_faster(seconds: Seconds, name: str, other: str) -> float | None:
    """Within a round, then the median."""
    if not seconds.get(name) or not seconds.get(other):
        return None
    return median(theirs / ours for ours, theirs in zip(seconds[name], seconds[other], strict=True))


def run(arguments: list[str]) -> str:
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def race(programs: Mapping[str, list[str]], rounds: int) -> Seconds:
    """Whole programs, from the shell to their end; the files that they read are in the system's cache."""
    for command in programs.values():
        run(command)
    return take_turns(
        {name: lambda command=command: run(command) for name, command in programs.items()}, rounds, warm=False
    )


def peak_memory(arguments: list[str]) -> float:
    """Bytes, of a process of its own."""
    child = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    child += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return 1024.0 * float(run([sys.executable, "-c", child, *arguments]))
