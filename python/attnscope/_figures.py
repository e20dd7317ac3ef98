"""Figures: one description, drawn to a file, in a notebook or in the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _scope
from ._parts import number, path_of, place, text_of, whole
from ._recording import Recording, Stack

if TYPE_CHECKING:
    from ._report import HeadReport

_FIGURES = ("heatmap", "heads", "headview", "overview")
_TABLES = ("heatmap", "heads", "overview")
_BELONGS = {
    "layer": ("heatmap", "heads", "headview"),
    "head": ("heatmap", "heads", "headview"),
    "heads": ("heads", "headview"),
    "cmap": _TABLES,
    "scale": _TABLES,
    "range": _TABLES,
    "values": ("heatmap",),
    "reduce": _TABLES,
    "threshold": ("headview",),
    "columns": ("heads",),
    "xlabel": ("heatmap", "heads"),
    "ylabel": ("heatmap", "heads"),
    "bar_label": _TABLES,
}
_UNSAID = {"values": False, "reduce": "max"}


class Figure:
    """A picture of attention: see Recording.figure(), heatmap(), heads(), headview() and overview().

    A notebook displays it, and print() draws it with characters.

    >>> import numpy as np, attnscope as at
    >>> figure = at.heatmap(np.array([[1.0, 0.0], [0.5, 0.5]]), ["the", "cat"])
    >>> figure.png()[:4]
    b'\\x89PNG'
    >>> figure.svg()[:5]
    '<?xml'
    """

    __slots__ = ("_held",)

    def __init__(self, held: _scope.Drawing) -> None:
        self._held = held

    def save(self, path: str | os.PathLike, dpi: float = 150) -> None:
        """Writes a .png, .svg or .pdf file, whole or not at all.

        dpi, 20 to 2400, is the resolution of a .png and of the tables inside the other formats. Raises ValueError for
        another ending or dpi, attnscope.Error if the file cannot be written.
        """
        self._held.save(path_of(path, "path"), _dpi(dpi))

    def png(self, dpi: float = 150) -> bytes:
        """Returns the bytes of a .png file."""
        return self._held.draw("png", _dpi(dpi))

    def svg(self, dpi: float = 150) -> str:
        """Returns the text of an .svg file."""
        return self._held.draw("svg", _dpi(dpi)).decode()

    def pdf(self, dpi: float = 150) -> bytes:
        """Returns the bytes of a .pdf file."""
        return self._held.draw("pdf", _dpi(dpi))

    def show(self) -> None:
        """Prints the figure to the terminal, at its full width and with the colours it has."""
        print(self._held.text(0), end="")

    def __str__(self) -> str:
        return self._held.text(80).rstrip("\n")

    def __repr__(self) -> str:
        return f"<attnscope.Figure: {self._held.title() or 'untitled'}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def _dpi(dpi: float) -> float:
    dots = number(dpi, "dpi")
    if not 20 <= dots <= 2400:
        raise ValueError(f"dpi is {dpi}; it must be from 20 to 2400")
    return dots


def figure_of(
    recording: Recording, kind: str, which: dict[str, Any], view: dict[str, Any], look: dict[str, Any]
) -> Figure:
    """Implements Recording.figure(). which: the heads; view: the ViewOptions; look: colours and labels."""
    if kind not in _FIGURES:
        raise ValueError(f"there is no figure {kind!r}; choose from {', '.join(_FIGURES)}")
    if view["measure"] not in ("raw", "value"):
        raise ValueError(f"there is no measure {view['measure']!r}; choose raw or value")
    _check_kind(kind, {**which, **look})
    stack = recording._stack(which["attention"])
    options = {"attention": stack.kind, **_checked(look)}
    if kind != "overview":
        options["layer"], options["heads"] = _chosen(recording, stack, kind, which)
    held = recording._held.view(view["measure"], bool(view["words"]), bool(view["without_sinks"]))
    return Figure(getattr(_scope, kind)(held, options))


def _check_kind(kind: str, options: dict[str, Any]) -> None:
    """Raises ValueError for an option that only other kinds of figures have."""
    for name, kinds in _BELONGS.items():
        said = options[name] is not None and not (name in _UNSAID and options[name] == _UNSAID[name])
        if said and kind not in kinds:
            hint = "; a heatmap shows one head: pass head" if (kind, name) == ("heatmap", "heads") else ""
            raise ValueError(f"{name} belongs to {' and '.join(kinds)}, not to {kind}{hint}")


def _checked(look: dict[str, Any]) -> dict[str, Any]:
    """Returns the options as the C++ module takes them; those that were left out stay None."""
    checks = {
        "range": _ends,
        "threshold": lambda given: number(given, "threshold"),
        "columns": lambda given: whole(given, "columns", 1, 1000),
        "values": bool,
    }
    return {
        name: given if given is None else checks[name](given) if name in checks else text_of(given, name)
        for name, given in look.items()
    }


def _ends(given: Any) -> tuple[float, ...]:
    if not isinstance(given, Iterable):
        raise TypeError(f"range must be two numbers, not {type(given).__name__}")
    ends = tuple(number(each, "range") for each in given)
    if len(ends) != 2:
        raise ValueError(f"range has {len(ends)} numbers; it takes two, for the lowest and the highest colour")
    return ends


def _chosen(recording: Recording, stack: Stack, kind: str, which: dict[str, Any]) -> tuple[int, list[int]]:
    """Returns the layer and the heads to draw; defaults are those of the head that analyze() ranks first."""
    layer, head, heads = which["layer"], which["head"], which["heads"]
    if heads is not None and head is not None:
        raise TypeError("pass head or heads, not both")
    if heads is not None and (isinstance(heads, str) or not isinstance(heads, Iterable)):
        raise TypeError(f"heads must be a list of whole numbers, not {type(heads).__name__}")
    layer = 0 if layer is None and stack.layers == 1 else layer
    layer = layer if layer is None else place(layer, stack.layers, "layer")
    head = 0 if head is None and kind == "heatmap" and stack.heads == 1 else head
    head = head if head is None else place(head, stack.heads, "head")
    if layer is None or (head is None and kind == "heatmap"):
        best = next(
            each
            for each in _ranked(recording)
            if each.kind == stack.kind and layer in (None, each.layer) and head in (None, each.head)
        )
        layer, head = best.layer, best.head if kind == "heatmap" else head
    if head is not None:
        return layer, [head]
    return layer, list(range(stack.heads) if heads is None else (place(each, stack.heads, "head") for each in heads))


def _ranked(recording: Recording) -> list[HeadReport]:
    try:
        return (recording._weights or recording).analyze().heads
    except ValueError as error:
        raise ValueError(f"pass layer and head: the heads cannot be ranked, {error}") from None


def heatmap(
    weights: Any,
    tokens: Iterable[str] | None = None,
    key_tokens: Iterable[str] | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    **options: Any,
) -> Figure:
    """Draws one table: rows are queries, columns are keys.

    weights is any table of numbers, [N, M] or, with the layer and the head to draw, [H, N, M] or [L, H, N, M]: numpy,
    torch, nested lists, anything with DLPack, the `attentions` that transformers returns, or a Recording. tokens name
    the rows, and key_tokens the columns (default: the same). The options, and what is raised, are those of
    Recording.figure().

    >>> import attnscope as at
    >>> print(at.heatmap([[1.0, 0.0], [0.25, 0.75]], ["the", "cat"], values=True, title="A table"))
    A table
    ...
    """
    return _recording(weights, tokens, key_tokens).figure("heatmap", layer=layer, head=head, **options)


def heads(
    weights: Any,
    tokens: Iterable[str] | None = None,
    key_tokens: Iterable[str] | None = None,
    *,
    layer: int | None = None,
    heads: Iterable[int] | None = None,
    **options: Any,
) -> Figure:
    """Draws the heads of a layer side by side. weights, tokens and options are those of heatmap().

    >>> import numpy as np, attnscope as at
    >>> weights = np.full((4, 3, 3), 1 / 3)
    >>> at.heads(weights, ["the", "cat", "sat"], title="Four heads").svg().count("head ")
    4
    """
    return _recording(weights, tokens, key_tokens).figure("heads", layer=layer, heads=heads, **options)


def headview(
    weights: Any,
    tokens: Iterable[str] | None = None,
    key_tokens: Iterable[str] | None = None,
    *,
    layer: int | None = None,
    heads: Iterable[int] | None = None,
    **options: Any,
) -> Figure:
    """Draws heads of a layer as lines between two columns of tokens. weights and tokens are those of heatmap().

    >>> import numpy as np, attnscope as at
    >>> at.headview(np.full((2, 3, 3), 1 / 3), ["the", "cat", "sat"], threshold=0.1)
    <attnscope.Figure: layer 0>
    """
    return _recording(weights, tokens, key_tokens).figure("headview", layer=layer, heads=heads, **options)


def overview(
    weights: Any,
    tokens: Iterable[str] | None = None,
    key_tokens: Iterable[str] | None = None,
    **options: Any,
) -> Figure:
    """Draws every head of every layer as a thumbnail. weights, tokens and options are those of heatmap().

    >>> import numpy as np, attnscope as at
    >>> at.overview(np.full((2, 4, 3, 3), 1 / 3), title="Two layers, four heads")
    <attnscope.Figure: Two layers, four heads>
    """
    return _recording(weights, tokens, key_tokens).figure("overview", **options)


def _recording(weights: Any, tokens: Any, key_tokens: Any) -> Recording:
    if isinstance(weights, Recording):
        if tokens is not None or key_tokens is not None:
            raise TypeError("a recording has its own tokens: leave out tokens and key_tokens")
        return weights
    return Recording.from_tables(weights, tokens, key_tokens)
