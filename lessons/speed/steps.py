"""Speed, in Python."""

import time

import attnscope as at
import numpy as np

# [race]
x = np.random.default_rng(0).standard_normal((8, 1, 1024, 64), dtype=np.float32)


def naive(q, k, v):
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(np.float32(q.shape[-1]))  # a table of n x n
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ v


def milliseconds(attend, runs=3):
    attend(x, x, x)  # the first run does not count
    start = time.perf_counter()
    for _ in range(runs):
        attend(x, x, x)
    return (time.perf_counter() - start) / runs * 1e3


times = {way.__name__: milliseconds(way) for way in (naive, at.attention, at.linear_attention)}

# [memory]
lengths = np.array([256, 1024, 4096, 16384, 65536])
megabytes = np.array([lengths * lengths * 4, lengths * 64 * 4]) / 2**20  # the table, and Q

# [parts]
scores, values = np.array([1.0, 3, 2, 5, 0, 4]), np.array([10.0, 20, 30, 40, 50, 60])
peak, total, mixed = -np.inf, 0.0, 0.0
kept = []
for first in range(0, 6, 2):
    part, of_part = scores[first : first + 2], values[first : first + 2]
    new = max(peak, part.max())
    shrink = np.exp(peak - new)
    total = total * shrink + np.exp(part - new).sum()
    mixed = mixed * shrink + np.exp(part - new) @ of_part
    peak = new
    kept.append([peak, total, mixed, mixed / total])

# [same]
np.random.seed(42)
q, k, v = (np.random.randn(64, 16).astype(np.float32) for _ in range(3))
output_start = at.attention(q, k, v)[0]

# []
np.testing.assert_allclose(output_start, naive(q, k, v)[0], atol=1e-5)
assert all(took > 0 for took in times.values())
