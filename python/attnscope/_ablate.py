"""Switches heads off and measures how the model's predictions change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _scope
from ._parts import place, whole
from ._recording import Recording

_CHOICE = ("word", "id", "probability")


def ablate(recording: Recording, heads: Any, at: Any, top: int) -> dict[str, Any]:
    """Implements Recording.ablate()."""
    if recording._model is None:
        raise ValueError("ablate() runs the model again: it takes a recording that Model.record() made")
    places = _places(recording, at)
    if heads is None:
        found = _scope.ablate_each(recording._held, recording._model, places)
        return {"heads": [_effect(*each) for each in found]}
    if not isinstance(heads, Iterable):
        raise TypeError(f"heads must be a list of (layer, head), not {type(heads).__name__}")
    off = [_head(recording, head) for head in heads]
    if not off:
        raise ValueError("heads is empty: name some, or leave it out to switch each head off by itself")
    found = _scope.ablate(recording._held, recording._model, off, places, whole(top, "top", 1))
    positions = [_moved(*each) for each in found]
    return {
        "off": [dict(zip(("kind", "layer", "head"), head)) for head in off],
        "kl": sum(each["kl"] for each in positions) / len(positions),
        "positions": positions,
    }


def _places(recording: Recording, at: Any) -> list[int]:
    """Returns the indices of tokens: in the text, or in the output of an encoder-decoder."""
    if at is None:
        return []
    tokens = recording._stack("decoder" if "decoder" in recording.kinds else "self").queries
    return [place(each, tokens, "token") for each in ([at] if hasattr(at, "__index__") else at)]


def _head(recording: Recording, head: Any) -> tuple[str, int, int]:
    """Checks (layer, head) or (kind, layer, head) and returns (kind, layer, head), counted from 0."""
    if not isinstance(head, Iterable):
        raise TypeError(f"heads must be a list of (layer, head) or (kind, layer, head), not of {type(head).__name__}")
    parts = tuple(head)
    if len(parts) not in (2, 3):
        raise ValueError(f"a head is (layer, head) or (kind, layer, head), not {parts}")
    kind, layer, number = parts if len(parts) == 3 else ("self", *parts)
    stack = recording._stack(kind)
    return kind, place(layer, stack.layers, "layer"), place(number, stack.heads, "head")


def _moved(token: int, text: str, kl: float, before: list, after: list) -> dict[str, Any]:
    lists = {"before": before, "after": after}
    words = {name: [dict(zip(_CHOICE, choice)) for choice in choices] for name, choices in lists.items()}
    return {"token": token, "text": text, "kl": kl, **words}


def _effect(kind: str, layer: int, head: int, kl: float, likeliest: list) -> dict[str, Any]:
    words = [dict(zip(_CHOICE, choice)) for choice in likeliest]
    return {"kind": kind, "layer": layer, "head": head, "kl": kl, "likeliest": words}
