"""attnscope on torch tensors."""

import attnscope as at

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope, torch"


def make(case: Case, x: Inputs) -> Call:
    mask = None if case.rule == "everything" else at.mask(case.rule)
    return lambda: at.attention(x.q, x.k, x.v, mask=mask)
