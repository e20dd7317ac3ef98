"""page_child.py CONTENDER TOKENS FILE - makes what a browser is to show; prints how long that took.

attnscope writes a recording, the others their page. All look at the same text of the same model as recording_child.py:
a GPT-2 of 12 x 12 heads with random weights; of texts beyond 4,096 tokens one of 2 x 4 heads.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # bench/

import torch  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

from harness.recording_child import limit_memory  # noqa: E402

LONG = 4096


def model_for(tokens: int) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    size = {"n_embd": 128, "n_layer": 2, "n_head": 4} if tokens > LONG else {}
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=256, n_positions=tokens, n_inner=64, attn_implementation="eager", **size)
    ).eval()


def record(model: GPT2LMHeadModel, ids: torch.Tensor, file: str) -> None:
    import attnscope as at

    with at.record(model) as recording:
        model(input_ids=ids, logits_to_keep=1, use_cache=False)
    recording.save(file)


def main() -> None:
    contender, tokens, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    model = model_for(tokens)
    ids = torch.randint(256, (1, tokens))
    limit_memory()
    if contender == "attnscope":
        start = time.perf_counter()
        record(model, ids, file)
    else:
        page = importlib.import_module(f"page.{contender}").page
        attentions = model(input_ids=ids, logits_to_keep=1, use_cache=False, output_attentions=True).attentions
        start = time.perf_counter()
        Path(file).write_text(page(attentions, [f"t{i}" for i in range(tokens)]))
    print(json.dumps({"seconds": time.perf_counter() - start, "mb": Path(file).stat().st_size / 1e6}))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
