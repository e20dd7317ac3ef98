"""A problem to be solved, and the numbers that go in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

WINDOW = 256  # keys on each side


@dataclass(frozen=True)
class Case:
    """One problem. Cases that stand in one group are measured side by side, round by round."""

    b: int  # sequences
    h: int  # query heads
    n: int  # queries
    d: int  # width of a head
    g: int = 0  # key heads; 0: as many as query heads
    m: int = 0  # keys; 0: as many as queries
    rule: str = "everything"  # or "causal", "window"
    dtype: str = "float32"
    threads: int = 1
    weights: bool = False  # all weights are asked for, not the output alone

    @property
    def heads(self) -> int:
        return self.g or self.h

    @property
    def keys(self) -> int:
        return self.m or self.n

    @property
    def pairs(self) -> int:
        """Query and key pairs of one head that may be seen."""
        if self.rule == "causal":
            return self.n * (self.n + 1) // 2
        if self.rule == "window":
            reach = min(WINDOW, self.n - 1)
            return self.n + 2 * sum(self.n - step for step in range(1, reach + 1))
        return self.n * self.keys

    @property
    def attention_flops(self) -> float:
        """Two products over the visible pairs; the softmax is not counted."""
        return 4.0 * self.b * self.h * self.pairs * self.d

    @property
    def label(self) -> str:
        text = f"{self.b},{self.h},{self.n},{self.d}"
        if self.m:
            text = f"{self.h} heads on {self.heads}, {self.m:,} keys, D {self.d}"
        if self.rule != "everything":
            text += f" {self.rule}"
        if self.dtype != "float32":
            text += f" {self.dtype}"
        if self.weights:
            text += " with weights"
        if self.threads > 1:
            text += f" {self.threads} threads"
        return text

    def with_(self, **changes: object) -> Case:
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Inputs:
    q: torch.Tensor  # [B, H, N, D]
    k: torch.Tensor  # [B, G, M, D]
    v: torch.Tensor  # [B, G, M, D]


def make_inputs(case: Case) -> Inputs:
    """Normal numbers, the same for every contender and in every run."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(getattr(torch, case.dtype))

    keys = (case.b, case.heads, case.keys, case.d)
    return Inputs(normal(case.b, case.h, case.n, case.d), normal(*keys), normal(*keys))
