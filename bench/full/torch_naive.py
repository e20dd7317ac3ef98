"""The formula, as tutorials write it: the form that has the weights."""

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "torch naive"


def make(case: Case, x: Inputs) -> Call | None:
    if case.n > 8192:
        return None  # its tables would take gigabytes

    scale = case.d**-0.5
    return lambda: (x.q * scale @ x.k.transpose(-1, -2)).softmax(-1) @ x.v
