"""The formula: torch's fused kernel cannot return weights."""

import torch

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "torch naive"


def make(case: Case, x: Inputs) -> Call | None:
    if not case.weights:
        return None
    scale = case.d**-0.5

    def call() -> "tuple[torch.Tensor, torch.Tensor]":
        weights = (x.q * scale @ x.k.transpose(-1, -2)).softmax(-1)
        return weights @ x.v, weights

    return call
