#!/usr/bin/env python3
"""Makes attention.golden: what torch says about attention, for tests/attn/*_golden_test.cc to compare with.

    python tests/golden/make_attention.py            (needs torch and numpy; writes the file beside itself)

Inputs are not stored. Both sides make them from whole numbers: stream s, element n (counted in a dense array) is the sum
of the four 16-bit parts of SplitMix64((s << 32) + n), minus 131070, over 32768: exact in float32, in [-4, 4]. A case
with seed c takes q, k, v from the streams 10c+1, 10c+2, 10c+3, its mask or bias from 10c+4 and its sink from 10c+6.

All arithmetic is float64, on inputs rounded to the case's type first, and the results are stored as float32.

The file is a row of records. Each one is a line of text, then raw little-endian float32:

    name key=value key=value ...\n   out [B, H, N, E]   and, unless kind=linear, lse [B, H, N]

Keys: kind (softmax, linear), seed, B H G N M D E, type (float32, float16, bfloat16), scale, softcap, sink (0, 1), feature,
causal (0, 1) and mask: everything; causal; table, tables, rows (true where the hash mod 4 is not 0; [N, M], [B, H, N, M], and
[N, M] with all of row 0 false); additive (by hash mod 8: 0 -inf, 1 the lowest float32, 2 -1e9, else half of the
stream's value; [N, M]); alibi (slope 2^(-8 (h+1) / H), bias -slope |i - j|).
"""
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

LOWEST = float(np.finfo(np.float32).min)
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
DEFAULTS = dict(kind="softmax", seed=0, B=1, H=2, G=2, N=13, M=13, D=16, E=16, type="float32", scale=0.0, softcap=0.0,
                sink=0, feature="none", causal=0, mask="everything")


def hashes(stream, shape):
    x = (np.uint64(stream) << np.uint64(32)) + np.arange(math.prod(shape), dtype=np.uint64)
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).reshape(shape)


def bell(stream, shape):
    x = hashes(stream, shape)
    parts = sum(((x >> np.uint64(16 * s)) & np.uint64(0xFFFF)).astype(np.int64) for s in range(4))
    return torch.from_numpy((parts - 131070) / 32768.0)


def inputs(c):
    s = 10 * c["seed"]
    shapes = [(c["B"], c["H"], c["N"], c["D"]), (c["B"], c["G"], c["M"], c["D"]), (c["B"], c["G"], c["M"], c["E"])]
    return [bell(s + 1 + n, shape).to(TYPES[c["type"]]) for n, shape in enumerate(shapes)]


def additive_mask(c):
    """The mask as numbers to add to the scores, broadcast to [B, H, N, M]; None for everything."""
    stream, b, h, n, m = 10 * c["seed"] + 4, c["B"], c["H"], c["N"], c["M"]
    zero, never = torch.tensor(0.0, dtype=torch.float64), torch.tensor(-math.inf, dtype=torch.float64)
    i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
    if c["mask"] == "everything":
        return None
    if c["mask"] == "causal":
        return torch.where(j <= i, zero, never)
    if c["mask"] == "alibi":
        slopes = torch.tensor([2.0 ** (-8.0 * (head + 1) / h) for head in range(h)], dtype=torch.float64)
        return -slopes[None, :, None, None] * (i - j).abs()
    if c["mask"] == "additive":
        kind, value = torch.from_numpy((hashes(stream, (n, m)) % np.uint64(8)).astype(np.int64)), 0.5 * bell(stream, (n, m))
        for code, special in enumerate([-math.inf, LOWEST, -1e9]):
            value = torch.where(kind == code, torch.tensor(special, dtype=torch.float64), value)
        return value
    shape = (b, h, n, m) if c["mask"] == "tables" else (n, m)
    allowed = torch.from_numpy(hashes(stream, shape) % np.uint64(4) != np.uint64(0))
    if c["mask"] == "rows":
        allowed[0] = False
    return torch.where(allowed, zero, never)


def softmax_case(c):
    q, k, v = (x.double() for x in inputs(c))
    scale = c["scale"] or 1 / math.sqrt(c["D"])
    mask, gqa = additive_mask(c), c["H"] != c["G"]
    scores = scale * q @ k.repeat_interleave(c["H"] // c["G"], 1).transpose(-1, -2)
    if c["softcap"]:
        scores = c["softcap"] * torch.tanh(scores / c["softcap"])
    if mask is not None:
        scores = scores + mask
    if c["sink"]:
        sink = bell(10 * c["seed"] + 6, (c["H"],))[None, :, None, None].expand(c["B"], c["H"], c["N"], 1)
        scores = torch.cat([scores, sink], -1)
    lse = torch.logsumexp(scores, -1)
    if c["sink"] or c["softcap"]:  # the two that scaled_dot_product_attention has not
        out = torch.softmax(scores, -1)[..., : c["M"]] @ v.repeat_interleave(c["H"] // c["G"], 1)
    elif c["mask"] == "causal":
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=gqa)
    elif c["mask"] in ("table", "tables", "rows"):
        out = F.scaled_dot_product_attention(q, k, v, mask == 0, scale=scale, enable_gqa=gqa)
    else:
        out = F.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=gqa)
    return [out, lse]


def linear_case(c):
    q, k, v = (x.double() for x in inputs(c))
    phi = {"elu": lambda x: F.elu(x) + 1, "relu": F.relu}[c["feature"]]
    k, v = (x.repeat_interleave(c["H"] // c["G"], 1) for x in (k, v))
    table = phi(q) @ phi(k).transpose(-1, -2)
    if c["causal"]:
        table = torch.tril(table)
    return [table @ v / (table.sum(-1, keepdim=True) + 1e-6)]


CASES = {
    "full": {},
    "full_long": dict(H=1, G=1, N=70, M=131, D=8, E=8),
    "cross_with_wide_values": dict(B=2, N=5, M=29, D=24, E=40),
    "odd_widths": dict(N=17, M=19, D=13, E=7),
    "one_query": dict(B=2, H=4, G=4, N=1, M=67, D=32, E=32),
    "scaled": dict(scale=0.5),
    "causal": dict(N=27, M=27, mask="causal"),
    "causal_more_keys": dict(N=9, M=21, mask="causal"),
    "bool_mask": dict(N=21, M=33, mask="table"),
    "bool_mask_a_head": dict(B=2, N=11, M=18, mask="tables"),
    "row_that_sees_nothing": dict(N=6, M=9, mask="rows"),
    "float_mask": dict(N=21, M=70, mask="additive"),
    "grouped_heads": dict(B=2, H=6, G=2, N=9, M=14),
    "one_key_head": dict(H=4, G=1, N=12, M=12, mask="causal"),
    "bfloat16": dict(N=20, M=20, D=32, E=32, type="bfloat16"),
    "bfloat16_causal": dict(N=20, M=20, D=32, E=32, type="bfloat16", mask="causal"),
    "float16": dict(N=20, M=20, D=32, E=32, type="float16"),
    "float16_grouped": dict(H=4, G=2, N=3, M=66, D=64, E=64, type="float16"),
    "alibi": dict(H=4, G=4, N=15, M=15, mask="alibi"),
    "alibi_one_query": dict(H=4, G=4, N=1, M=40, mask="alibi"),
    "softcap": dict(N=15, M=22, scale=1.0, softcap=5.0),
    "softcap_causal": dict(N=20, M=20, scale=2.0, softcap=30.0, mask="causal"),
    "sink": dict(H=4, G=2, N=14, M=14, D=16, E=16, sink=1, mask="causal"),
    "sink_everything": dict(H=3, G=3, N=5, M=70, sink=1),
    "linear_elu": dict(kind="linear", feature="elu", N=19, M=33, D=16, E=24),
    "linear_elu_causal": dict(kind="linear", feature="elu", N=70, M=70, D=8, E=8, causal=1),
    "linear_relu_causal_grouped": dict(kind="linear", feature="relu", H=4, N=20, M=20, D=16, E=8, causal=1),
}


def main():
    path = pathlib.Path(__file__).with_name("attention.golden")
    with path.open("wb") as file:
        for seed, (name, given) in enumerate(CASES.items()):
            c = DEFAULTS | given | dict(seed=seed + 1)
            results = linear_case(c) if c["kind"] == "linear" else softmax_case(c)
            assert not any(x.isnan().any() for x in results), name
            file.write((" ".join([name] + [f"{key}={value}" for key, value in c.items()]) + "\n").encode())
            for x in results:
                file.write(x.float().contiguous().numpy().astype("<f4").tobytes())
    print(f"{path.name}: {len(CASES)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    with np.errstate(over="ignore"):
        main()
