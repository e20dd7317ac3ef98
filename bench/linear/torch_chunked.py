"""torch, causal, by chunks: within a chunk as attention, from earlier chunks as one state. Its best form."""

import torch
from torch.nn.functional import elu

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "torch chunked"
CHUNK = 128  # 64 and 256 are slower


def make(case: Case, x: Inputs) -> Call | None:
    if case.rule != "causal":
        return None
    chunked = (case.b, case.h, case.n // CHUNK, CHUNK, case.d)

    def call() -> torch.Tensor:
        q, k, v = ((elu(x.q) + 1).view(chunked), (elu(x.k) + 1).view(chunked), x.v.view(chunked))
        inside = (q @ k.transpose(-1, -2)).tril_()
        state, total = before(k.transpose(-1, -2) @ v), before(k.sum(-2).unsqueeze(-1))
        out = inside @ v + q @ state
        return (out / (inside.sum(-1, keepdim=True) + q @ total)).view(x.v.shape)

    return call


def before(chunks: torch.Tensor) -> torch.Tensor:
    """The sum of the chunks before each one."""
    return chunks.cumsum(2) - chunks
