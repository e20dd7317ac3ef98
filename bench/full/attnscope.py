"""attnscope, fused: no table of weights."""

import attnscope as at

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope"


def make(case: Case, x: Inputs) -> Call:
    return lambda: at.attention(x.q, x.k, x.v)
