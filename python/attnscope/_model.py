"""Models: tokens, recordings, and what they say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, overload

from . import _scope
from ._errors import Error
from ._parts import maybe_text, number, path_of, place, text_of, whole
from ._recording import Recording


class Token(NamedTuple):
    """What a model sees of a text."""

    text: str  #: to be read by people
    id: int
    piece: str  #: as the vocabulary has it: "##ing", "Ġworld"
    special: bool  #: put there by the tokenizer: [CLS]
    word: int | None  #: which word of the text
    span: tuple[int, int]  #: characters of the text
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
        """As it was given to load()."""
        return self._held.name

    @property
    def type(self) -> str:
        """config.json's model_type."""
        return self._facts["type"]

    @property
    def form(self) -> str:
        """encoder, decoder or encoder-decoder."""
        return self._facts["form"]

    @property
    def layers(self) -> int:
        """Of the encoder, or of the only stack."""
        return self._facts["layers"]

    @property
    def heads(self) -> int:
        """Of each layer of the encoder, or of the only stack."""
        return self._facts["heads"]

    @property
    def width(self) -> int:
        """Of hidden states."""
        return self._facts["width"]

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self._facts["vocabulary"]

    @property
    def max_tokens(self) -> int | None:
        """How many a text may have; None: any number."""
        return self._facts["max_tokens"]

    @property
    def parameters(self) -> int:
        """How many numbers were learned."""
        return self._facts["parameters"]

    @property
    def labels(self) -> list[str]:
        """Of a model that says of which kind a text is."""
        return self._facts["labels"]

    def __repr__(self) -> str:
        size = f"{self.layers} layers x {self.heads} heads"
        if self.form == "encoder-decoder":
            size += f", {self._facts['decoder_layers']} x {self._facts['decoder_heads']} of the decoder"
        return f"<attnscope.Model {self.name}: {self.type}, {self.form}, {size}, {self.parameters:,} parameters>"

    def __reduce__(self) -> tuple:
        return load, (self.name,)

    def tokenize(self, text: str, pair: str | None = None, bare: bool = False) -> list[Token]:
        """The tokens that the model sees; bare: without those that the tokenizer puts around.

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
        """Reads a text (or each of a list of them) and keeps what its attention did.

        pair is the second text, for models that read pairs. Of an encoder-decoder, target is what it is given to say;
        where there is none, it is what the model says by itself. [MASK] stands for a gap in any model that knows gaps.

        values, inputs and hidden also keep V, what queries are projected from, and hidden states: see Recording.trace()
        and Recording.hidden().

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
                raise TypeError("many texts are recorded without pair and target: record them one by one")
            return [self.record(each, values=values, inputs=inputs, hidden=hidden) for each in text]
        keep = (bool(values), bool(inputs), bool(hidden))
        given = text_of(text, "text"), maybe_text(pair, "pair"), maybe_text(target, "target")
        return Recording(self._held.record(*given, keep), self._held)

    def fill(self, text: str, top: int = 5) -> dict[str, Any]:
        """Words for the gaps that [MASK] stands for: {tokens, masks: [{token, words: [{word, id, probability}]}]}.

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
        """Of which kind a text is, and what the model looked at: {label, scores, tokens, read, layer, head, words}.

        scores are {label, probability, logit}, the likeliest first. words are {word, weight, span, special}: what the
        first token, from which the label is told, attends to in that layer, the mean of all heads unless one is named.
        A text that is too long is cut: `read` of its `tokens` were read.

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
        """Continues a text, or answers it (encoder-decoder): {prompt, text, ids, prompt_ids}.

        temperature 0 always takes the likeliest token; top_k and top_p choose among the likeliest. The same seed gives
        the same text everywhere. on_text is called with each new piece of text; what it raises ends the work.

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
    """A model: the name of one that is built in, a folder in the Hugging Face layout, or a name in the hub's cache.

    A bare name that is built in means that model, and ./NAME the folder. Nothing is downloaded: `attnscope pull` does.

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
        raise Error(f"{error}; built in are {built_in}" if built_in else str(error)) from None


def models() -> list[str]:
    """Names of the models that are built in.

    >>> import attnscope as at
    >>> at.models()
    ['imdb-sentiment', 'tiny-bert', 'tiny-gpt', 'tiny-translate']
    """
    return _scope.built_in()
