"""From the shell to the first answer: `fill` on BERT-base, the program's start and the model's loading included."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from harness.figure import Fact, Figure, Findings
from harness.model import folder_of
from harness.probe import BUILD
from harness.task import Context, Task
from harness.turns import peak_memory, race, times_faster

TEXT = "The capital of France is [MASK]."
CHILD = Path(__file__).parent.parent / "harness" / "fill_child.py"


def measure(context: Context) -> Findings:
    folder = folder_of("bert-base-uncased")
    ours = [str(BUILD / "attnscope"), "fill", "--model", str(folder), "--text", TEXT]
    theirs = [sys.executable, str(CHILD), str(folder), TEXT]
    seconds = race({"attnscope": ours, "transformers": theirs}, 2 if context.quick else 5)
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    return Findings(
        facts=[
            Fact("attnscope fill", 1e3 * median(seconds["attnscope"]), "ms"),
            Fact("a Python program with transformers", 1e3 * median(seconds["transformers"]), "ms"),
        ],
        figures=[
            Figure("less wall time than with transformers", times_faster(seconds, "attnscope", "transformers"), 20),
            Figure("peak memory over the size of the weights' file", peak_memory(ours) / size, 1.3, at_most=True),
        ],
    )


TASK = Task("from the shell to the first answer, fill on BERT-base", extra=measure)
