#!/usr/bin/env python3
"""Makes backward.golden: gradients of attention by torch's autograd, for tests/attn/backward_golden_test.cc.

    python tests/golden/make_backward.py            (needs torch and numpy; writes the file beside itself)

Inputs are not stored; both sides make them as make_attention.py says. A case with seed c takes q, k, v from the streams
10c+1, 10c+2, 10c+3, the gradient of the output from 10c+4, the bias by distance from 10c+5 and the sink from 10c+6. All
arithmetic is float64.

The file is text. A case is a line `name key=value ...`, followed by a line for each gradient: its name and its numbers
in order. Keys: seed, B H G N M D E, softcap, bias (rows of the table: 0, 1 or H), sink (0, 1), scale (0: the default)
and mask, as parse_mask reads it; and feature (none: softmax attention; elu, relu), where a mask of causal is linear
attention's own.
"""
import math
import pathlib

import numpy as np
import torch

from make_attention import bell

DEFAULTS = dict(seed=0, B=1, H=2, G=2, N=13, M=13, D=8, E=8, scale=0.0, softcap=0.0, bias=0, sink=0, mask="everything",
                feature="none")
MASKS = {
    "everything": lambda i, j: j >= 0,
    "causal": lambda i, j: j <= i,
    "causal(-3)": lambda i, j: j <= i - 3,
    "window(5,2)": lambda i, j: (j >= i - 5) & (j <= i + 2),
    "block(8)": lambda i, j: i // 8 == j // 8,
}
CASES = {
    "full": {},
    "cross_with_wide_values": dict(B=2, N=5, M=29, D=8, E=20),
    "more_than_a_tile": dict(H=1, G=1, N=30, M=70, D=4, E=4),
    "causal": dict(N=27, M=27, mask="causal"),
    "rows_that_see_nothing": dict(N=10, M=10, mask="causal(-3)"),
    "window_grouped": dict(H=4, G=2, N=20, M=24, mask="window(5,2)"),
    "block_one_key_head": dict(H=3, G=1, N=20, M=20, mask="block(8)"),
    "softcap": dict(N=15, M=22, scale=1.0, softcap=3.0),
    "bias": dict(N=15, M=18, bias=2, mask="causal"),
    "bias_of_all_heads": dict(B=2, N=9, M=12, bias=1, softcap=5.0),
    "sink": dict(H=4, G=2, N=14, M=14, sink=1, mask="causal"),
    "everything_at_once": dict(B=2, H=4, G=2, N=17, M=19, D=5, E=7, scale=0.7, softcap=4.0, bias=4, sink=1,
                               mask="window(5,2)"),
    "linear_elu": dict(B=2, N=19, M=33, D=8, E=6, feature="elu"),
    "linear_elu_causal_grouped": dict(H=4, N=30, M=30, D=8, E=6, feature="elu", mask="causal"),
    "linear_relu_causal": dict(H=1, G=1, N=110, M=110, D=6, E=4, feature="relu", mask="causal"),
}


def linear_weights(c, q, k):
    phi = {"elu": lambda x: torch.nn.functional.elu(x) + 1, "relu": torch.nn.functional.relu}[c["feature"]]
    table = phi(q) @ phi(k).transpose(-1, -2)
    if c["mask"] == "causal":
        table = torch.tril(table)
    return table / (table.sum(-1, keepdim=True) + 1e-2)  # large enough for rows that relu makes nearly nothing of


def gradients(c):
    s, share = 10 * c["seed"], c["H"] // c["G"]
    shapes = (c["B"], c["H"], c["N"], c["D"]), (c["B"], c["G"], c["M"], c["D"]), (c["B"], c["G"], c["M"], c["E"])
    q, k, v = (bell(s + 1 + n, shape).requires_grad_() for n, shape in enumerate(shapes))
    d_out = bell(s + 4, (c["B"], c["H"], c["N"], c["E"]))
    i, j = torch.arange(c["N"])[:, None], torch.arange(c["M"])[None, :]
    leaves = dict(dq=q, dk=k, dv=v)
    if c["feature"] != "none":
        out = linear_weights(c, q, k.repeat_interleave(share, 1)) @ v.repeat_interleave(share, 1)
        return dict(zip(leaves, torch.autograd.grad(out, list(leaves.values()), d_out)))
    scores = (c["scale"] or 1 / math.sqrt(c["D"])) * q @ k.repeat_interleave(share, 1).transpose(-1, -2)
    if c["softcap"]:
        scores = c["softcap"] * torch.tanh(scores / c["softcap"])
    if c["bias"]:
        bias = leaves["d_bias"] = bell(s + 5, (c["bias"], c["N"] + c["M"] - 1)).requires_grad_()
        scores = scores + bias[:, j - i + c["N"] - 1]
    allowed = MASKS[c["mask"]](i, j) & (i >= 0)
    scores = scores.masked_fill(~allowed, -1e300)  # a row of nothing but -inf would be NaN
    if c["sink"]:
        sink = leaves["d_sink"] = bell(s + 6, (c["H"],)).requires_grad_()
        scores = torch.cat([scores, sink[None, :, None, None].expand(c["B"], c["H"], c["N"], 1)], -1)
    weights = torch.softmax(scores, -1)[..., : c["M"]] * allowed
    out = weights @ v.repeat_interleave(share, 1)
    return dict(zip(leaves, torch.autograd.grad(out, list(leaves.values()), d_out)))


def main():
    path = pathlib.Path(__file__).with_name("backward.golden")
    with path.open("w") as file:
        for seed, (name, given) in enumerate(CASES.items()):
            c = DEFAULTS | given | dict(seed=seed + 201)
            file.write(" ".join([name] + [f"{key}={value}" for key, value in c.items()]) + "\n")
            for key, gradient in gradients(c).items():
                assert not gradient.isnan().any(), name
                file.write(key + "".join(f" {x:.7g}" for x in gradient.flatten().tolist()) + "\n")
    print(f"{path.name}: {len(CASES)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    with np.errstate(over="ignore"):
        main()
