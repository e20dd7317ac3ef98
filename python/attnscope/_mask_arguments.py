"""What is passed as a mask, or as numbers of one, converted for the C++ module."""

import operator
import sys

from . import _attnscope

_LIMIT = 2**63
_BLOCK = 1 << 20  # pairs for which a mask function is called at a time
_NO_GRADIENT = "requires a gradient, but masks have none: pass it as bias=, or detach it"


def _integer(value, name):
    number = operator.index(value)
    if not -_LIMIT <= number < _LIMIT:
        raise OverflowError(f"{name} is {number}, which does not fit into 64 bits")
    return number


def _integers(values, name):
    """Returns a number or a sequence of numbers as a list of 64-bit integers."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if hasattr(values, "__index__"):
        values = [values]
    return [_integer(value, name) for value in values]


def _to_numpy(array, name):
    """Returns numpy's view of an array, and the lowest number of its original dtype (None unless it is a float)."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.device.type != "cpu":
            raise TypeError(f"{name} is on the device {array.device}; attnscope computes on the CPU: pass {name}.cpu()")
        if array.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(f"{name} {_NO_GRADIENT}")
        lowest = torch.finfo(array.dtype).min if array.dtype.is_floating_point else None
        array = array.detach().resolve_neg()
        return (array.float() if array.dtype is torch.bfloat16 else array).numpy(), lowest
    if not isinstance(array, np.ndarray):
        array = np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)
    if array.dtype.name == "bfloat16":
        import ml_dtypes

        return array.astype(np.float32), float(ml_dtypes.finfo(array.dtype).min)
    return array, float(np.finfo(array.dtype).min) if array.dtype.kind == "f" else None


def _table(array, name="mask"):
    """Returns a boolean or additive table as the C++ module reads it: numpy, bool or float32, last axis contiguous."""
    import numpy as np

    table, lowest = _to_numpy(array, name)
    if table.dtype == np.bool_:
        dense = table
    elif table.dtype.kind == "f":
        dense = table.astype(np.float32, copy=False)
        if lowest > -1e9:  # float16: the lowest number means "never", as that of float32 does
            dense = np.where(dense <= lowest, np.float32(-np.inf), dense)
    else:
        raise TypeError(
            f"{name} has the dtype {table.dtype}; pass bool (True: visible) or a float type (added to the scores)"
        )
    if dense.ndim and (dense.strides[-1] != dense.itemsize or any(s % dense.itemsize for s in dense.strides)):
        dense = np.ascontiguousarray(dense)
    return dense


def _ids(array, name):
    """Returns ids [N] or [B, N] as a contiguous int64 array."""
    import numpy as np

    ids, _ = _to_numpy(array, name)
    if ids.dtype.kind not in "iub":
        raise TypeError(f"{name} has the dtype {ids.dtype}; it must hold integers")
    if ids.ndim not in (1, 2):
        raise ValueError(f"{name} has the shape {ids.shape}; it must be [N] or [B, N]")
    if ids.dtype == np.uint64 and ids.size and ids.max() >= _LIMIT:
        raise OverflowError(f"{name} holds {ids.max()}, which does not fit into 64 bits")
    return np.ascontiguousarray(ids, dtype=np.int64)


def _sizes(q, k):
    """Returns B, H, N and M of arrays with 2 to 4 axes; None for anything else, which the C++ module rejects."""
    shape, keys = tuple(getattr(q, "shape", ())), tuple(getattr(k, "shape", ()))
    if not (2 <= len(shape) <= 4 and 2 <= len(keys) <= 4):
        return None
    return (1, 1, *shape[:-1])[-3:] + (keys[-2],)


def _causal_bias(mask, sizes):
    """Returns torch's CausalBias as a rule, None for anything else. Its memory is never written: it holds no table."""
    module = sys.modules.get("torch.nn.attention.bias")
    if module is None or not isinstance(mask, module.CausalBias):
        return None
    queries, keys = mask.seq_len_q, mask.seq_len_kv
    if sizes is not None and tuple(sizes[2:]) != (queries, keys):
        raise ValueError(f"mask is a CausalBias of {queries} x {keys}, but N and M are {sizes[2]} and {sizes[3]}")
    return _attnscope.causal(0 if mask.variant == module.CausalVariant.UPPER_LEFT else keys - queries)


def _evaluated(function, sizes):
    """Evaluates a function of positions into a table [1|B, 1|H, N, M], some rows at a time."""
    import numpy as np

    batch, heads, queries, keys = sizes
    axis = lambda start, end, at: np.arange(start, end).reshape([-1 if n == at else 1 for n in range(4)])  # noqa: E731
    rows = max(1, _BLOCK // max(1, batch * heads * keys))
    parts = []
    for first in range(0, max(queries, 1), rows):
        i = axis(first, min(first + rows, queries), 2)
        try:
            part = np.asarray(function(axis(0, batch, 0), axis(0, heads, 1), i, axis(0, keys, 3)))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"the mask function failed on arrays of positions ({error}); it is called with b, h, i, j that broadcast "
                "to [B, H, N, M], so write & | ~ and numpy.where instead of and, or, not and if"
            ) from error
        if part.dtype != np.bool_:
            raise TypeError(f"the mask function returned {part.dtype}; it must return bool (True: visible)")
        parts.append(np.broadcast_to(part, np.broadcast_shapes(part.shape, (1, 1, i.size, keys))))
    return np.ascontiguousarray(np.concatenate(parts, axis=2))


def _argument(mask, q=None, k=None):
    """Converts a mask= argument for the C++ module; q and k tell the sizes, where they are known."""
    if isinstance(mask, str):
        return _attnscope.parse_mask(mask)
    return _argument_for(mask, _sizes(q, k))


def _argument_for(mask, sizes):
    """Converts a mask= argument that is no text; sizes are B, H, N and M, or None."""
    if callable(mask) and sizes is not None:
        return _attnscope.mask_of_axes(_evaluated(mask, sizes), "BHNM")
    rule = _causal_bias(mask, sizes)
    return _table(mask) if rule is None else rule
