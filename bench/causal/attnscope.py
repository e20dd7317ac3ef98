"""attnscope, fused; what the mask forbids is not computed."""

import attnscope as at

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope"


def make(case: Case, x: Inputs) -> Call:
    causal = at.causal()
    return lambda: at.attention(x.q, x.k, x.v, mask=causal)
