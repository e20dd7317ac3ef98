"""stories15M, greedy, a hundred tokens from a short prompt on two threads: reading the weights once a token."""

from __future__ import annotations

from statistics import median

import numpy as np
import torch

from harness.figure import Fact, Figure, Findings, share
from harness.model import Model, folder_of
from harness.task import Context, Task
from harness.turns import take_turns, times_faster

THREADS = 2
PROMPT = np.array([1, 9038, 2501, 263, 931], np.int32)  # "Once upon a time"
TOKENS = 100


def measure(context: Context) -> Findings:
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(THREADS)
    folder = folder_of("stories15M")
    theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
    ours = Model(folder, theirs.config.hidden_size, THREADS)
    batch = torch.from_numpy(PROMPT.astype(np.int64))[None]

    @torch.inference_mode()
    def their_call() -> np.ndarray:
        out = theirs.generate(batch, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False, pad_token_id=0)
        return out[0, len(PROMPT) :].numpy()

    if list(ours.generate(PROMPT, TOKENS)) != list(their_call()):
        raise SystemExit("bench: greedy tokens differ from transformers'")
    weights = sum(p.numel() for p in theirs.parameters()) * 4  # the tied embedding is read once, as the output layer
    numbers = np.ones(weights // 4, np.float32)
    calls = {
        "attnscope": lambda: ours.generate(PROMPT, TOKENS),
        "transformers": their_call,
        "read": lambda: ours.plain_read(numbers),
    }
    seconds = take_turns(calls, 3 if context.quick else 9)
    made = [TOKENS / s for s in seconds["attnscope"]]
    at_best = [TOKENS * r / s for r, s in zip(seconds["read"], seconds["attnscope"], strict=True)]
    return Findings(
        facts=[
            Fact("tokens a second", median(made), "n"),
            Fact("tokens a second, transformers", median(TOKENS / s for s in seconds["transformers"]), "n"),
            Fact("plain read of the weights", weights / 1e9 / median(seconds["read"]), "GB/s"),
        ],
        figures=[
            Figure("transformers", times_faster(seconds, "attnscope", "transformers"), 3),
            share("share of reading the weights once per token", median(at_best), 70),
        ],
    )


TASK = Task("stories15M, greedy decoding, 2 threads", extra=measure)
