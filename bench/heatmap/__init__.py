"""Figures: from the shell to a PNG of one head of BERT-base, and large pictures from tables."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from harness.figure import Fact, Figure, Findings
from harness.model import folder_of
from harness.probe import BUILD
from harness.task import Context, Task
from harness.turns import race, times_faster

TEXT = "The quick brown fox jumps over the lazy dog."
CHILD = Path(__file__).parent.parent / "harness" / "heatmap_child.py"
PROGRAM = str(BUILD / "attnscope")


def random_table(folder: Path, tokens: int) -> Path:
    """Softmax of random scores, as a file for `--table`."""
    scores = np.exp(3 * np.random.default_rng(0).standard_normal((tokens, tokens), np.float32))
    file = folder / f"{tokens}.npy"
    np.save(file, scores / scores.sum(-1, keepdims=True))
    return file


def measure(context: Context) -> Findings:
    rounds = 2 if context.quick else 5
    model = folder_of("bert-base-uncased")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = [
            PROGRAM,
            "heatmap",
            "--model",
            str(model),
            "--text",
            TEXT,
            "--layer",
            "5",
            "--head",
            "0",
            "--cmap",
            "Blues",
        ]
        ours += ["-o", str(folder / "ours.png")]
        theirs = [sys.executable, str(CHILD), str(model), TEXT, str(folder / "theirs.png")]
        seconds = race({"attnscope": ours, "seaborn": theirs}, rounds)
        svg, png = folder / "512.svg", folder / "2048.png"
        drawing = {
            "svg": [PROGRAM, "heatmap", "--table", str(random_table(folder, 512)), "-o", str(svg)],
            "png": [PROGRAM, "heatmap", "--table", str(random_table(folder, 2048)), "-o", str(png)],
        }
        drawn = race(drawing, rounds)
        size = svg.stat().st_size
    return Findings(
        facts=[
            Fact("attnscope heatmap, text to PNG", 1e3 * median(seconds["attnscope"]), "ms"),
            Fact("a Python program with transformers and seaborn", 1e3 * median(seconds["seaborn"]), "ms"),
        ],
        figures=[
            Figure(
                "less wall time than with transformers and seaborn", times_faster(seconds, "attnscope", "seaborn"), 20
            ),
            Figure("SVG of 512 x 512, the whole program", 1e3 * median(drawn["svg"]), 200, unit="ms", at_most=True),
            Figure("SVG of 512 x 512, the file", size / 1e3, 1000, unit="kB", at_most=True),
            Figure("PNG of 2,048 x 2,048, the whole program", 1e3 * median(drawn["png"]), 500, unit="ms", at_most=True),
        ],
    )


TASK = Task("from the shell to a figure, one head of BERT-base", extra=measure)
