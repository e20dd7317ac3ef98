"""Listens to a transformers model while it runs, and keeps what recordings need."""

from __future__ import annotations

import inspect
import mmap
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig, PreTrainedModel

from .. import _scope
from .. import transformers as _plug_in
from .._bias import DistanceBias
from .masks import Pattern

_OWN_MAPPING = 1 << 16  # bytes; a process may have some 65,000 mappings
_CROSS_NAMES = {"crossattention", "cross_attn", "cross_attention", "encoder_attn", "encdecattention", "enc_dec_attn"}

_INSTEAD = "call generate() first, then record one call of the model with the generated text"


class Kept:
    """A copy of heads [B, H, N, D] as rows [B, N, H D] in float32, in memory that a recording can take over.

    It keeps no tensor: a small allocation that stays between large ones that come and go fragments the heap. (Measured
    at 4,096 tokens: more than twice the memory.)
    """

    __slots__ = ("_shape", "memory")

    def __init__(self, heads: torch.Tensor) -> None:
        batch, count, rows, width = heads.shape
        self._shape = (batch, rows, count * width)
        self.memory = _scope.Rows(batch * rows, count * width)
        copy = torch.from_numpy(self.memory.array())
        copy.view(batch, rows, count, width).copy_(heads.detach().transpose(1, 2))

    @property
    def rows(self) -> torch.Tensor:
        return torch.from_numpy(self.memory.array()).view(self._shape)


class KeptRows:
    """A copy of lse [B, H, N], outside of the heap unless it is very small (see Kept)."""

    __slots__ = ("_memory", "_shape")

    def __init__(self, lse: torch.Tensor) -> None:
        size = lse.numel() * 4
        self._memory = mmap.mmap(-1, size) if size >= _OWN_MAPPING else bytearray(size)
        self._shape = lse.shape
        self.rows.copy_(lse.detach())

    @property
    def rows(self) -> torch.Tensor:
        return torch.frombuffer(self._memory, dtype=torch.float32).view(self._shape)


def _allowed(table: torch.Tensor, shape: tuple[int, int, int]) -> np.ndarray:
    """Converts a user's mask to [B, N, M] of bool."""
    if table.dtype is not torch.bool:
        forbidden = table <= max(-1e9, torch.finfo(table.dtype).min)
        if bool(((table != 0) & ~forbidden).any()):
            raise ValueError("the attention mask adds numbers to the scores, which cannot be recorded")
        table = ~forbidden
    if not torch.equal(table, table[:, :1].expand_as(table)):
        raise ValueError("the attention mask differs between heads, which cannot be recorded")
    return table[:, 0, :, : shape[2]].expand(*shape).numpy()


class Chunk:
    """One attention in one call of the model, for all sequences of the batch."""

    def __init__(self, seen: _plug_in.Seen, cross: bool, values: bool) -> None:
        (self.batch, self.heads, self.queries, self.width), rule = seen.q.shape, seen.rule
        total = seen.k.shape[2]
        self.shape = (self.batch, self.queries, total)
        self.first_key = 0 if rule is None or cross else rule.first_key
        self.first = total - self.queries if rule is None else rule.first  # position of the first query
        ahead = 0 if cross else self.first - self.first_key
        new = slice(0, total) if cross else slice(ahead, ahead + self.queries)
        self.q, self.lse = Kept(seen.q), KeptRows(seen.lse)
        self.k: Kept | None = Kept(seen.k[:, :, new])  # None: the same as in an earlier chunk
        self.v = Kept(seen.v[:, :, new]) if values else None
        self.old_keys = None if cross or not ahead else seen.k[:, :, :ahead]  # until must_continue() has compared them
        padding = None if rule is None else rule.padding
        self._padding = padding, new
        self.pattern: Pattern | None
        self._table: Any  # a tensor or a Mask; [B, N, M] of bool after the first allowed()
        if rule is not None:
            self.pattern, self._table = rule.pattern, rule.table
        else:
            self.pattern, self._table = (Pattern(causal=seen.causal) if seen.mask is None else None), seen.mask
        self.scale = self.width**-0.5 if seen.scale is None else float(seen.scale)
        self.softcap = float(seen.softcap or 0)
        self.sink = None if seen.sink is None else seen.sink.detach().float().reshape(1, -1).numpy()
        self.bias = self._distances(seen.bias)

    @staticmethod
    def _distances(bias: torch.Tensor | None) -> DistanceBias | None:
        if bias is None:
            return None
        found = _plug_in.kept(bias, "bias", _plug_in.by_distance)
        if isinstance(found, torch.Tensor):
            raise ValueError(
                "the model adds a bias that does not depend on the distance alone, which cannot be recorded"
            )
        return found

    @property
    def real(self) -> torch.Tensor:
        """[B, M]: which of the stored keys are not padding."""
        padding, new = self._padding
        return torch.ones(self.batch, new.stop - new.start).bool() if padding is None else padding[:, new]

    @property
    def causal(self) -> bool:
        return self.pattern is not None and self.pattern.causal

    def allowed(self, b: int) -> np.ndarray:
        """Returns [N, M] of bool, without regard to padding."""
        if self.pattern is not None:
            mask = self.pattern.mask(self.first - self.first_key)
            if mask is None:
                return np.ones(self.shape[1:], bool)
            packed = self.pattern.documents is not None
            return mask.table(self.batch, 1, *self.shape[1:])[b, 0] if packed else mask.table(*self.shape[1:])
        if isinstance(self._table, torch.Tensor):
            self._table = _allowed(self._table, self.shape)
        elif not isinstance(self._table, np.ndarray):
            self._table = self._table.table(self.batch, 1, *self.shape[1:])[:, 0]
        return self._table[b]


@dataclass
class RecordedBatch:
    """The attention of one batch of texts: per kind and layer, one chunk for each call that continued it."""

    parts: dict[str, list[list[Chunk]]] = field(default_factory=dict)
    source: list[torch.Tensor | int] = field(default_factory=list)  # ids [B, N], or their number if there are no ids
    target: list[torch.Tensor | int] = field(default_factory=list)
    labels: torch.Tensor | None = None
    writes: GenerationConfig | None = None  # of the generate() that continues it

    def rows(self, kind: str) -> int:
        return sum(chunk.queries for chunk in self.parts[kind][0])

    def must_continue(self, chunks: list[Chunk], kind: str) -> None:
        """Raises RuntimeError unless these queries follow what was recorded, in the same texts."""
        first, before = chunks[0], self.parts[kind]
        if len(before) != len(chunks) or before[0][0].batch != first.batch or self.rows(kind) != first.first:
            raise RuntimeError(
                f"a call continues at token {first.first} of {first.batch} texts, but {self.rows(kind)} tokens of "
                f"{before[0][0].batch} texts were recorded: a modified cache cannot be followed"
            )
        if first.old_keys is None:
            return
        known = torch.cat([chunk.k.rows for chunk in before[0] if chunk.k is not None], dim=1)[:, first.first_key :]
        if not torch.equal(known, Kept(first.old_keys).rows):
            raise RuntimeError(
                f"the texts of the cache changed places, as in beam search, and cannot be followed: {_INSTEAD}"
            )

    def extend(self, calls: dict[str, list[Chunk]], ids: dict[str, torch.Tensor]) -> None:
        for kind, chunks in calls.items():
            layers = self.parts.setdefault(kind, [[] for _ in chunks])
            for layer, chunk in zip(layers, chunks):
                if kind == "cross" and layer:
                    chunk.k = chunk.v = None
                chunk.old_keys = None
                layer.append(chunk)
        for kind, key in (("self", "source"), ("decoder", "target")):
            if kind in calls:
                shape = (calls[kind][0].batch, calls[kind][0].queries)
                fits = key in ids and tuple(ids[key].shape) == shape
                getattr(self, key).append(ids[key] if fits else shape[1])
        if "decoder" in calls and "labels" in ids:
            self.labels = ids["labels"]


def _generate_config() -> GenerationConfig | None:
    """Returns the config of the calling generate(), or None; it pads ended texts without telling the model."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_assisted_decoding":
            raise RuntimeError(
                f"assisted decoding discards tokens that it has read, and cannot be followed: {_INSTEAD}"
            )
        if frame.f_code.co_name == "generate":
            found = frame.f_locals.get("generation_config")
            if isinstance(found, GenerationConfig):
                return found
        frame = frame.f_back
    return None


class Recorder:
    """Hooks into a model and the models inside it, and listens to their attention.

    Never interrupts the model: an error is stored in `trouble`, and nothing more is recorded.
    """

    def __init__(self, model: torch.nn.Module, values: bool) -> None:
        self.batches: list[RecordedBatch] = []
        self.called = False
        self.trouble: Exception | None = None
        self._values = values
        self._names = {module: name.lower().split(".") for name, module in model.named_modules()}
        self._models = [module for module in model.modules() if isinstance(module, PreTrainedModel)]
        self._paired = any(getattr(one.config, "is_encoder_decoder", False) for one in self._models)
        self._depth = 0
        self._now: dict[str, list[Chunk]] = {}
        self._ids: dict[str, torch.Tensor] = {}
        self._handles: list[Any] = []

    def attach(self) -> None:
        for one in self._models:
            self._handles.append(one.register_forward_pre_hook(self._before, with_kwargs=True))
            self._handles.append(one.register_forward_hook(self._after, always_call=True))

    def detach(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _in_decoder(self, module: torch.nn.Module) -> bool:
        return self._paired and "decoder" in self._names[module]

    def _before(self, module, args, kwargs) -> None:
        if self._depth == 0:
            self._now, self._ids, self.called = {}, {}, True
        self._depth += 1
        given = dict(zip(inspect.signature(module.forward).parameters, args), **kwargs)
        own = "target" if self._in_decoder(module) else "source"
        for name, key in (("input_ids", own), ("decoder_input_ids", "target"), ("labels", "labels")):
            if isinstance(given.get(name), torch.Tensor) and given[name].dim() == 2:
                self._ids[key] = given[name].detach().clone()

    def _after(self, module, args, result) -> None:
        self._depth -= 1
        if self._depth == 0 and result is not None and self.trouble is None:  # None: an exception is being raised
            try:
                self._commit()
            except Exception as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.trouble = error
        self.batches, self._now = [], {}

    def hear(self, seen: _plug_in.Seen) -> None:
        """Records one attention of the current call; recomputation for gradients happens outside of calls."""
        if self._depth == 0 or self.trouble is not None or seen.module not in self._names:
            return
        kind = "decoder" if self._in_decoder(seen.module) else "self"
        if "cross" in type(seen.module).__name__.lower() or not _CROSS_NAMES.isdisjoint(self._names[seen.module]):
            kind = "cross"
        try:
            self._now.setdefault(kind, []).append(Chunk(seen, kind == "cross", self._values))
        except Exception as error:
            self._give_up(error)

    def _commit(self) -> None:
        """Appends the finished call to the last batch that it continues, or starts a new one."""
        now, self._now = self._now, {}
        if not now:
            return
        if "cross" in now and not self._paired:  # a decoder without its encoder
            now["decoder"] = now.pop("self", [])
        for kind, chunks in now.items():
            if len({(chunk.queries, chunk.heads, chunk.batch) for chunk in chunks}) > 1:
                raise ValueError(
                    f"the model has several stacks of {kind} attention, with different lengths or heads: record one of "
                    "them, as in at.record(model.language_model)"
                )
        main = "decoder" if "decoder" in now else "self"
        writes = _generate_config()
        recorded = self._continued(now, main) or self._begun(now, main)
        recorded.extend(now, self._ids)
        recorded.writes = writes

    def _continued(self, now: dict[str, list[Chunk]], main: str) -> RecordedBatch | None:
        """Returns the batch that a call continues: its cache is not empty, or it decodes what was encoded."""
        first = now[main][0].first
        last = self.batches[-1] if self.batches else None
        if first == 0:
            encoded = last is not None and main == "decoder" and "self" not in now and "decoder" not in last.parts
            return last if encoded else None
        if last is None or main not in last.parts:
            raise RuntimeError(
                f"the first call continues a cache of {first} tokens that was filled earlier: "
                "start recording before that"
            )
        last.must_continue(now[main], main)
        return last

    def _begun(self, now: dict[str, list[Chunk]], main: str) -> RecordedBatch:
        """Starts a new batch; a decoder that starts over keeps the source of the previous one."""
        begun = RecordedBatch()
        if main == "decoder" and "self" not in now and self.batches:
            before = self.batches[-1]
            begun.parts = {kind: part for kind, part in before.parts.items() if kind == "self"}
            begun.source = before.source
        self.batches.append(begun)
        return begun
