"""Recordings: the attention of a model over a text, or tables of weights from elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _scope, _tables
from ._parts import part, path_of, place, text_of, whole

if TYPE_CHECKING:
    from ._compare import Comparison
    from ._figures import Figure
    from ._page import Page
    from ._report import Report, Statistics


class Stack(NamedTuple):
    """The sizes of one kind of attention."""

    kind: str
    layers: int
    heads: int
    queries: int
    keys: int


class Recording:
    """The attention of a model over one text, or tables of weights from elsewhere.

    Model.record(), record(), open() and Recording.from_tables() make one. A model's recording stores queries, keys and
    one number per row; every weight is rebuilt from them, exactly, on demand.

    Layers and heads count from 0; negative numbers count from the end. kind is "self" or, in an encoder-decoder, also
    "decoder" (among the tokens of its output) and "cross" (from these to the text). Methods raise IndexError for a
    layer, head or token that does not exist, ValueError for a kind that the recording does not have.

    >>> import attnscope as at
    >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
    >>> rec.tokens
    ['[CLS]', 'the', 'cat', 'sat', 'on', 'the', 'mat', '.', '[SEP]']
    >>> rec.shape
    (4, 4, 9, 9)
    >>> rec.weights(layer=2, head=0).shape
    (9, 9)
    """

    def __init__(self, held: _scope.Recording, model: _scope.Model | None = None) -> None:
        self._held = held
        self._model = model  # that made it, if it can run again: for trace() and ablate()
        self._stacks = [Stack(*each) for each in held.stacks()]
        self._report: Report | None = None
        self._weights: Recording | None = None  # of one that is value-weighted: what it was made from

    @classmethod
    def from_tables(
        cls,
        weights: Any,
        tokens: Iterable[str] | None = None,
        key_tokens: Iterable[str] | None = None,
        name: str = "",
    ) -> Recording:
        """Makes a recording from tables [N, M], [H, N, M] or [L, H, N, M] of any float type, or a list of tables.

        Takes numpy, torch, nested lists, anything with DLPack, or the `attentions` that transformers returns for one
        text, L arrays [1, H, N, M]. tokens name the rows, and key_tokens the columns (default: the same). The numbers
        are copied. Raises TypeError for anything but numbers, ValueError if shapes or names do not fit.

        >>> import numpy as np, attnscope as at
        >>> at.Recording.from_tables(np.full((2, 3, 3), 1 / 3), ["the", "cat", "sat"]).shape
        (1, 2, 3, 3)
        """
        layers = _tables.layers_of(weights)
        names = _tables.names_of(tokens, "tokens"), _tables.names_of(key_tokens, "key_tokens")
        return cls(_scope.from_tables(layers, *names, text_of(name, "name")))

    # ---- what it is ----

    @property
    def name(self) -> str:
        """Name of the model or of the file."""
        return self._held.name

    @property
    def text(self) -> str:
        """The text that the model read; empty for tables."""
        return self._held.origin().get("text", "")

    @property
    def target(self) -> str | None:
        """The output text of an encoder-decoder; None for other models."""
        return self._held.origin().get("target")

    @property
    def tokens(self) -> list[str]:
        """Names of the rows of the first kind."""
        return self.queries()

    def queries(self, kind: str | None = None) -> list[str]:
        """Returns the names of the rows; in cross-attention these are the output tokens."""
        return self._held.queries(self._stack(kind).kind)

    def keys(self, kind: str | None = None) -> list[str]:
        """Returns the names of the columns."""
        return self._held.keys(self._stack(kind).kind)

    @property
    def stacks(self) -> list[Stack]:
        """One Stack per kind of attention: kind, layers, heads, queries, keys."""
        return list(self._stacks)

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention in the recording: self, decoder, cross."""
        return [stack.kind for stack in self._stacks]

    @property
    def layers(self) -> int:
        """Number of layers of the first kind; heads and shape refer to it too."""
        return self._stacks[0].layers

    @property
    def heads(self) -> int:
        """Number of heads per layer."""
        return self._stacks[0].heads

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(layers, heads, queries, keys) of the first kind."""
        return self._stacks[0][1:]

    def _stack(self, kind: str | None) -> Stack:
        if kind is None:
            return self._stacks[0]
        for stack in self._stacks:
            if stack.kind == kind:
                return stack
        raise ValueError(f"there is no attention of kind {kind!r}, only: {', '.join(self.kinds)}")

    def _kind(self, kind: str | None) -> str | None:
        """Checks a kind; None means all of them."""
        return kind if kind is None else self._stack(kind).kind

    def __repr__(self) -> str:
        sizes = "; ".join(
            f"{stack.kind} {stack.layers} layers x {stack.heads} heads, {stack.queries} x {stack.keys} tokens"
            for stack in self._stacks
        )
        weighted = ", value-weighted" if self._held.numbers() == "weights times norms" else ""
        return f"<attnscope.Recording{' of ' + self.name if self.name else ''}{weighted}: {sizes}>"

    def __copy__(self) -> Recording:
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> Recording:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("recordings cannot be pickled: use rec.save(path) and attnscope.open(path)")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from . import _page

        several = self.layers * self.heads > 1
        picture = self.figure("overview" if several else "heatmap").svg()
        return {"text/html": picture + (_page.iframe(self) or ""), "text/plain": repr(self)}

    # ---- the numbers ----

    def weights(
        self,
        layer: int | slice | range | None = None,
        head: int | slice | range | None = None,
        kind: str = "self",
        rows: int | slice | range | None = None,
        cols: int | slice | range | None = None,
    ) -> np.ndarray:
        """Computes attention weights, float32 [layers, heads, rows, cols]; a single number drops its axis.

        Each of them is a number, a slice, a range of step 1, or None for all. Only the selected weights are computed
        and held in memory. Raises IndexError for a number out of range.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
        >>> rec.weights().shape
        (4, 4, 9, 9)
        >>> rec.weights(layer=-1, head=slice(0, 2), rows=3).shape
        (2, 9)
        >>> rec.weights(layer=4)
        Traceback (most recent call last):
            ...
        IndexError: there is no layer 4: layers count from 0 to 3
        """
        stack = self._stack(kind)
        asked = ((layer, "layer"), (head, "head"), (rows, "row"), (cols, "column"))
        parts = [part(given, count, what) for (given, what), count in zip(asked, stack[1:])]
        window = tuple(number for first, count, _ in parts for number in (first, count))
        table = self._held.weights(stack.kind, window)
        return table[tuple(slice(None) if stays else 0 for _, _, stays in parts)]

    def hidden(self, layer: int = -1, decoder: bool = False) -> np.ndarray:
        """Returns hidden states [N, width] of a recording made with hidden=True; 0 is the input of the first layer.

        Raises ValueError if the recording has none.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat.", hidden=True).hidden(0).shape
        (6, 160)
        """
        count = self._held.hidden_count(decoder)
        return self._held.hidden(place(layer, count, "layer") if count else 0, decoder)

    def statistics(self, kind: str | None = None, beyond: int = 16) -> Statistics:
        """Computes entropy, distance and shares of attention per head, without storing any table.

        kind selects one kind of attention (default: all). beyond is the distance, in tokens, at which the share
        `beyond` begins.

        >>> import attnscope as at
        >>> statistics = at.load("tiny-bert").record("The cat sat on the mat.").statistics()
        >>> statistics.array("entropy").shape
        (4, 4)
        """
        from ._report import statistics_of

        return statistics_of(self._held, self._kind(kind), whole(beyond, "beyond", 0))

    def analyze(self, kind: str | None = None, beyond: int = 16) -> Report:
        """Describes what every head does, and ranks them by interest, with the reason in words.

        kind and beyond are those of statistics(). Raises ValueError for tables that are not attention weights.

        >>> import attnscope as at
        >>> report = at.load("tiny-bert").record("The cat sat on the mat.").analyze()
        >>> len(report.heads), report.look_at.rank
        (16, 1)
        """
        from ._report import Report

        if (kind, beyond) != (None, 16):
            return Report(_scope.analyze(self._held, self._kind(kind), whole(beyond, "beyond", 0)))
        if self._report is None:
            self._report = Report(_scope.analyze(self._held, None, 16))
        return self._report

    # ---- other views ----

    def words(self) -> Recording:
        """Joins the pieces of each word: rows are averaged, columns are added.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("Microscopes show it.")
        >>> rec.tokens[1:4], rec.words().tokens[1:4]
        (['mic', '##ros', '##co'], ['Microscopes', 'show', 'it'])
        """
        made = Recording(self._held.view("raw", True, False))
        made._weights = self._weights
        return made

    def value_weighted(self) -> Recording:
        """Multiplies each weight by the norm of what it brings, |p v W_O| (Kobayashi et al., 2020).

        Takes a model's recording; raises ValueError for tables. The result has weights() and figure(). Its rows do not
        sum to 1: call analyze() and the like, and save(), on the original, which stores the norms.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat.").value_weighted().weights(layer=0, head=0).shape
        (6, 6)
        """
        made = Recording(self._held.view("value", False, False))
        made._weights = self
        return made

    def without_sinks(self) -> Recording:
        """Removes sinks: the first key and special tokens weigh 0, and rows are renormalised.

        A row that keeps no more than a millionth of its attention stays 0. Raises ValueError where the numbers are not
        weights, as those of value_weighted().

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat.").without_sinks()
        >>> float(rec.weights(layer=0, head=0)[2, 0])
        0.0
        """
        made = Recording(self._held.view("raw", False, True))
        made._weights = self._weights
        return made

    # ---- looking ----

    def figure(
        self,
        kind: str = "heatmap",
        *,
        layer: int | None = None,
        head: int | None = None,
        heads: Iterable[int] | None = None,
        attention: str | None = None,
        measure: str = "raw",
        words: bool = False,
        without_sinks: bool = False,
        cmap: str | None = None,
        scale: str | None = None,
        range: tuple[float, float] | None = None,
        values: bool = False,
        reduce: str = "max",
        threshold: float | None = None,
        columns: int | None = None,
        title: str | None = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        bar_label: str | None = None,
    ) -> Figure:
        """Draws a "heatmap" of one head, the "heads" of a layer, a "headview" (lines between tokens) or an "overview".

        layer, head  what to draw (default: the head that analyze() ranks first)
        heads        for "heads" and "headview": a list of the layer's heads (default: all)
        attention    "self", "decoder" or "cross"
        measure      "raw": the weights; "value": each times the norm of what it brings
        words        join the pieces of each word
        without_sinks  remove the first key and special tokens, and renormalise rows
        cmap         viridis, magma, cividis, YlOrRd, Blues or RdBu
        scale        "linear", "sqrt" or "log": how numbers become colours
        range        values of the lowest and the highest colour (default: 0 and the largest weight)
        values       print numbers in the cells of a heatmap, where they fit
        reduce       "max" or "mean": the value of a cell that stands for many weights, in pictures of long texts
        threshold    for "headview": weights below it are not drawn
        columns      for "heads": how many panels per row
        title, xlabel, ylabel, bar_label    text around the picture

        Raises ValueError for a value that is not listed here, or an option that the kind of figure does not have.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
        >>> rec.figure("heads", layer=1, title="Layer 1").save("heads.svg")
        >>> rec.figure(layer=1, head=0, cmap="Blues")
        <attnscope.Figure: tiny-bert, layer 1, head 0>
        """
        from ._figures import figure_of

        which = {"layer": layer, "head": head, "heads": heads, "attention": attention}
        view = {"measure": measure, "words": words, "without_sinks": without_sinks}
        look = {
            "cmap": cmap,
            "scale": scale,
            "range": range,
            "values": values,
            "reduce": reduce,
            "threshold": threshold,
            "columns": columns,
            "title": title,
            "xlabel": xlabel,
            "ylabel": ylabel,
            "bar_label": bar_label,
        }
        return figure_of(self, kind, which, view, look)

    def find(self, pattern: Any, kind: str | None = None, top: int = 10) -> list[dict[str, Any]]:
        """Finds the `top` heads that are most similar to a pattern: [{layer, head, kind, similarity}], best first.

        pattern is a name (previous, next, same, offset(-3), first, separators, punctuation, duplicate, induction,
        local, broad), a mask ("causal & window(2)", or causal() and the like), or an array: a small picture of the
        table. Raises ValueError for an unknown name.

        >>> import attnscope as at
        >>> found = at.load("tiny-bert").record("The cat sat on the mat.").find("previous", top=3)
        >>> [sorted(each) for each in found][0], len(found)
        (['head', 'kind', 'layer', 'similarity'], 3)
        """
        from ._attnscope import Mask

        if isinstance(pattern, Mask):
            pattern = str(pattern)
        elif isinstance(pattern, str):
            text_of(pattern, "pattern")
        elif pattern is None:
            raise TypeError("pattern must be a name, a mask or a table, not None")
        else:
            pattern = _tables.layers_of(pattern, "pattern")[0]
        return json.loads(_scope.find(self._held, pattern, self._kind(kind), whole(top, "top", 1)))

    def rollout(self, token: int | str | None = None, layer: int = -1) -> np.ndarray:
        """Follows attention down through the layers 0 to `layer` (attention rollout: Abnar & Zuidema, 2020).

        token is an index or a text. Returns [N] for one token, [count, N] for a text that `count` tokens share, and
        [N, N] for all (None; up to 512 tokens). Each row sums to 1. Raises ValueError for a text that no token has.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
        >>> rec.rollout().shape, rec.rollout("cat").shape, rec.rollout("the", layer=1).shape
        ((9, 9), (9,), (2, 9))
        """
        last = place(layer, self._stack("self").layers, "layer")
        if token is None:
            return _scope.whole_rollout(self._held, last)
        places = self._tokens(token, "self")
        table = _scope.rollout(self._held, last, places)
        return table[0] if len(places) == 1 else table

    def flow(self, token: int | str | None = None, layer: int = -1) -> np.ndarray:
        """Computes how much of each token can reach a token above layer `layer` (attention flow, in the same paper).

        Takes and returns what rollout() does, for at most 512 tokens; rows do not sum to 1. All tokens together take
        long.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat on the mat.").flow("cat", layer=1).shape
        (9,)
        """
        last = place(layer, self._stack("self").layers, "layer")
        places = list(range(self._stack("self").queries)) if token is None else self._tokens(token, "self")
        table = _scope.flow(self._held, last, places)
        return table[0] if token is not None and len(places) == 1 else table

    def trace(
        self, layer: int, head: int, query: int | str, key: int | str | None = None, kind: str = "self"
    ) -> dict[str, Any]:
        """Traces one weight with every number on its way: q, k, products, dot, scale, bias, score, lse, weight ...

        query and key are indices or texts of tokens; key defaults to the one with the largest weight. The result also
        says what the key adds to the output (contribution, share) if a Model of this process made the recording with
        values=True. Raises ValueError for a text that no token, or more than one, has.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.", values=True)
        >>> trace = rec.trace(layer=1, head=2, query="cat")
        >>> round(trace["weight"] / rec.weights(1, 2)[2].max().item(), 4)
        1.0
        """
        stack = self._stack(kind)
        where = (
            kind,
            place(layer, stack.layers, "layer"),
            place(head, stack.heads, "head"),
            self._token(query, kind),
            None if key is None else self._token(key, kind, of_keys=True),
        )
        return json.loads(_scope.trace(self._held, where, self._model))

    def _tokens(self, token: int | str, kind: str, of_keys: bool = False) -> list[int]:
        stack = self._stack(kind)
        if isinstance(token, str):
            return _scope.places(self._held, kind, text_of(token, "token"), of_keys)
        return [place(token, stack.keys if of_keys else stack.queries, "token")]

    def _token(self, token: int | str, kind: str, of_keys: bool = False) -> int:
        found = self._tokens(token, kind, of_keys)
        if len(found) > 1:
            numbers = ", ".join(map(str, found))
            raise ValueError(f"{len(found)} tokens are {token!r}; choose one by its number: {numbers}")
        return found[0]

    def ablate(
        self, heads: Iterable[tuple] | None = None, at: int | Iterable[int] | None = None, top: int = 10
    ) -> dict[str, Any]:
        """Switches heads off and shows how the model's predictions change.

        heads is a list of (layer, head) or (kind, layer, head), which are switched off together: {off, kl, positions:
        [{token, text, kl, before, after}]}, where before and after are the `top` likeliest words. Without heads, each
        is switched off by itself, and they are ranked by effect: {heads: [{kind, layer, head, kl, likeliest}]}. kl is
        KL(before || after) in nats.

        at lists the tokens whose predictions are compared (default: gaps, or else every token; for a decoder the one
        after the last token; for an encoder-decoder its whole output). Other heads may do the same work: a small effect
        does not make a head useless. Raises ValueError unless a Model of this process made the recording.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the [MASK].")
        >>> moved = rec.ablate([(1, 1), (2, 0)], top=3)["positions"][0]
        >>> moved["text"], len(moved["after"]), moved["kl"] > 0
        ('[MASK]', 3, True)
        >>> len(rec.ablate()["heads"])
        16
        """
        from ._ablate import ablate

        return ablate(self, heads, at, top)

    def compare(self, other: Recording) -> Comparison:
        """Compares every head with that of another recording: of another text, or of a model of the same shape.

        Raises ValueError if the shapes differ or the texts share no token.

        >>> import attnscope as at
        >>> model = at.load("tiny-bert")
        >>> found = model.record("The cat sat on the mat.").compare(model.record("The dog sat on the mat."))
        >>> len(found.heads), round(found.heads[0]["change"]) in (0, 1)
        (16, True)
        """
        from ._compare import Comparison

        if not isinstance(other, Recording):
            raise TypeError(f"other must be a Recording, not {type(other).__name__}")
        return Comparison(_scope.compare(self._held, other._held))

    def view(self, port: int | None = None, open: bool | None = None) -> Page:
        """Serves the page with this recording on 127.0.0.1, from a thread of this process, and opens it.

        port defaults to 7865 or the next free one; 0 picks any. open tells whether to open a browser (default: if there
        is a display); a notebook displays the returned Page instead. The page lives until close() or the end of the
        process; a script with an open page keeps running until Ctrl-C if it opened a browser or its output is a
        terminal. Raises ValueError for tables whose numbers are not weights from 0 to 1.

        >>> import attnscope as at
        >>> with at.load("tiny-bert").record("The cat sat on the mat.").view(open=False) as page:
        ...     page.url[:17]
        'http://127.0.0.1:'
        """
        from . import _page

        return _page.view(self, port, open)

    def html(self, path: str | os.PathLike | None = None) -> bytes | None:
        """Makes one HTML file of the page with this recording that works offline: returns its bytes, or writes `path`.

        Up to 750,000 weights are stored to 5 digits, more to 2; for very long texts the file holds the most interesting
        heads only, and the page says so. Raises ValueError for tables whose numbers are not weights from 0 to 1.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat on the mat.").html()[:15]
        b'<!doctype html>'
        """
        from . import _page

        return _page.offline(self, path)

    def save(self, path: str | os.PathLike) -> None:
        """Writes an .attn file, whole or not at all, that open() and the command line read.

        Raises attnscope.Error if it cannot be written, ValueError for a recording that cannot be saved.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
        >>> rec.save("cat.attn")
        >>> at.open("cat.attn").text
        'The cat sat on the mat.'
        """
        self._held.save(path_of(path, "path"))
