"""Positions, in Python."""

import attnscope as at
import numpy as np

# [order]
X = np.array([[1, 0, 0.5, 0.2], [0, 1, 0.3, 0.8], [0.6, 0.4, 1, 0]], np.float32)  # 我 爱 你
output = at.attention(X, X, X)
other = np.ascontiguousarray(X[::-1])  # 你 爱 我
other_output = at.attention(other, other, other)  # the same rows in the other order

# [sinusoidal]
n, d = 16, 16
angles = np.arange(n)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
waves = np.empty((n, d))
waves[:, 0::2], waves[:, 1::2] = np.sin(angles), np.cos(angles)
wave_dots = waves @ waves.T

# [rope]
np.random.seed(42)
q, k = np.random.randn(d), np.random.randn(d)


def turn(x):
    """x at every position: the pair of number j and number j + d/2 turns by position * frequency[j]."""
    a, b = x[: d // 2], x[d // 2 :]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], axis=1)


rope_dots = turn(q) @ turn(k).T  # depends on j - i alone

# [relative]
bias = at.alibi(heads=8, queries=n, keys=n)  # for attention(..., bias=bias)

# []
assert np.ptp(np.diagonal(rope_dots, 4)) < 1e-12
