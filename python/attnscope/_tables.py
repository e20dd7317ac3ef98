"""Converts tables of attention weights, from whatever array type, for the C++ module."""

from __future__ import annotations

from typing import Any

from ._parts import text_of


def names_of(tokens: Any, what: str) -> list[str] | None:
    """Returns the names of rows or columns as a list of str."""
    if tokens is None:
        return None
    if isinstance(tokens, str):
        raise TypeError(f"{what} is a single string; pass a list of strings, such as {what}=text.split()")
    return [text_of(str(token), what) for token in tokens]


def _array(table: Any, what: str) -> Any:
    """Returns an array that the C++ module reads: floats, without a gradient."""
    if table is None:
        raise TypeError(
            f"{what} is None, not a table of numbers. (A transformers model returns no attentions unless it is "
            'loaded with attn_implementation="eager" and called with output_attentions=True; attnscope.record(model) '
            "needs neither.)"
        )
    if hasattr(table, "detach"):  # torch
        table = table.detach()
        return (table if table.is_floating_point() else table.float()).contiguous()
    if hasattr(table, "__dlpack__") and not hasattr(table, "astype"):
        return table
    import numpy as np

    try:
        array = np.asarray(table)
    except ValueError:  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind in "iub":
        array = array.astype(np.float32)
    array = np.ascontiguousarray(array)
    if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
        raise TypeError(f"{what} must be numbers in rows of equal length, not {type(table).__name__} of {array.dtype}")
    return array


def _is_array(x: Any) -> bool:
    return x is None or hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def layers_of(weights: Any, what: str = "weights") -> list:
    """Returns arrays [L, H, N, M] (or with fewer axes) whose layers follow one another.

    A list of arrays means what stacking them would: arrays [N, M] are the heads of one layer, [H, N, M] are layers.
    Arrays [1, H, N, M] are layers too, as in the `attentions` of transformers.
    """
    if not (isinstance(weights, (list, tuple)) and weights and all(map(_is_array, weights))):
        return [_array(weights, what)]
    arrays = [_array(table, what) for table in weights]
    axes = {array.ndim for array in arrays}
    if len(axes) > 1:
        raise ValueError(f"the {len(arrays)} tables of weights have {sorted(axes)} axes; all must have the same number")
    if axes == {2}:
        import numpy as np

        return [np.stack([np.asarray(array.float() if hasattr(array, "float") else array) for array in arrays])]
    if axes == {4}:
        texts = arrays[0].shape[0]
        if texts != 1:
            raise ValueError(
                f"the weights are of {texts} texts (the first axis); pass those of a single text: "
                "[layer[:1] for layer in weights]"
            )
    return arrays
