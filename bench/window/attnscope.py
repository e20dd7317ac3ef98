"""attnscope, fused; what the mask forbids is not computed."""

import attnscope as at

from harness.case import WINDOW, Case, Inputs
from harness.contender import Call

NAME = "attnscope"


def make(case: Case, x: Inputs) -> Call:
    window = at.window(WINDOW)
    return lambda: at.attention(x.q, x.k, x.v, mask=window)
