"""Biases that depend on the distance j - i alone."""

from typing import Any

from . import _attnscope
from ._masks import _integer


class DistanceBias:
    """A bias that depends on j - i alone: see distance_bias(), alibi(), t5_bias() and clamped_relative().

    ``table`` is [H, N+M-1]; the bias of query i and key j is at index j - i + N - 1.
    """

    __slots__ = ("table",)

    def __init__(self, table: Any) -> None:
        self.table = table


def distance_bias(table: Any) -> DistanceBias:
    """Makes a bias by distance for attention(bias=...) from a table [H, N+M-1], or [N+M-1] for all heads.

    The bias of query i and key j is at index j - i + N - 1.

    >>> import numpy as np, attnscope as at
    >>> q = k = v = np.eye(3, dtype=np.float32)
    >>> near = -np.abs(np.arange(-2, 3, dtype=np.float32))
    >>> dense = np.array([[near[j - i + 2] for j in range(3)] for i in range(3)])
    >>> np.allclose(at.attention(q, k, v, bias=at.distance_bias(near)), at.attention(q, k, v, bias=dense))
    True
    """
    return DistanceBias(table)


def _positions(queries, keys, query_offset):
    return _integer(queries, "queries"), _integer(keys, "keys"), _integer(query_offset, "query_offset")


def alibi(heads: int, queries: int, keys: int, query_offset: int = 0) -> DistanceBias:
    """Makes the ALiBi bias -slope[h] |i - j| (Press, Smith, Lewis: Train Short, Test Long, ICLR 2022).

    Query i has position i + query_offset: with a cache, pass the number of keys that are older than the queries.

    >>> import attnscope as at
    >>> at.alibi(heads=8, queries=1, keys=4, query_offset=3).table[0]
    array([-1.5, -1. , -0.5, -0. ], dtype=float32)
    """
    return DistanceBias(_attnscope.alibi(_integer(heads, "heads"), _positions(queries, keys, query_offset)))


def t5_bias(
    table: Any, queries: int, keys: int, query_offset: int = 0, *, bidirectional: bool = True, max_distance: int = 128
) -> DistanceBias:
    """Looks up a T5 model's table [buckets, H] by the bucket of each distance (Raffel et al., JMLR 2020).

    >>> import numpy as np, attnscope as at
    >>> bias = at.t5_bias(np.arange(32, dtype=np.float32)[:, None], queries=3, keys=3)
    >>> bias.table
    array([[ 2.,  1.,  0., 17., 18.]], dtype=float32)
    """
    positions = _positions(queries, keys, query_offset)
    max_distance = _integer(max_distance, "max_distance")
    return DistanceBias(_attnscope.t5_bias(table, positions, bool(bidirectional), max_distance))


def clamped_relative(table: Any, queries: int, keys: int, query_offset: int = 0) -> DistanceBias:
    """Makes a bias from a table [2 R + 1, H] with one row per distance j - i, from -R to R; others are clamped to it.

    >>> import numpy as np, attnscope as at
    >>> at.clamped_relative(np.array([[-1.0], [0.0], [1.0]]), queries=3, keys=3).table
    array([[-1., -1.,  0.,  1.,  1.]], dtype=float32)
    """
    return DistanceBias(_attnscope.clamped_relative(table, _positions(queries, keys, query_offset)))
