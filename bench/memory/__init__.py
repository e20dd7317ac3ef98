"""65,536 tokens: how much memory a call takes beyond inputs and output. A table of weights would be 34 GB."""

import json
import os
import subprocess
import sys
from pathlib import Path

from harness.case import Case
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task

LONG = Case(1, 2, 65536, 64)
CHILD = Path(__file__).parent.parent / "harness" / "memory_child.py"


def growth(contender: str, case: Case) -> float | None:
    """MB. In a process of its own: a peak that was reached before cannot hide this one."""
    threads = len(os.sched_getaffinity(0))
    arguments = [sys.executable, str(CHILD), contender, str(case.n), str(threads)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"memory: {contender} failed: {last_line(done.stderr)}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["extra_mb"]


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def measure(context: Context) -> Findings:
    case = LONG.with_(n=8192) if context.quick else LONG
    name = f"memory beyond inputs and output, {case.label}"
    return Findings(
        facts=[Fact(f"{name}, torch SDPA", growth("torch_sdpa", case), "MB")],
        figures=[Figure(name, growth("attnscope", case), 64, unit="MB", at_most=True)],
    )


TASK = Task("memory, full attention, float32 (B,H,N,D)", extra=measure)
