"""training_child.py CONTENDER THREADS - prints by how many MB model, optimiser and three steps raise this process' peak."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # bench/

import torch  # noqa: E402

from harness.memory_child import forget_peak, status_bytes  # noqa: E402


def main() -> None:
    contender, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    module = importlib.import_module(f"training.{contender}")
    x = torch.randn(64, 64)
    x @ x  # what is loaded or started once is not the model's
    forget_peak()
    before = status_bytes("VmRSS")
    step = module.make(threads)
    for _ in range(3):
        step()
    print(json.dumps({"extra_mb": (status_bytes("VmHWM") - before) / 1e6}))


if __name__ == "__main__":
    main()
