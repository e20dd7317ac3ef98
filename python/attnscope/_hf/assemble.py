"""Assembles recordings from what a Recorder kept: one per text, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import _masks, _scope
from . import tokens as _tokens
from .recorder import Chunk, Kept, RecordedBatch

_KINDS = ("self", "decoder", "cross")


def _joined(tensors: list[torch.Tensor], axis: int) -> torch.Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors, dim=axis)


def _neighbours(rows: np.ndarray) -> bool:
    return len(rows) == 0 or rows[-1] - rows[0] + 1 == len(rows)


class Places:
    """The tokens of a batch that are not padding, per kind: the rows and columns that each text keeps."""

    def __init__(self, recorded: RecordedBatch):
        self.real = {
            kind: _joined([chunk.real for chunk in layers[0]], 1)
            for kind, layers in recorded.parts.items()
            if kind != "cross"
        }
        if "cross" in recorded.parts and "self" not in self.real:
            self.real["self"] = recorded.parts["cross"][0][0].real
        main = "decoder" if "decoder" in self.real else "self"
        self.batch = self.real[main].shape[0]
        parts = recorded.target if main == "decoder" else recorded.source
        if recorded.writes is not None and len(parts) > 1 and not any(isinstance(part, int) for part in parts[1:]):
            written = torch.cat(parts[1:], dim=1)
            for b, ids in enumerate(written.tolist()):
                padding = _tokens.padding_behind(ids, recorded.writes)
                self.real[main][b, self.real[main].shape[1] - padding :] = False

    def index(self, kind: str, b: int) -> int:
        """Returns the index of text b in the batch of this kind: several targets may share a source."""
        batch = self.real[kind].shape[0]
        return b if batch == self.batch else b * batch // self.batch

    def rows(self, kind: str, b: int) -> np.ndarray:
        return np.flatnonzero(self.real[kind][self.index(kind, b)].numpy())

    def of(self, kind: str, b: int) -> tuple[np.ndarray, np.ndarray]:
        if kind == "cross":
            return self.rows("decoder", b), self.rows("self", b)
        return self.rows(kind, b), self.rows(kind, b)


def _mask_of_table(table: np.ndarray) -> dict[str, Any]:
    if table.all():
        return {}
    if np.array_equal(table, np.tri(*table.shape, dtype=bool)):
        return {"causal": True}
    return {"also": str(_masks.mask(table))}


def _mask(chunks: list[Chunk], at: int, rows: np.ndarray, cols: np.ndarray) -> dict[str, Any]:
    """Returns causal, window and also of the mask rule, for a text without its padding."""
    pattern = chunks[0].pattern
    if pattern is None or any(chunk.pattern != pattern for chunk in chunks):
        return _mask_of_table(_table(chunks, at)[np.ix_(rows, cols)])
    documents = pattern.documents
    packed = documents is not None
    sided = pattern.near is None if pattern.causal else pattern.back is None  # a rule has one kind of window only
    window = pattern.back or pattern.near or 0
    if not sided or (window and (packed or not _neighbours(rows) or not _neighbours(cols))):
        return _mask_of_table(_table(chunks, at)[np.ix_(rows, cols)])
    rule: dict[str, Any] = {"causal": pattern.causal, "window": window}
    if documents is not None:
        rule["also"] = str(_masks.document(documents.expand(chunks[0].batch, -1)[at].numpy()[rows]))
    return rule


def _table(chunks: list[Chunk], at: int) -> np.ndarray:
    """Returns the table [N, M] of all calls together."""
    keys = sum(chunk.k.rows.shape[1] for chunk in chunks if chunk.k is not None)
    table = np.zeros((sum(chunk.queries for chunk in chunks), keys), bool)
    row = 0
    for chunk in chunks:
        part = chunk.allowed(at)[:, : keys - chunk.first_key]
        table[row : row + chunk.queries, chunk.first_key : chunk.first_key + part.shape[1]] = part
        row += chunk.queries
    return table


def _distances(chunks: list[Chunk], rows: np.ndarray, cols: np.ndarray) -> np.ndarray | None:
    """Returns the bias by distance of a text without its padding, [H, N + M - 1]; distances that do not occur are 0."""
    if all(chunk.bias is None for chunk in chunks):
        return None
    if not (_neighbours(rows) and _neighbours(cols)):
        raise ValueError("a bias by distance cannot be recorded if there is padding between tokens")
    queries = sum(chunk.queries for chunk in chunks)
    keys = max(chunk.first_key + chunk.shape[2] for chunk in chunks)
    whole, row = np.zeros((chunks[0].heads, queries + keys - 1), np.float32), 0
    for chunk in chunks:
        if chunk.bias is not None:
            table = chunk.bias.table.numpy()
            start = chunk.first_key - row - (chunk.queries - 1) + queries - 1
            whole[:, start : start + table.shape[1]] = table
        row += chunk.queries
    start = cols[0] - rows[0] - (len(rows) - 1) + queries - 1
    return np.ascontiguousarray(whole[:, start : start + len(rows) + len(cols) - 1])


class Assembler:
    """Makes the recordings of one batch, layer by layer, and frees each layer after it."""

    def __init__(self, recorded: RecordedBatch, values: bool):
        self._recorded = recorded
        self._places = Places(recorded)
        self._made = [_scope.Assembly(values) for _ in range(self._places.batch)]
        self._biases: dict[Any, np.ndarray | None] = {}

    def _rule(self, chunks: list[Chunk], kind: str, b: int) -> dict[str, Any]:
        rows, cols = self._places.of(kind, b)
        key = (tuple(id(chunk.bias) for chunk in chunks), kind, b)
        if key not in self._biases:
            self._biases[key] = _distances(chunks, rows, cols)
        first = chunks[0]
        rule = {"causal": False, "window": 0, "also": None, "distance_bias": self._biases[key]}
        rule.update(_mask(chunks, self._at(kind, b), rows, cols))
        return dict(rule, width=first.width, scale=first.scale, softcap=first.softcap, sink=first.sink)

    def _at(self, kind: str, b: int) -> int:
        return self._places.index("self" if kind == "self" else "decoder", b)

    def _add(self, chunks: list[Chunk], kind: str, layer: int, shared: bool) -> None:
        lse = _joined([chunk.lse.rows for chunk in chunks], 2)
        for b, assembly in enumerate(self._made):
            at = self._at(kind, b)
            rows, cols = self._places.of(kind, b)
            if not len(rows) or not len(cols):
                raise ValueError(f"text {b} of the batch is all padding")
            arrays = (
                _rows_of([chunk.q for chunk in chunks], at, rows, shared),
                _rows_of([chunk.k for chunk in chunks], at, cols, shared),
                np.ascontiguousarray(lse[at].numpy()[:, _part(rows)]),
                _rows_of([chunk.v for chunk in chunks], at, cols, shared),
            )
            assembly.add(kind, layer, arrays, self._rule(chunks, kind, b))

    def run(self, origin: tuple[str, str, str], tokenizer: Any, config: Any, shared: bool) -> list[Any]:
        """Returns one recording per text. origin: name, type and form; shared: a later batch has the same source."""
        for kind in _KINDS:
            layers = self._recorded.parts.get(kind, [])
            for layer, chunks in enumerate(layers):
                keep = kind == "self" and shared
                self._add(chunks, kind, layer, keep)
                if not keep:
                    layers[layer] = []
        return [self._finish(b, origin, tokenizer, config) for b in range(len(self._made))]

    def _ids(self, parts: list[torch.Tensor | int], kind: str, b: int) -> list[int] | None:
        if not parts or any(isinstance(part, int) for part in parts):
            return None
        ids = torch.cat(parts, dim=1)[self._places.index(kind, b)].numpy()
        return [int(i) for i in ids[self._places.rows(kind, b)]]

    def _finish(self, b: int, origin: tuple[str, str, str], tokenizer: Any, config: Any) -> Any:
        recorded, places = self._recorded, self._places
        texts: dict[str, list[Any]] = {}
        ids = {"self": self._ids(recorded.source, "self", b), "decoder": self._ids(recorded.target, "decoder", b)}
        for kind, known in ids.items():
            if kind not in places.real:
                texts[kind] = []
            elif known is None:
                texts[kind] = _tokens.numbered(len(places.rows(kind, b)))
            else:
                texts[kind] = _tokens.tokens(known, tokenizer, config)
        written = texts["decoder"][1:] + [_tokens.not_known()] if texts["decoder"] else []
        labels = recorded.labels
        if labels is not None and labels.shape == places.real["decoder"].shape:
            ends = [int(i) for i in labels[b].numpy()[places.rows("decoder", b)]]
            written = _tokens.tokens([max(i, 0) for i in ends], tokenizer, config)
        said = None if ids["decoder"] is None else _tokens.text_of(ids["decoder"], tokenizer)
        text = "" if ids["self"] is None else _tokens.text_of(ids["self"], tokenizer)
        return self._made[b].finish((*origin, text, said), texts["self"], texts["decoder"], written)


def _rows_of(parts: list[Kept | None], at: int, rows: np.ndarray, keep: bool) -> Any:
    """Returns the rows of one text; the memory itself, without a copy, if it holds nothing else."""
    there = [part for part in parts if part is not None]
    if not there:
        return None
    if len(there) == 1 and there[0].rows.shape[:2] == (1, len(rows)) and not keep:
        return there[0].memory
    return _joined([part.rows[at] for part in there], 0).numpy()[_part(rows)]


def _part(rows: np.ndarray) -> slice | np.ndarray:
    """Returns a slice if rows are contiguous, which needs no copy."""
    return slice(int(rows[0]), int(rows[-1]) + 1) if _neighbours(rows) else rows
