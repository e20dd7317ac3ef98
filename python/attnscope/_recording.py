"""Recordings: what a model did with a text, or somebody's own tables, to be looked at."""

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
    """All attentions of one kind."""

    kind: str
    layers: int
    heads: int
    queries: int
    keys: int


class Recording:
    """Attention, to be looked at: a model's, of one text, or somebody's own tables.

    It is made by Model.record(), record(), open() and Recording.from_tables(). Of a model it keeps queries, keys and a
    number a row, from which every weight is rebuilt, exactly, whenever it is asked for.

    Layers and heads count from 0; negative ones count from the end. kind is "self", or of an encoder-decoder also
    "decoder" (among the tokens that it says) and "cross" (from these to the text).

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
        self._model = model  # that made it: what runs again (trace) needs it
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
        """Somebody's own tables: [N, M], [H, N, M] or [L, H, N, M] of any float type, or a list of such.

        numpy, torch, nested lists, anything with DLPack; or the `attentions` that transformers returns for one text, L
        arrays of [1, H, N, M]. tokens name the rows and, unless key_tokens do, the columns. The numbers are copied.

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
        """Of the model or of the file."""
        return self._held.name

    @property
    def text(self) -> str:
        """That the model was given; of a table, empty."""
        return self._held.origin().get("text", "")

    @property
    def target(self) -> str | None:
        """What the decoder of an encoder-decoder was given to say."""
        return self._held.origin().get("target")

    @property
    def tokens(self) -> list[str]:
        """Names of the rows, of the first kind."""
        return self.queries()

    def queries(self, kind: str | None = None) -> list[str]:
        """Names of the rows. Of cross-attention these are the tokens that are written."""
        return self._held.queries(self._stack(kind).kind)

    def keys(self, kind: str | None = None) -> list[str]:
        """Names of the columns."""
        return self._held.keys(self._stack(kind).kind)

    @property
    def stacks(self) -> list[Stack]:
        """Each kind of attention that there is, with its layers, heads, queries and keys."""
        return list(self._stacks)

    @property
    def kinds(self) -> list[str]:
        """self, decoder, cross: those that there are."""
        return [stack.kind for stack in self._stacks]

    @property
    def layers(self) -> int:
        """Of the first kind, as heads and shape are."""
        return self._stacks[0].layers

    @property
    def heads(self) -> int:
        """Of each layer."""
        return self._stacks[0].heads

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(layers, heads, queries, keys)"""
        return self._stacks[0][1:]

    def _stack(self, kind: str | None) -> Stack:
        if kind is None:
            return self._stacks[0]
        for stack in self._stacks:
            if stack.kind == kind:
                return stack
        raise ValueError(f"there is no attention of kind {kind!r}, only: {', '.join(self.kinds)}")

    def _kind(self, kind: str | None) -> str | None:
        """None, all of them, or one that there is."""
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
        raise TypeError("a recording is not pickled: rec.save(path) writes it, attnscope.open(path) reads it")

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
        """Attention weights, float32 [layers, heads, rows, cols]; where a number is given, its axis is left out.

        Only what is asked for is computed and held in memory.

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
        """Hidden states [N, width], if the recording was made with hidden=True: 0 is what enters the first layer.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat.", hidden=True).hidden(0).shape
        (6, 160)
        """
        count = self._held.hidden_count(decoder)
        return self._held.hidden(place(layer, count, "layer") if count else 0, decoder)

    def statistics(self, kind: str | None = None, beyond: int = 16) -> Statistics:
        """Every head's table in a few numbers, without storing it: entropy, distance, and where attention goes.

        kind: of one kind only. beyond: how many tokens away the share `beyond` begins.

        >>> import attnscope as at
        >>> statistics = at.load("tiny-bert").record("The cat sat on the mat.").statistics()
        >>> statistics.array("entropy").shape
        (4, 4)
        """
        from ._report import statistics_of

        return statistics_of(self._held, self._kind(kind), whole(beyond, "beyond", 0))

    def analyze(self, kind: str | None = None, beyond: int = 16) -> Report:
        """What every head does, and which one to look at, with the reason in words.

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
        """The same heads between whole words: pieces of a query's word are averaged, those of a key's word added.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("Microscopes show it.")
        >>> rec.tokens[1:4], rec.words().tokens[1:4]
        (['mic', '##ros', '##co'], ['Microscopes', 'show', 'it'])
        """
        made = Recording(self._held.view("raw", True, False))
        made._weights = self._weights
        return made

    def value_weighted(self) -> Recording:
        """Each weight times the norm of what it brings, |p v W_O| (Kobayashi et al., 2020). Of a model's recording.

        It has weights() and figure(); what takes rows for shares of attention, as analyze(), asks the recording itself.
        save() that: its norms are in it.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat.").value_weighted().weights(layer=0, head=0).shape
        (6, 6)
        """
        made = Recording(self._held.view("value", False, False))
        made._weights = self
        return made

    def without_sinks(self) -> Recording:
        """Remove sinks: the first key and special tokens weigh 0, and rows are renormalised.

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
        """A picture: "heatmap" of one head, "heads" of a layer, "headview" (lines between tokens), "overview" of all.

        layer, head  which; those of the head that analyze() would look at first, unless they are given
        heads        of "heads" and "headview": which of the layer's heads (default: all)
        attention    "self", "decoder" or "cross"
        measure      "raw": the weights; "value": each times the norm of what it brings
        words        pieces of a word are put together
        without_sinks  remove the first key and special tokens, and renormalise rows
        cmap         viridis, magma, cividis, YlOrRd, Blues or RdBu
        scale        "linear", "sqrt" or "log": how numbers become colours
        range        numbers of the lowest and the highest colour (default: 0 and the largest there is)
        values       numbers in the cells of a heatmap, where they fit
        reduce       "max" or "mean": what a cell says of many weights, in pictures of long texts
        threshold    of "headview": weights below are not drawn
        columns      of "heads": how many stand beside each other
        title, xlabel, ylabel, bar_label    words around the picture

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
        """The heads that look most like a pattern: [{layer, head, kind, similarity}], the nearest first.

        pattern is a name (previous, next, same, offset(-3), first, separators, punctuation, duplicate, induction,
        local, broad), a mask ("causal & window(2)", or causal() and the like), or a small picture of the table, an
        array.

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
        """What tokens are made of after the layers 0 to `layer` (attention rollout: Abnar & Zuidema, 2020).

        Of a token, by its number or its text, [N]; of a text that several tokens say, [their number, N]; of all, [N, N]
        (up to 512 tokens). Each row sums to 1.

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
        """How much of each token of the text can reach a token above layer `layer` (attention flow, the same paper).

        As rollout(), but of at most 512 tokens, and rows do not sum to 1. All tokens together take long.

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
        """One weight with every number on its way: q, k, products, dot, scale, bias, score, lse, weight, and more.

        query and key are tokens' numbers or texts; without a key, the one with the largest weight. What the key adds to
        the output (contribution, share) is known if the recording was made by a Model of this process with values=True.

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
            raise ValueError(f"{len(found)} tokens say {token!r}, choose one by its number: {numbers}")
        return found[0]

    def ablate(
        self, heads: Iterable[tuple] | None = None, at: int | Iterable[int] | None = None, top: int = 10
    ) -> dict[str, Any]:
        """What the model would predict without some of its heads. Of a recording that a Model of this process made.

        heads are (layer, head), or (kind, layer, head), all off at once: {off, kl, positions: [{token, text, kl,
        before, after}]}, where before and after are the `top` likeliest words. Without heads each is off by itself, and
        they are ranked by effect: {heads: [{kind, layer, head, kl, likeliest}]}. kl is KL(before || after) in nats.

        at: tokens where predictions are looked at (default: gaps, or each token itself; of a decoder after the last
        token; all that an encoder-decoder says). Other heads may do the same work: a small effect does not make a head
        useless.

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
        """Which heads attend to something else in another recording: of another text, or of a model of the same shape.

        >>> import attnscope as at
        >>> model = at.load("tiny-bert")
        >>> found = model.record("The cat sat on the mat.").compare(model.record("The dog sat on the mat."))
        >>> len(found.heads), round(found.heads[0]["change"]) in (0, 1)
        (16, True)
        """
        from ._compare import Comparison

        if not isinstance(other, Recording):
            raise TypeError(f"a recording is compared with another one, not with {type(other).__name__}")
        return Comparison(_scope.compare(self._held, other._held))

    def view(self, port: int | None = None, open: bool | None = None) -> Page:
        """Serves the page with this recording, on 127.0.0.1, from a thread of this process, and opens it.

        port: 7865 or the next that is free, unless it is named; 0 is any. open: whether a browser is opened (default:
        where there is a display); a notebook shows the page that is returned instead. It ends with close() or with the
        process; a script whose page is still open stays until Ctrl-C, if a browser was opened or its output is a
        terminal. Only weights from 0 to 1 can be shown: ValueError for other tables.

        >>> import attnscope as at
        >>> with at.load("tiny-bert").record("The cat sat on the mat.").view(open=False) as page:
        ...     page.url[:17]
        'http://127.0.0.1:'
        """
        from . import _page

        return _page.view(self, port, open)

    def html(self, path: str | os.PathLike | None = None) -> bytes | None:
        """The page with this recording as one HTML file that needs no network: its bytes, or written to `path`.

        Up to 750,000 weights they are exact to 5 digits, beyond that to 2; of very long texts only the most interesting
        heads are in it, and the page says so.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat on the mat.").html()[:15]
        b'<!doctype html>'
        """
        from . import _page

        return _page.offline(self, path)

    def save(self, path: str | os.PathLike) -> None:
        """Writes a recording (.attn) that open() and the program read. It appears whole or not at all.

        >>> import attnscope as at
        >>> rec = at.load("tiny-bert").record("The cat sat on the mat.")
        >>> rec.save("cat.attn")
        >>> at.open("cat.attn").text
        'The cat sat on the mat.'
        """
        self._held.save(path_of(path, "path"))
