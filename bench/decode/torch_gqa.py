"""torch's fused kernel, told that heads share keys."""

from torch.nn.functional import scaled_dot_product_attention

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "SDPA enable_gqa"


def make(case: Case, x: Inputs) -> Call:
    return lambda: scaled_dot_product_attention(x.q, x.k, x.v, enable_gqa=True)
