"""FlexAttention, compiled for the case's shape and mask: 10 to 25 seconds each, before anything is timed."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "FlexAttention"

# (b, h, i, j) -> may query i see key j
Rule = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

# Compiling takes longer than all the rounds: only where it is an opponent worth the wait.
LENGTHS = (2048, 8192)


def make(case: Case, x: Inputs, rule: Rule | None = None) -> Call | None:
    if case.n not in LENGTHS or case.b > 1 or "BENCH_NO_COMPILE" in os.environ:
        return None
    torch.compiler.reset()  # else the next shape is compiled as "any shape", which is slower
    compiled = torch.compile(flex_attention, dynamic=False)
    block_mask = rule and create_block_mask(rule, None, None, case.n, case.n, device="cpu")
    return lambda: compiled(x.q, x.k, x.v, block_mask=block_mask)
