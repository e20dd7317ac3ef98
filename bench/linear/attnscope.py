"""attnscope's linear attention."""

import attnscope as at

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope"


def make(case: Case, x: Inputs) -> Call:
    return lambda: at.linear_attention(x.q, x.k, x.v, causal=case.rule == "causal")
