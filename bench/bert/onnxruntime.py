"""onnxruntime on BertModel exported to ONNX, without attentions, all graph optimisations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel

from harness.model import folder_of
from harness.probe import BUILD

import onnxruntime  # isort: skip

NAME = "onnxruntime, no attentions"


class Hidden(torch.nn.Module):
    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.bert(input_ids=ids).last_hidden_state


@cache
def exported(tokens: int) -> Path:
    path = BUILD / "bench" / "models" / f"bert-base-{tokens}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    bert = AutoModel.from_pretrained(folder_of("bert-base-uncased"), attn_implementation="eager")
    torch.onnx.export(
        Hidden(bert).eval(),
        (torch.zeros(1, tokens, dtype=torch.int64),),
        str(path),
        input_names=["ids"],
        output_names=["hidden"],
        dynamo=False,
    )
    return path


def make(ids: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(exported(len(ids))), options, providers=["CPUExecutionProvider"])
    feed = {"ids": ids.astype(np.int64)[None]}
    return lambda: session.run(None, feed)[0][0]
