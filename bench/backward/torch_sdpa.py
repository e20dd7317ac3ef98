"""torch's fused kernels and its autograd."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from backward import gradient_of_output
from harness.case import Case, Inputs
from harness.contender import Call

NAME = "torch SDPA"


def make(case: Case, x: Inputs) -> Call:
    causal = case.rule == "causal"
    with torch.inference_mode(False):
        q, k, v = (t.clone().requires_grad_() for t in (x.q, x.k, x.v))
        d_out = gradient_of_output(case)

    def call() -> tuple[torch.Tensor, ...]:
        with torch.inference_mode(False), torch.enable_grad():
            out = scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=case.heads != case.h)
            return torch.autograd.grad(out, (q, k, v), d_out)

    return call
