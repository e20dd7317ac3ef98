"""How much memory it takes to look at a text: all weights of 12 x 12 heads, of texts of 512 to 8,192 tokens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness.contender import load_contenders
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task

LENGTHS = (512, 2048, 8192)
CHILD = Path(__file__).parent.parent / "harness" / "recording_child.py"
PATIENCE = 900  # seconds; the memory that is left of the machine is the other limit


def peak(contender: str, tokens: int) -> tuple[float | None, str]:
    """MB beyond the model itself, in a process of its own; or none and why."""
    arguments = [sys.executable, str(CHILD), contender, str(tokens)]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, f"not done after {PATIENCE} s"
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["ended by the system"])[-1]
    return json.loads(done.stdout)["extra_mb"], ""


def measure(context: Context) -> Findings:
    import recording

    contenders, _ = load_contenders(recording)
    found = Findings()
    for tokens in LENGTHS[:1] if context.quick else LENGTHS:
        ours, theirs = None, None
        for contender in contenders:
            mb, why = peak(contender.key, tokens)
            label = f"{contender.name}, {tokens:,} tokens"
            found.facts.append(Fact(f"{label}: {why}" if why else label, mb, "MB"))
            ours = mb if contender.key == "attnscope" else ours
            theirs = mb if contender.key == "transformers_eager" else theirs
        if ours and theirs and tokens >= 2048:  # of shorter texts the layers themselves are the larger part
            label = f"memory, share of transformers eager's, {tokens:,} tokens"
            found.figures.append(Figure(label, 100 * ours / theirs, 10, unit="%", at_most=True))
    return found


TASK = Task("recording 12 x 12 heads of a random GPT-2: peak memory beyond the model", extra=measure)
