"""Turns the masks of transformers into rules, without a table of all pairs.

transformers describes a mask by a function of positions and expects a tensor [B, 1, N, M]. mask_function() returns a
tensor of that shape without memory, which carries the rule.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from transformers import masking_utils

from .. import _masks
from .._attnscope import Mask, Plan

if "q_offset" not in inspect.signature(masking_utils.sdpa_mask).parameters:
    raise ImportError("attnscope.transformers needs transformers 5.18 or later")

_BLOCK = 1 << 22  # pairs evaluated at a time for a mask without a known rule
_CHECKED_ROWS = 8


@dataclass(frozen=True)
class Pattern:
    """The rule of transformers' mask functions. Positions count from the start of the whole text."""

    causal: bool = False
    back: int | None = None  # a query sees the last `back` keys, its own included
    near: int | None = None  # a query sees keys up to this distance on both sides
    documents: torch.Tensor | None = field(default=None, compare=False)  # [B, T]: index of the packed text

    def mask(self, ahead: int) -> Mask | None:
        """Returns the mask for queries whose first has `ahead` keys before its own."""
        parts = []
        if self.causal:
            parts.append(_masks.causal(ahead))
        if self.back is not None:
            parts.append(~_masks.causal(ahead - self.back))
        if self.near is not None:
            parts.append(_masks.causal(ahead + self.near) & ~_masks.causal(ahead - self.near - 1))
        if self.documents is not None:
            parts.append(_masks.document(self.documents))
        return both(*parts)


def both(*masks: Mask | None) -> Mask | None:
    """Intersects masks; None allows everything."""
    result = None
    for one in masks:
        if one is not None:
            result = one if result is None else result & one
    return result


class MaskRule:
    """The mask of one forward pass: a pattern, or else a table; the positions of queries and keys; the padding."""

    def __init__(self, shape, first, first_key, pattern, table, padding):
        self.shape: tuple[int, int, int] = shape  # B, N, M
        self.first: int = first  # position of the first query
        self.first_key: int = first_key  # position of the first key
        self.pattern: Pattern | None = pattern
        self.table: Mask | None = table  # [B, 1, N, M], only without a pattern
        self.padding: torch.Tensor | None = padding  # [B, M], False: hidden from all queries; None: no padding
        seen = None if padding is None else _masks.padding(padding)
        self.mask = both(table if pattern is None else pattern.mask(first - first_key), seen)
        self._plans: dict[int, Plan] = {}

    def plan(self, heads: int) -> Plan | None:
        """Compiles the mask, once for all layers with this many heads."""
        if self.mask is None:
            return None
        if heads not in self._plans:
            batch, queries, keys = self.shape
            self._plans[heads] = _masks.plan(self.mask, batch, heads, queries, keys)
        return self._plans[heads]

    def tensor(self) -> torch.Tensor:
        """Returns every pair, [B, 1, N, M] of bool, as in transformers' own masks."""
        batch, queries, keys = self.shape
        if self.mask is None:
            return torch.ones(batch, 1, queries, keys, dtype=torch.bool)
        return torch.from_numpy(self.mask.table(batch, 1, queries, keys))


_DESCRIBES = {
    getattr(torch.Tensor, name).__get__
    for name in ("shape", "dtype", "device", "ndim", "requires_grad", "layout", "is_cuda", "is_leaf", "grad_fn")
} | {torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.is_floating_point}
_ARITHMETIC = {"add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "to", "float", "half", "bfloat16",
               "double", "type", "type_as", "baddbmm", "addcmul"}  # fmt: skip
_KEEPS = {torch.Tensor.detach, torch.Tensor.contiguous, torch.Tensor.clone, torch.Tensor.cpu}


def _stays_bool(args, kwargs):
    """Tells whether to(...) would change nothing."""
    for wish in (*args, *kwargs.values()):
        if isinstance(wish, torch.dtype) and wish is not torch.bool:
            return False
        if isinstance(wish, torch.Tensor) and wish.dtype is not torch.bool:
            return False
        if isinstance(wish, (str, torch.device)) and torch.device(wish).type != "cpu":
            return False
    return True


class Pairs(torch.Tensor):
    """A table of bool, or a part of one, that was made from a rule; True means visible.

    It is an ordinary tensor but for this: it is no number. A model that adds its mask to the scores, as those do that
    compute their attention themselves, would take True for 1 and see what it must not.
    """

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            if not isinstance(result, torch.Tensor):
                return result
            if result.is_floating_point() and func.__name__.strip("_") in _ARITHMETIC:
                raise RuntimeError(
                    "this model computes with its attention mask as with numbers, so it does not compute its attention "
                    "through transformers' AttentionInterface: it cannot run on attnscope"
                )
            return result.as_subclass(cls) if result.dtype is torch.bool else result.as_subclass(torch.Tensor)


class RuleTensor(torch.Tensor):
    """A tensor [B, 1, N, M] without memory. Operations on it compute the table of all pairs first."""

    rule: MaskRule

    @staticmethod
    def __new__(cls, rule: MaskRule) -> RuleTensor:
        batch, queries, keys = rule.shape
        self = torch.zeros((), dtype=torch.bool).expand(batch, 1, queries, keys).as_subclass(cls)
        self.rule = rule
        return self

    def __repr__(self) -> str:
        return f"RuleTensor({str(self.rule.mask)!r}, shape={list(self.shape)})"

    def __deepcopy__(self, memo) -> torch.Tensor:
        """Returns a plain table: exporters copy what a model gets, and trace the model with the copy."""
        return self.rule.tensor()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _DESCRIBES:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func in _KEEPS or (func is torch.Tensor.to and _stays_bool(args[1:], kwargs)):
            return args[0]
        args, kwargs = torch.utils._pytree.tree_map_only(RuleTensor, _all_pairs, (args, kwargs))
        return func(*args, **kwargs)


def _all_pairs(mask: RuleTensor) -> Pairs:
    rule = rule_of(mask)
    assert rule is not None
    return rule.tensor().as_subclass(Pairs)


def rule_of(mask: torch.Tensor) -> MaskRule | None:
    """Returns the rule that a mask carries, or None for an ordinary table."""
    rule = mask.__dict__.get("rule")
    if rule is not None:
        return rule
    with torch._C.DisableTorchFunctionSubclass():
        lost = isinstance(mask, RuleTensor) or (
            mask.dtype is torch.bool and mask.dim() == 4 and not any(mask.stride()) and not mask[0, 0, 0, 0]
        )
    if lost:
        raise RuntimeError(
            "an attention mask lost its rule on the way to the attention: something copied it past torch's functions. "
            "Pass a table [B, 1, N, M] of bool as attention_mask, or use another attn_implementation"
        )
    return None


def _cells(function):
    """Returns the closure variables of a function of masking_utils, by name."""
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))


def _parts(function):
    """Returns the functions that and_masks() combined, as a flat list.

    Since 5.23 functions of packed texts are asked about positions that begin anew with each of them. Within a text
    their distances are those of the whole, and the others are ruled out beside it: the function itself says the same.
    """
    maker = function.__qualname__.partition(".<locals>")[0]
    if maker == "and_masks":
        return [part for joined in _cells(function)["mask_functions"] for part in _parts(joined)]
    if maker == "remap_positions_for_packed_sequence":
        return _parts(_cells(function)["mask_function"])
    return [function]


def _read(function) -> Pattern | None:
    """Returns the pattern that is equivalent to a function of masking_utils, or None if there is none."""
    found: dict[str, Any] = {}

    def narrower(name, value):
        found[name] = min(value, found.get(name, value))

    for part in _parts(function):
        name = getattr(part, "__qualname__", "").partition(".<locals>")[0]
        if getattr(part, "__module__", None) != masking_utils.__name__:
            return None
        if name == "causal_mask_function":
            found["causal"] = True
        elif name == "sliding_window_overlay":
            narrower("back", int(_cells(part)["sliding_window"]))
        elif name == "sliding_window_bidirectional_overlay":
            narrower("near", int(_cells(part)["sliding_window"]))
        elif name == "packed_sequence_mask_function" and "documents" not in found:
            found["documents"] = _cells(part)["packed_sequence_mask"]
        elif name != "bidirectional_mask_function":
            return None
    return Pattern(**found)


def _agrees(pattern, function, shape, first, first_key):
    """Tells whether pattern and function agree on some whole rows: the names of functions alone prove nothing."""
    batch, queries, keys = shape
    rows = sorted({round(step * (queries - 1) / (_CHECKED_ROWS - 1)) for step in range(_CHECKED_ROWS)})
    theirs = function(
        torch.arange(batch)[:, None, None, None],
        torch.zeros(1, 1, 1, 1, dtype=torch.long),
        (torch.tensor(rows) + first)[None, None, :, None],
        (torch.arange(keys) + first_key)[None, None, None, :],
    ).expand(batch, 1, len(rows), keys)
    mask = pattern.mask(first - first_key)
    if mask is None:
        return bool(theirs.all())
    if pattern.documents is not None:
        ours = mask.table(batch, 1, queries, keys)[:, :, rows]
    else:  # the mask depends on positions alone: shift it instead of computing all rows
        import numpy as np

        ours = np.stack([pattern.mask(first - first_key + row).table(1, keys) for row in rows], axis=1)[None]
    return bool((theirs.numpy() == ours).all())


def _evaluate(shape, settings) -> Mask:
    """Evaluates a mask without a known rule into a table, some rows at a time."""
    batch, queries, keys = shape
    table = torch.empty(batch, 1, queries, keys, dtype=torch.bool)
    step = max(1, _BLOCK // max(1, batch * keys))
    first = settings.pop("q_offset")
    for row in range(0, queries, step):
        count = min(step, queries - row)
        table[:, :, row : row + count] = masking_utils.sdpa_mask(
            **settings, q_length=count, q_offset=first + row, allow_is_causal_skip=False
        )
    return _masks.mask(table, axes="BHNM")


@functools.cache
def _computes_itself(module: str) -> bool:
    """Tells whether a model file has its own attention, which does not go through AttentionInterface."""
    names = vars(sys.modules[module])
    if "ALL_ATTENTION_FUNCTIONS" in names:
        return False
    return any(
        "attention" in name.lower() and isinstance(value, type) and value.__module__ == module
        for name, value in names.items()
        if isinstance(value, type) and issubclass(value, torch.nn.Module)
    )


def _refuse_own_attention() -> None:
    """Rejects such a model: it would misread a mask of bool, and silently ignore its padding."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not isinstance(frame.f_locals.get("self"), torch.nn.Module):
        frame = frame.f_back
    if frame is None:
        return
    model = type(frame.f_locals["self"])
    where = frame.f_globals["__name__"]
    where = model.__module__ if where.startswith("transformers.generation") else where
    if "modeling_" in where and where in sys.modules and _computes_itself(where):
        raise ValueError(
            f"{model.__name__} does not compute its attention through transformers' AttentionInterface: it cannot run "
            "on attnscope; take another attn_implementation"
        )


def _is_made_in_advance() -> bool:
    """Tells whether generate() makes the mask outside of a forward pass that it may have compiled."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not isinstance(frame.f_locals.get("self"), torch.nn.Module):
        if frame.f_code.co_name == "create_masks_for_generate":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "create_masks_for_generate"


def mask_function(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function=masking_utils.causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    allow_is_bidirectional_skip: bool = False,
    use_vmap: bool = False,
    **kwargs,
) -> torch.Tensor | None:
    """Makes the mask for transformers; masking_utils.sdpa_mask() documents the parameters."""
    if not torch.compiler.is_compiling():
        _refuse_own_attention()
    settings = dict(batch_size=batch_size, kv_length=kv_length, kv_offset=kv_offset, mask_function=mask_function)
    if torch.compiler.is_compiling():
        return masking_utils.sdpa_mask(
            **settings, q_length=q_length, q_offset=q_offset, attention_mask=attention_mask, use_vmap=use_vmap,
            allow_is_causal_skip=False,
        )  # fmt: skip
    first, first_key = int(q_offset), int(kv_offset)
    shape, ahead = (batch_size, q_length, kv_length), first - first_key
    pattern = None if use_vmap else _read(mask_function)
    if pattern is not None and pattern.documents is not None:
        fits = ahead == 0 and q_length == kv_length == pattern.documents.shape[-1]
        pattern = pattern if fits else None
    if pattern is not None and not _agrees(pattern, mask_function, shape, first, first_key):
        pattern = None
    table = None if pattern is not None else _evaluate(shape, dict(settings, q_offset=first, use_vmap=use_vmap))
    rule = MaskRule(shape, first, first_key, pattern, table, _padding(attention_mask, batch_size, kv_length, first_key))
    if allow_is_bidirectional_skip and rule.mask is None:
        return None
    if q_length > 1 or not _is_made_in_advance():
        return RuleTensor(rule)
    # A compiled forward pass takes ordinary tensors only. It computes one token at a time: the table is small.
    table = rule.tensor()
    table.__dict__["rule"] = rule
    return table


def _padding(attention_mask, batch, keys, first):
    """Returns the padding, [B, M] with False for padded keys; None if there is none."""
    if attention_mask is None:
        return None
    padded = masking_utils.prepare_padding_mask(attention_mask, keys, first)
    here = padded[:, first : first + keys].to(torch.bool)
    if here.shape[0] != batch:
        here = here.expand(batch, keys)
    return None if bool(here.all()) else here
