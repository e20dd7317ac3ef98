"""attnscope, with and without the table."""

import attnscope as at

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope"


def make(case: Case, x: Inputs) -> Call:
    if not case.weights:
        return lambda: at.attention(x.q, x.k, x.v)
    return lambda: at.attention(x.q, x.k, x.v, return_weights=True)
