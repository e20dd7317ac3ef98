"""FlexAttention with a causal block mask."""

from harness.case import Case, Inputs
from harness.contender import Call
from peers import flex_attention
from peers.flex_attention import NAME

__all__ = ["NAME", "make"]


def make(case: Case, x: Inputs) -> Call | None:
    return flex_attention.make(case, x, lambda b, h, i, j: j <= i)
