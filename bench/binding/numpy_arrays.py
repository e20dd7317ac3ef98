"""attnscope on numpy arrays."""

import attnscope as at
import torch

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "attnscope, numpy"


def make(case: Case, x: Inputs) -> Call:
    q, k, v = (t.numpy() for t in (x.q, x.k, x.v))
    mask = None if case.rule == "everything" else at.mask(case.rule)
    return lambda: at.attention(q, k, v, mask=mask)


def unpack(case: Case, result: object) -> torch.Tensor:
    return torch.from_numpy(result)
