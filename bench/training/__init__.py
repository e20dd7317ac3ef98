"""One step of tiny-gpt: forward, backward, clipping, AdamW."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np
import torch

from harness.contender import load_contenders
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task
from harness.turns import take_turns, times_faster

LAYERS, HEADS, WIDTH, POSITIONS, VOCABULARY = 4, 4, 128, 256, 4096
BATCH, LENGTH, RATE = 16, 256, 1e-3
CHILD = Path(__file__).parent.parent / "harness" / "training_child.py"


def make_ids() -> np.ndarray:
    return np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.int32)


def check(losses: dict[str, list[float]]) -> None:
    """Both begin with the same weights: the first steps must agree."""
    ours = losses["attnscope"]
    for name, theirs in losses.items():
        worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        if not worst < 1e-3:
            raise SystemExit(f"bench: the losses of the first steps differ from {name}'s by {worst}")


def memory(contender: str, threads: int) -> float | None:
    """MB, of a process of its own."""
    done = subprocess.run([sys.executable, str(CHILD), contender, str(threads)], capture_output=True, text=True)
    if done.returncode != 0:
        print(
            f"training: {contender} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", file=sys.stderr
        )
        return None
    return json.loads(done.stdout)["extra_mb"]


def measure(context: Context) -> Findings:
    import training

    contenders, _ = load_contenders(training)
    found = Findings()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        calls = {contender.key: contender.module.make(threads) for contender in contenders}
        check({name: [call() for _ in range(3)] for name, call in calls.items()})
        seconds = take_turns(calls, 3 if context.quick else 9)
        words = f"{threads} thread" + "s" * (threads > 1)
        for contender in contenders:
            found.facts.append(Fact(f"{contender.name}, {words}", 1e3 * median(seconds[contender.key]), "ms"))
        found.figures.append(
            Figure(f"PyTorch with SDPA, {words}", times_faster(seconds, "attnscope", "torch_plain"), 1.5)
        )
    ours, theirs = (memory(name, 2) for name in ("attnscope", "torch_plain"))
    found.facts += [
        Fact("memory of the steps, attnscope", ours, "MB"),
        Fact("memory of the steps, PyTorch", theirs, "MB"),
    ]
    share = None if not ours or not theirs else 100 * ours / theirs
    found.figures.append(Figure("memory, share of PyTorch's", share, 50, unit="%", at_most=True))
    return found


TASK = Task("a training step of tiny-gpt: 4 layers, 4 heads, width 128, 4,096 tokens", extra=measure)
