"""BERT-base, a whole forward pass on two threads, every attention recorded."""

from __future__ import annotations

from statistics import median

import numpy as np
import torch

from harness.contender import load_contenders
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task
from harness.turns import take_turns, times_faster

THREADS = 2
GOALS = {  # tokens: against transformers eager with attentions, against onnxruntime without
    16: ((3, 3.5), (1.3, 1.5)),
    128: ((1.8, 2), (1.1, 1.2)),
    512: ((1.3, 1.4), (1.0, 1.05)),
}


def make_ids(tokens: int) -> np.ndarray:
    return np.random.default_rng(0).integers(1000, 30000, tokens).astype(np.int32)


def check(outputs: dict[str, np.ndarray]) -> None:
    ours = outputs["attnscope"]
    for name, theirs in outputs.items():
        worst = float(np.abs(ours - theirs).max())
        if not worst < 1e-3:
            raise SystemExit(f"bench: hidden states of BERT-base differ from {name}'s by {worst}")


def measure(context: Context) -> Findings:
    import bert

    contenders, _ = load_contenders(bert)
    found = Findings()
    torch.set_num_threads(THREADS)
    for tokens, (eager_goals, onnx_goals) in GOALS.items():
        ids = make_ids(tokens)
        calls = {contender.key: contender.module.make(ids, THREADS) for contender in contenders}
        check({name: call() for name, call in calls.items()})
        seconds = take_turns(calls, 3 if context.quick else {16: 15, 128: 9, 512: 7}[tokens])
        for contender in contenders:
            found.facts.append(Fact(f"{contender.name}, {tokens} tokens", 1e3 * median(seconds[contender.key]), "ms"))
        found.figures += [
            Figure(
                f"transformers eager with attentions, {tokens} tokens",
                times_faster(seconds, "attnscope", "transformers_eager"),
                *eager_goals,
            ),
            Figure(
                f"onnxruntime without attentions, {tokens} tokens",
                times_faster(seconds, "attnscope", "onnxruntime"),
                *onnx_goals,
            ),
        ]
    return found


TASK = Task("BERT-base with every attention recorded, 2 threads", extra=measure)
