"""The operator Attention of ONNX, opsets 23 to 25."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _masks
from ._attention import attention
from ._sdpa import Layout, finite_or_never, mix_values, scores_of, weights_of

_RAW, _CAPPED, _MASKED, _WEIGHTS = range(4)  # qk_matmul_output_mode


class OnnxAttention(NamedTuple):
    """The outputs of onnx_attention(), in the operator's order."""

    Y: Any
    present_key: Any
    present_value: Any
    qk_matmul_output: Any  # None unless it was asked for


def _split_heads(x, heads, name):
    """Returns [B, N, H D] as [B, H, N, D]; four axes stay."""
    if x.ndim == 4:
        return x
    if x.ndim != 3:
        raise ValueError(f"{name} has {x.ndim} axes; it must have three, with the number of heads, or four")
    if not heads or x.shape[2] % heads:
        raise ValueError(f"{name} is {list(x.shape)}; pass q_num_heads and kv_num_heads that divide the last axis")
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).transpose(0, 2, 1, 3)


def _positions(is_causal, window, offset, nonpad_kv_seqlen):
    """Returns what does not depend on attn_mask: causal order, windows and padding, as a mask or None."""
    left, right = (None if side < 0 else side for side in window)
    parts = []
    if is_causal:
        parts.append(_masks.causal(offset))
    if left is not None or right is not None:
        parts.append(_masks.window(left, right, offset))
    if nonpad_kv_seqlen is not None:
        parts.append(_masks.padding(nonpad_kv_seqlen))
    mask = None
    for part in parts:
        mask = part if mask is None else mask & part
    return mask


def _table(attn_mask, keys):
    """Returns attn_mask with a column per key: those that it lacks are not seen."""
    import numpy as np

    missing = keys - attn_mask.shape[-1]
    if missing < 0:
        raise ValueError(f"attn_mask is {list(attn_mask.shape)}, but there are only {keys} keys")
    columns = [(0, 0)] * (attn_mask.ndim - 1) + [(0, missing)]
    return np.pad(attn_mask, columns, constant_values=False if attn_mask.dtype == np.bool_ else -np.inf)


def onnx_attention(
    Q: Any,
    K: Any,
    V: Any,
    attn_mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    nonpad_kv_seqlen: Any = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    left_window_size: int = -1,
    right_window_size: int = -1,
    return_qk: bool = False,
) -> OnnxAttention:
    """Computes the operator Attention of ONNX (opsets 23 to 25) for numpy arrays.

    Inputs and attributes have the operator's names and meaning. Q, K and V are [B, H, N, D], [B, G, M, D] and [B, G, M, E],
    or three axes [B, N, H D] with q_num_heads and kv_num_heads. attn_mask, bool or floats to add, broadcasts from the
    right; keys that it has no column for are not seen. past_key and past_value come before K and V; nonpad_kv_seqlen [B]
    says how many keys of a fixed cache are in use. The last query of is_causal and of the windows is at the last key in
    use.

    Returns Y, present_key, present_value and, with return_qk, qk_matmul_output: the scores [B, H, N, M] before softcap and
    mask (qk_matmul_output_mode 0), after softcap (1), after the mask too (2), or the weights (3). The softmax is computed
    in float32 whatever softmax_precision is, and in float64 for float64 inputs, by plain numpy. Raises ValueError for
    shapes and attributes that do not fit.

    >>> import numpy as np, attnscope as at
    >>> q, k, v = np.random.default_rng(0).standard_normal((3, 2, 5, 32), dtype=np.float32)
    >>> found = at.onnx_attention(q, k, v, q_num_heads=4, kv_num_heads=4, is_causal=1)
    >>> found.Y.shape, found.present_key.shape
    ((2, 5, 32), (2, 4, 5, 8))
    """
    import numpy as np

    if (past_key is None) != (past_value is None) or (past_key is not None and nonpad_kv_seqlen is not None):
        raise ValueError("past_key and past_value belong together, and exclude nonpad_kv_seqlen")
    if not 0 <= qk_matmul_output_mode <= _WEIGHTS:
        raise ValueError(f"qk_matmul_output_mode is {qk_matmul_output_mode}; it must be from 0 to 3")
    q = _split_heads(Q, q_num_heads, "Q")
    k, v = _split_heads(K, kv_num_heads, "K"), _split_heads(V, kv_num_heads, "V")
    before = 0
    if past_key is not None:
        before = past_key.shape[2]
        k, v = np.concatenate((past_key, k), axis=2), np.concatenate((past_value, v), axis=2)
    offset: Any = before
    if nonpad_kv_seqlen is not None:
        nonpad_kv_seqlen = np.asarray(nonpad_kv_seqlen).reshape(-1)
        offset = nonpad_kv_seqlen - q.shape[2]
    mask = _positions(is_causal, (left_window_size, right_window_size), offset, nonpad_kv_seqlen)
    bias = None
    if attn_mask is not None:
        table = _table(attn_mask, k.shape[2])
        if table.dtype == np.bool_:
            seen = _masks.mask(table)
            mask = seen if mask is None else mask & seen
        else:
            bias = table
    laid = Layout(q, k, v, None, (*q.shape[:3], v.shape[3]))
    scale = q.shape[3] ** -0.5 if scale is None else scale
    out, qk = _computed(laid, mask, bias, scale, softcap, qk_matmul_output_mode if return_qk else None)
    if Q.ndim == 3:
        out = out.transpose(0, 2, 1, 3).reshape(Q.shape[0], Q.shape[1], -1)
    return OnnxAttention(out, k, v, qk)


def _computed(laid, mask, bias, scale, softcap, mode):
    """Returns the output, and the scores after a stage, or None without mode."""
    import numpy as np

    dtype = laid.q.dtype
    on_engine = dtype != np.float64 and laid.is_for_engine()
    needs_pairs = mask is not None and (not on_engine or mode == _MASKED)
    allowed = mask.table(*laid.q.shape[:3], laid.k.shape[2]) if needs_pairs else None
    if on_engine:
        added = None if bias is None else finite_or_never(bias)
        options = {"mask": mask, "bias": added, "scale": scale, "softcap": softcap or None}
        out, *weights = attention(*laid[:3], **options, return_weights=True) if mode == _WEIGHTS else (
            attention(*laid[:3], **options),
        )  # fmt: skip
    else:
        weights = [weights_of(scores_of(laid, scale, softcap, bias, allowed))]
        out = mix_values(weights[0], laid)
    if mode is None:
        return out, None
    if mode == _WEIGHTS:
        return out, weights[0].astype(dtype)
    stage = (softcap if mode >= _CAPPED else None, *((bias, allowed) if mode == _MASKED else (None, None)))
    return out, scores_of(laid, scale, *stage).astype(dtype)
