"""recording_child.py CONTENDER TOKENS - prints by how many MB looking at a text raises this process' peak.

The model is a GPT-2 of 12 x 12 heads of width 64 with random weights, but with a small vocabulary and narrow inner
layers: they take memory and say nothing about attention. The process may have what is free now, less 1 GB: one that needs
more ends with an error instead of pushing others out.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # bench/

import torch  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

from harness.memory_child import forget_peak, status_bytes  # noqa: E402


def limit_memory() -> None:
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    resource.setrlimit(resource.RLIMIT_DATA, (max(2**30, 1024 * int(free.split()[1]) - 2**30),) * 2)


def main() -> None:
    contender, tokens = importlib.import_module(f"recording.{sys.argv[1]}"), int(sys.argv[2])
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=256, n_positions=tokens, n_inner=64, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    contender.look(model, torch.randint(256, (1, 16)))  # what is loaded or started once is not this text's
    ids = torch.randint(256, (1, tokens))
    limit_memory()
    forget_peak()
    before = status_bytes("VmRSS")
    contender.look(model, ids)
    print(json.dumps({"extra_mb": (status_bytes("VmHWM") - before) / 1e6}))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
