"""Biases that depend on the distance j - i alone."""

from ._attnscope import DistanceBias


def distance_bias(table) -> DistanceBias:
    """A bias by distance, for attention(bias=...): table [H, N+M-1] (or one row for all heads), at j - i + N - 1.

    >>> import numpy as np, attnscope as at
    >>> q = k = v = np.eye(3, dtype=np.float32)
    >>> near = -np.abs(np.arange(-2, 3, dtype=np.float32))
    >>> dense = np.array([[near[j - i + 2] for j in range(3)] for i in range(3)])
    >>> np.allclose(at.attention(q, k, v, bias=at.distance_bias(near)), at.attention(q, k, v, bias=dense))
    True
    """
    return DistanceBias(table)
