"""Models: tokenizing, recording, filling gaps, classifying and generating."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, overload

from . import _scope
from ._errors import Error
from ._parts import maybe_text, number, path_of, place, text_of, whole
from ._recording import Recording


class Token(NamedTuple):
    """One token of a text."""

    text: str  #: human-readable
    id: int
    piece: str  #: as in the vocabulary: "##ing", "Ġworld"
    special: bool  #: added by the tokenizer, such as [CLS]
    word: int | None  #: index of the word it belongs to
    span: tuple[int, int]  #: first character and one past the last, in the text
    sequence: int  #: 0, or 1 in the second text of a pair


class Model:
    """A model with its tokenizer: see load().

    >>> import attnscope as at
    >>> model = at.load("tiny-bert")
    >>> model.type, model.form, model.layers, model.heads
    ('bert', 'encoder', 4, 4)
    """

    def __init__(self, held: _scope.Model) -> None:
        self._held = held
        self._facts = held.facts()

    @property
    def name(self) -> str:
        """The name or path that load() was called with."""
        return self._held.name

    @property
    def type(self) -> str:
        """The model_type of config.json."""
        return self._facts["type"]

    @property
    def form(self) -> str:
        """encoder, decoder or encoder-decoder."""
        return self._facts["form"]

    @property
    def layers(self) -> int:
        """Number of layers; in an encoder-decoder, of the encoder."""
        return self._facts["layers"]

    @property
    def heads(self) -> int:
        """Number of heads per layer; in an encoder-decoder, of the encoder."""
        return self._facts["heads"]

    @property
    def width(self) -> int:
        """Width of the hidden states."""
        return self._facts["width"]

    @property
    def vocabulary(self) -> int:
        """Number of tokens in the vocabulary."""
        return self._facts["vocabulary"]

    @property
    def max_tokens(self) -> int | None:
        """Maximum length of a text in tokens; None means no limit."""
        return self._facts["max_tokens"]

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return self._facts["parameters"]

    @property
    def labels(self) -> list[str]:
        """Class names of a classifier; empty for other models."""
        return self._facts["labels"]

    def __repr__(self) -> str:
        size = f"{self.layers} layers x {self.heads} heads"
        if self.form == "encoder-decoder":
            size += f", {self._facts['decoder_layers']} x {self._facts['decoder_heads']} of the decoder"
        return f"<attnscope.Model {self.name}: {self.type}, {self.form}, {size}, {self.parameters:,} parameters>"

    def __reduce__(self) -> tuple:
        return load, (self.name,)

    def tokenize(self, text: str, pair: str | None = None, bare: bool = False) -> list[Token]:
        """Splits a text, or a pair of texts, into tokens; bare leaves out the special tokens around them.

        >>> import attnscope as at
        >>> [token.text for token in at.load("tiny-bert").tokenize("The cat sat.")]
        ['[CLS]', 'the', 'cat', 'sat', '.', '[SEP]']
        """
        found = self._held.tokenize(text_of(text, "text"), maybe_text(pair, "pair"), bool(bare))
        return [Token(*each) for each in found]

    @overload
    def record(  # type: ignore[overload-overlap]  # a text is an iterable of texts, too
        self,
        text: str,
        pair: str | None = None,
        target: str | None = None,
        *,
        values: bool = False,
        inputs: bool = False,
        hidden: bool = False,
    ) -> Recording: ...

    @overload
    def record(
        self, text: Iterable[str], *, values: bool = False, inputs: bool = False, hidden: bool = False
    ) -> list[Recording]: ...

    def record(self, text, pair=None, target=None, *, values=False, inputs=False, hidden=False):
        """Runs the model over a text, or over each of a list of texts, and records its attention.

        pair is the second text, for models that take pairs. target is the output that an encoder-decoder is made to
        produce; without it the model generates its own. [MASK] stands for a gap in any model that fills gaps.

        values, inputs and hidden also keep V, the vectors that queries are projected from, and the hidden states: see
        Recording.trace() and Recording.hidden(). Raises ValueError for a text that is too long for the model.

        >>> import attnscope as at
        >>> at.load("tiny-bert").record("The cat sat on the mat.")
        <attnscope.Recording of tiny-bert: self 4 layers x 4 heads, 9 x 9 tokens>
        >>> rec = at.load("tiny-translate").record("I love you")
        >>> rec.kinds, rec.target
        (['self', 'decoder', 'cross'], '我爱你')
        >>> [len(rec.tokens) for rec in at.load("tiny-gpt").record(["Once upon a time", "The end."])]
        [7, 3]
        """
        if isinstance(text, Iterable) and not isinstance(text, (str, bytes)):
            if pair is not None or target is not None:
                raise TypeError("a list of texts takes no pair or target: record the texts one by one")
            return [self.record(each, values=values, inputs=inputs, hidden=hidden) for each in text]
        keep = (bool(values), bool(inputs), bool(hidden))
        given = text_of(text, "text"), maybe_text(pair, "pair"), maybe_text(target, "target")
        return Recording(self._held.record(*given, keep), self._held)

    def fill(self, text: str, top: int = 5) -> dict[str, Any]:
        """Predicts the words at each [MASK]: {tokens, masks: [{token, words: [{word, id, probability}]}]}.

        words are the `top` likeliest, best first. Raises ValueError for a text without [MASK].

        >>> import attnscope as at
        >>> filled = at.load("tiny-bert").fill("The cat sat on the [MASK].", top=3)
        >>> [len(mask["words"]) for mask in filled["masks"]]
        [3]
        """
        tokens, gaps = self._held.fill(text_of(text, "text"), whole(top, "top", 1))
        if not gaps:
            raise ValueError("the text has no gap: write [MASK] where a word is missing")
        names = ("word", "id", "probability")
        masks = [{"token": token, "words": [dict(zip(names, word)) for word in words]} for token, words in gaps]
        return {"tokens": tokens, "masks": masks}

    def classify(self, text: str, pair: str | None = None, layer: int = -1, head: int | None = None) -> dict[str, Any]:
        """Classifies a text and shows the words it attended to: {label, scores, tokens, read, layer, head, words}.

        scores are {label, probability, logit}, the likeliest first. words are {word, weight, span, special}: the
        attention of the first token, which the classifier reads, in that layer and head (default: the mean over heads).
        A text that is too long is cut: the model read `read` of its `tokens`.

        >>> import attnscope as at
        >>> found = at.load("imdb-sentiment").classify("A wonderful film, I loved every minute of it.")
        >>> found["label"]
        'positive'
        """
        which = place(layer, self.layers, "layer"), None if head is None else place(head, self.heads, "head")
        scores, words, tokens, read = self._held.classify(text_of(text, "text"), maybe_text(pair, "pair"), which)
        return {
            "label": scores[0][0],
            "scores": [dict(zip(("label", "probability", "logit"), score)) for score in scores],
            "tokens": tokens,
            "read": read,
            "layer": which[0],
            "head": which[1],
            "words": [dict(zip(("word", "weight", "span", "special"), word)) for word in words],
        }

    def generate(
        self,
        prompt: str,
        max_tokens: int = 100,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        on_text: Callable[[str], Any] | None = None,
    ) -> dict[str, Any]:
        """Continues a text, or generates the output of an encoder-decoder: {prompt, text, ids, prompt_ids}.

        A temperature of 0 always takes the likeliest token; top_k and top_p sample among the likeliest. The same seed
        gives the same text everywhere. on_text is called with each new piece of text; an exception it raises stops the
        generation and propagates.

        >>> import attnscope as at
        >>> len(at.load("tiny-gpt").generate("Once upon a time", max_tokens=5)["ids"])
        5
        """
        how = (
            whole(max_tokens, "max_tokens", 1),
            number(temperature, "temperature"),
            whole(top_k, "top_k", 0),
            number(top_p, "top_p"),
            whole(seed, "seed", 0, 2**64 - 1),
        )
        return self._held.generate(text_of(prompt, "prompt"), how, on_text)


def load(name: str | os.PathLike) -> Model:
    """Loads a model: a built-in one by name, a folder in the Hugging Face layout, or a name in the hub's cache.

    A built-in name always means that model; write ./NAME for a folder of the same name. Nothing is downloaded: run
    `attnscope pull` for that. Raises attnscope.Error if there is no such model or it cannot be read.

    >>> import attnscope as at
    >>> at.load("tiny-bert")
    <attnscope.Model tiny-bert: bert, encoder, 4 layers x 4 heads, 2,633,760 parameters>
    """
    given = path_of(name, "name")
    try:
        return Model(_scope.load(given))
    except Error as error:
        if os.path.exists(given):
            raise
        built_in = ", ".join(models())
        raise Error(f"{error}; built-in models: {built_in}" if built_in else str(error)) from None


def models() -> list[str]:
    """Lists the built-in models.

    >>> import attnscope as at
    >>> at.models()
    ['imdb-sentiment', 'tiny-bert', 'tiny-gpt', 'tiny-translate']
    """
    return _scope.built_in()
