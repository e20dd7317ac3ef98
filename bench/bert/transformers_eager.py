"""transformers, which must be eager to return attentions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from transformers import AutoModel

from harness.model import folder_of

NAME = "transformers eager"


@cache
def model(implementation: str) -> torch.nn.Module:
    return AutoModel.from_pretrained(folder_of("bert-base-uncased"), attn_implementation=implementation).eval()


def make(ids: np.ndarray, threads: int, implementation: str = "eager") -> Callable[[], np.ndarray]:
    batch = torch.from_numpy(ids.astype(np.int64))[None]
    attentions = implementation == "eager"

    @torch.inference_mode()
    def call() -> np.ndarray:
        return model(implementation)(batch, output_attentions=attentions).last_hidden_state[0].numpy()

    return call
