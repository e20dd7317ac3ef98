"""Masks: which query may see which key."""

import operator
from typing import Any

from . import _attnscope
from ._attnscope import Mask, Plan
from ._mask_arguments import _argument, _argument_for, _causal_bias, _ids, _integer, _integers, _table, _to_numpy


def mask(rule: Any, axes: str | None = None) -> Mask:
    """Makes a mask from text or from a table.

    In a table of bool, True means visible. A table of floats is added to the scores; a value at or below -1e9, or the
    lowest of its dtype, forbids. The axes are ``"M"``, ``"NM"``, ``"HNM"`` or ``"BHNM"``, by their number, unless
    ``axes`` names them, such as ``"BM"`` or ``"BNM"``. An axis B, H or N of length 1 broadcasts.

    (A table passed as ``attention(mask=table)`` is read in the same way, as in torch and ONNX, and M may be 1 too. A
    table [B,M] is taken for padding if it cannot be [N,M]. One table per sequence is [B,1,N,M].) torch's CausalBias
    becomes causal().

    Raises ValueError for text that is not a mask, or axes that do not fit the table; TypeError for a table of integers.

    >>> import numpy as np, attnscope as at
    >>> at.mask("causal & window(256)")
    attnscope.mask('causal & window(256)')
    >>> at.mask(np.array([[True, True], [False, True]]))
    attnscope.mask('table(11,01)')
    >>> at.mask(np.array([[True, False], [True, True]]), axes="BM").table(2, 1, 1, 2).tolist()
    [[[[True, False]]], [[[True, True]]]]
    >>> at.mask("causal & windw(256)")
    Traceback (most recent call last):
        ...
    ValueError: ...
    """
    if isinstance(rule, str):
        return _attnscope.parse_mask(rule)
    if isinstance(rule, Mask):
        return rule
    if callable(rule):
        raise TypeError("a mask function needs sizes: pass it to attention(mask=...), or to plan() with B, H, N and M")
    by_torch = _causal_bias(rule, None)
    if by_torch is not None:
        return by_torch
    table = _table(rule)
    if axes is None:
        if not 1 <= table.ndim <= 4:
            raise ValueError(f"a mask table has 1 to 4 axes, not {table.ndim}")
        axes = "BHNM"[-table.ndim :]
    return _attnscope.mask_of_axes(table, axes)


def causal(offset: Any = 0) -> Mask:
    """Lets query i see key j if j <= i + offset.

    With a cache, offset is the number of keys that are older than the queries: len(cache) - N. Sequences whose caches
    differ have one offset each: causal([3, 5]).

    >>> import attnscope as at
    >>> print(at.causal().draw(3, 3))
    ■ · ·
    ■ ■ ·
    ■ ■ ■
    >>> at.causal([1, -1]).table(2, 1, 2, 3)[1, 0].astype(int)
    array([[0, 0, 0],
           [1, 0, 0]])
    """
    if hasattr(offset, "__index__") and not getattr(offset, "ndim", 0):
        return _attnscope.causal(_integer(offset, "offset"))
    return _attnscope.causal_per_sequence(_integers(offset, "offset"))


def _shifted_window(sides, offset):
    """Returns a window around i + offset, one number or one per sequence, as two causal masks."""
    shifts = _integers(offset, "offset")
    parts = []
    for side, sign in zip(sides, (-1, 1)):
        if side is not None:
            edge = [shift + sign * _integer(side, "window") - (sign < 0) for shift in shifts]
            limit = causal(edge if len(edge) > 1 else edge[0])
            parts.append(limit if sign > 0 else ~limit)
    return parts[0] & parts[1] if len(parts) == 2 else parts[0] if parts else _attnscope.parse_mask("everything")


def window(left: int | None, right: int | str | None = "same", offset: Any = 0) -> Mask:
    """Lets query i see key j if i - left <= j <= i + right; window(w) is window(w, w). None means no limit.

    offset is added to i, as in causal(): one number, or one per sequence.

    >>> import attnscope as at
    >>> print(at.window(1).draw(4, 4))
    ■ ■ · ·
    ■ ■ ■ ·
    · ■ ■ ■
    · · ■ ■
    >>> print(at.window(1, 0).draw(4, 4))
    ■ · · ·
    ■ ■ · ·
    · ■ ■ ·
    · · ■ ■
    >>> print(at.window(1, 0, offset=2).draw(2, 4))
    · ■ ■ ·
    · · ■ ■
    """
    if isinstance(right, str):
        if right != "same":
            raise TypeError("right must be a number or None")
        right = left
    sides = [_attnscope.unlimited if side is None else _integer(side, "window") for side in (left, right)]
    plain = _attnscope.window(*sides)  # which checks the sides
    is_zero = hasattr(offset, "__index__") and not getattr(offset, "ndim", 0) and not operator.index(offset)
    return plain if is_zero else _shifted_window((left, right), offset)


def padding(lengths: Any) -> Mask:
    """Hides the keys after the end of each sequence, given lengths [B] or a table [B, M] of 0 and 1.

    >>> import attnscope as at
    >>> at.padding([3, 5])
    attnscope.mask('padding(3,5)')
    >>> at.padding([[1, 1, 0], [1, 1, 1]]).table(2, 1, 1, 3).tolist()
    [[[[True, True, False]]], [[[True, True, True]]]]
    """
    if hasattr(lengths, "__index__") and not getattr(lengths, "ndim", 0):
        return _attnscope.padding(_integers(lengths, "length"))
    array, _ = _to_numpy(lengths, "padding")
    if array.ndim < 2:
        if array.dtype.kind not in "iu":
            raise TypeError(f"lengths have the dtype {array.dtype}; they must be integers")
        return _attnscope.padding(_integers(array, "length"))
    if array.ndim != 2 or array.dtype.kind not in "iub" or (array > 1).any() or (array < 0).any():
        raise ValueError("padding takes lengths, or a table [B, M] of 0 and 1")
    return _attnscope.padding_table(array.astype(bool, order="C"))


def padding_ids(ids: Any, pad: int = 0) -> Mask:
    """Hides the keys whose id [B, M] is pad.

    >>> import attnscope as at
    >>> at.padding_ids([[7, 8, 0], [7, 8, 9]]).table(2, 1, 1, 3).tolist()
    [[[[True, True, False]]], [[[True, True, True]]]]
    """
    return _attnscope.padding_ids(_ids(ids, "ids"), _integer(pad, "pad"))


def combined(ids: Any, pad: int = 0) -> Mask:
    """Combines padding and causal masks, for a decoder on padded texts: padding_ids(ids, pad) & causal().

    >>> import attnscope as at
    >>> at.combined([[7, 8, 0]]).table(3, 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 0]])
    """
    return padding_ids(ids, pad) & causal()


def document(ids: Any, key_ids: Any = None) -> Mask:
    """Separates documents packed into one sequence: tokens see only those with the same id, [N] or [B, N].

    Keys other than the queries have ids of their own: key_ids is [M] or [B, M].

    >>> import attnscope as at
    >>> print(at.document([0, 0, 1]).draw(3, 3))
    ■ ■ ·
    ■ ■ ·
    · · ■
    >>> print(at.document([0, 1], key_ids=[0, 0, 1]).draw(2, 3))
    ■ ■ ·
    · · ■
    """
    if key_ids is None:
        return _attnscope.document(_ids(ids, "ids"), None)
    import numpy as np

    queries, keys = np.atleast_2d(_ids(ids, "ids")), np.atleast_2d(_ids(key_ids, "key_ids"))
    batch = max(len(queries), len(keys))
    if {len(queries), len(keys)} - {1, batch}:
        raise ValueError(f"ids are for {len(queries)} sequences and key_ids for {len(keys)}; pass one row or one each")
    both = (np.ascontiguousarray(np.broadcast_to(x, (batch, x.shape[1]))) for x in (queries, keys))
    return _attnscope.document(*both)


def prefix(length: Any) -> Mask:
    """Shows the first `length` keys, one number or one per sequence, and no others; combine it with another mask by |.

    >>> import attnscope as at
    >>> print((at.causal() | at.prefix(2)).draw(3, 3))
    ■ ■ ·
    ■ ■ ·
    ■ ■ ■
    """
    return _attnscope.prefix(_integers(length, "length"))


def dilated(width: int, dilation: int) -> Mask:
    """Lets query i see key j if |i - j| <= width and i - j is a multiple of dilation.

    >>> import attnscope as at
    >>> print(at.dilated(2, 2).draw(5, 5))
    ■ · ■ · ·
    · ■ · ■ ·
    ■ · ■ · ■
    · ■ · ■ ·
    · · ■ · ■
    """
    return _attnscope.dilated(_integer(width, "width"), _integer(dilation, "dilation"))


def natten(canvas: int | tuple[int, int], kernel: int | tuple[int, int]) -> Mask:
    """Neighbourhood attention: each query sees the kernel around it, moved inwards at the edges.

    canvas is the number of tokens, or (width, height) of an image whose tokens are numbered row by row; kernel is odd.

    >>> import attnscope as at
    >>> print(at.natten(5, 3).draw(5, 5))
    ■ ■ ■ · ·
    ■ ■ ■ · ·
    · ■ ■ ■ ·
    · · ■ ■ ■
    · · ■ ■ ■
    >>> print(at.natten((32, 24), kernel=(5, 5)))
    natten(32,24,5,5)
    """
    if isinstance(canvas, tuple) != isinstance(kernel, tuple):
        raise TypeError("canvas and kernel are both one number, or both (width, height)")
    sides = [(x, 1) if not isinstance(x, tuple) else x for x in (canvas, kernel)]
    if any(len(pair) != 2 for pair in sides):
        raise ValueError("canvas and kernel are (width, height): two numbers each")
    (width, height), (across, down) = sides
    return _attnscope.natten(
        (_integer(width, "canvas"), _integer(height, "canvas")), (_integer(across, "kernel"), _integer(down, "kernel"))
    )


def sparse(stride: int) -> Mask:
    """Lets query i see key j if |i - j| <= stride, or if i or j is a multiple of stride.

    >>> import attnscope as at
    >>> print(at.sparse(2).draw(6, 6))
    ■ ■ ■ ■ ■ ■
    ■ ■ ■ ■ ■ ·
    ■ ■ ■ ■ ■ ■
    ■ ■ ■ ■ ■ ■
    ■ ■ ■ ■ ■ ■
    ■ · ■ ■ ■ ■
    """
    return _attnscope.sparse(_integer(stride, "stride"))


def global_(count: int) -> Mask:
    """Lets the first `count` tokens see all tokens and be seen by all.

    >>> import attnscope as at
    >>> print((at.global_(1) | at.window(0)).draw(3, 3))
    ■ ■ ■
    ■ ■ ·
    ■ · ■
    """
    return _attnscope.global_(_integer(count, "count"))


def block(size: int) -> Mask:
    """Lets tokens see only their own block of `size` tokens.

    >>> import attnscope as at
    >>> print(at.block(2).draw(4, 4))
    ■ ■ · ·
    ■ ■ · ·
    · · ■ ■
    · · ■ ■
    """
    return _attnscope.block(_integer(size, "size"))


def plan(mask: Any, batch: int, heads: int, queries: int, keys: int) -> Plan:
    """Compiles a mask for one shape, to be used in many calls: attention(..., mask=plan).

    mask may also be a function of positions: it is called with arrays b, h, i and j that broadcast to [B, H, N, M],
    some rows at a time, and returns bool. A function that depends on neither b nor h is evaluated once for all.

    >>> import numpy as np, attnscope as at
    >>> p = at.plan("causal", batch=1, heads=2, queries=100, keys=100)
    >>> p.pairs
    10100
    >>> q = np.ones((1, 2, 100, 8), np.float32)
    >>> bool((at.attention(q, q, q, mask=p) == at.attention(q, q, q, mask=at.causal())).all())
    True
    >>> near = at.plan(lambda b, h, i, j: abs(i - j) <= h, batch=1, heads=2, queries=3, keys=3)
    >>> print(near.mask.table(1, 2, 3, 3)[0, 1].astype(int))
    [[1 1 0]
     [1 1 1]
     [0 1 1]]
    """
    named = (("batch", batch), ("heads", heads), ("queries", queries), ("keys", keys))
    sizes = tuple(_integer(size, name) for name, size in named)
    if mask is not None and not isinstance(mask, (Mask, Plan)):
        mask = _argument(mask) if isinstance(mask, str) else _argument_for(mask, sizes)
    return _attnscope.plan(mask, *sizes)
