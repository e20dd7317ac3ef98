"""torch's fused kernel."""

from torch.nn.functional import scaled_dot_product_attention

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "torch SDPA"


def make(case: Case, x: Inputs) -> Call:
    return lambda: scaled_dot_product_attention(x.q, x.k, x.v)
