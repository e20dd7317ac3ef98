"""FlexAttention with a sliding-window block mask: the honest opponent, it skips what is forbidden."""

from harness.case import WINDOW, Case, Inputs
from harness.contender import Call
from peers import flex_attention
from peers.flex_attention import NAME

__all__ = ["NAME", "make"]


def make(case: Case, x: Inputs) -> Call | None:
    return flex_attention.make(case, x, lambda b, h, i, j: (i - j).abs() <= WINDOW)
