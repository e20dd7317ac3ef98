"""Ring attention: two ranks of one thread against one process with two threads, and what a rank needs of memory."""

from __future__ import annotations

import json
import shutil
import subprocess
from statistics import median
from typing import Any

from harness.figure import Fact, Figure, Findings
from harness.probe import BUILD, ROOT
from harness.task import Context, Task

TOKENS, ROUNDS = 16384, 15
TOKENS_OF_MEMORY = 65536
RANKS_OF_MEMORY = (1, 2, 4)
QUIET, ENOUGH = 0.1, 3  # share of the machine that others took; rounds
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def run_ranks(library: str, ranks: int, *arguments: object) -> dict[str, Any]:
    program = BUILD / "bench" / f"bench_ring_{library}"
    command = [ROOT / "tools" / "mpirun.sh", library, ranks, program, *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {program.name} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def libraries() -> list[str]:
    return [
        name for name in NAMES if (BUILD / "bench" / f"bench_ring_{name}").exists() and shutil.which(f"mpirun.{name}")
    ]


def quiet(rounds: list[dict[str, float]]) -> list[dict[str, float]]:
    """Ranks cannot take over each other's work as threads do: another process on one core delays them all. Only rounds
    without such a process count, if there are enough of them."""
    kept = [one for one in rounds if one["others"] < QUIET]
    return kept if len(kept) >= ENOUGH else rounds


def judge_time(library: str, context: Context) -> Findings:
    found = Findings()
    tokens, rounds = (4096, 3) if context.quick else (TOKENS, ROUNDS)
    ratios, waits = [], []
    for race in run_ranks(library, 2, "time", tokens, rounds)["races"]:
        counted = quiet(race["rounds"])
        ratios.append(median(one["ring_s"] / one["one_s"] for one in counted))
        waits.append(median(one["waiting"] for one in counted))
        label = f"{NAMES[library]}, {race['mask']} {race['pass']}"
        busy = max(one["others"] for one in counted)
        found.facts += [
            Fact(f"{label}, one process", 1e3 * median(one["one_s"] for one in counted), "ms"),
            Fact(f"{label}, two ranks", 1e3 * median(one["ring_s"] for one in counted), "ms"),
            Fact(f"{label}, taken by others meanwhile", 100 * busy, "%"),
        ]
    size = f"N {tokens:,}"
    found.figures += [
        Figure(f"{NAMES[library]}, time of 2 ranks / 1 process, {size}, the worst", max(ratios), 1.1, at_most=True),
        Figure(f"{NAMES[library]}, time waiting, {size}, the worst", 100 * max(waits), 10, unit="%", at_most=True),
    ]
    return found


def judge_memory(library: str, context: Context) -> Findings:
    found = Findings()
    tokens = TOKENS_OF_MEMORY // 8 if context.quick else TOKENS_OF_MEMORY
    size = {ranks: run_ranks(library, ranks, "memory", tokens)["bytes"] for ranks in RANKS_OF_MEMORY}
    for ranks in RANKS_OF_MEMORY:
        found.facts.append(Fact(f"{NAMES[library]}, memory of a rank of {ranks}", size[ranks] / 1e6, "MB"))
        if ranks > 1 and not context.quick:  # of little, what every process needs is a large part
            share = size[ranks] * ranks / size[1]
            name = f"{NAMES[library]}, memory of {ranks} ranks / 1 process, N {tokens:,}"
            found.figures.append(Figure(name, share, 1.25, at_most=True))
    return found


def measure(context: Context) -> Findings:
    found = Findings()
    for library in libraries():
        for part in (judge_time(library, context), judge_memory(library, context)):
            found.facts += part.facts
            found.figures += part.figures
    if not libraries():
        found.figures.append(Figure("time of 2 ranks / 1 process, no MPI library", None, 1.1, at_most=True))
    return found


TASK = Task("ring attention, 2 ranks x 1 thread against 1 process x 2 threads", extra=measure)
