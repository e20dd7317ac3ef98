"""Many texts: from lists, files, pandas and Hugging Face datasets; and what a model's heads do over all of them.

>>> import attnscope as at
>>> report = at.datasets.analyze("tiny-bert", ["The cat sat on the mat.", "It was raining."])
>>> report.texts
2
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

__all__ = ["Corpus", "analyze", "texts"]

# Where a text usually is, the likeliest first: as the program looks for it in a file.
_COLUMNS = ("text", "review", "sentence", "content", "source")


def texts(source: Any, column: str | None = None, limit: int | None = None) -> Iterator[str]:
    """One text after the other, whatever they come in.

    source is a list or any other iterable of strings or of rows (mappings, as Hugging Face's datasets give them,
    streamed ones too), a pandas Series or DataFrame, or the path of a .csv, .tsv, .jsonl or text file. Of several
    columns, column is taken, else the one called text, review, sentence, content or source, or the only one. Texts that
    are missing (None, NaN) are left out. limit: not more than so many.

    >>> import attnscope as at
    >>> list(at.datasets.texts([{"review": "Good.", "stars": 5}, {"review": "Bad.", "stars": 1}]))
    ['Good.', 'Bad.']
    """
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}; it must not be negative")
    return _limited(_each(source, column), limit)


def _limited(each: Iterator[str], limit: int | None) -> Iterator[str]:
    for number, text in enumerate(each):
        if number == limit:
            return
        yield text


def _each(source: Any, column: str | None) -> Iterator[str]:
    if isinstance(source, (str, os.PathLike)):
        from ._scope import read_texts

        path = os.fspath(source)
        if isinstance(source, str) and not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {path!r}; a single text is passed as a list of one: [{path!r}]")
        return iter(read_texts(path, column))
    if isinstance(source, Mapping):  # datasets.DatasetDict, or a dict of columns
        if any(isinstance(part, Mapping) or hasattr(part, "column_names") for part in source.values()):
            raise TypeError(f"source has the parts {', '.join(map(repr, source))}; pass one of them, as source[...]")
        return _present(source[_column(list(source), column)])
    if hasattr(source, "columns") and hasattr(source, "itertuples"):  # pandas.DataFrame
        return _present(source[_column(list(source.columns), column)])
    if not isinstance(source, Iterable):
        raise TypeError(f"source is of the type {type(source).__name__}; pass texts, rows, a table or a file's path")
    names = getattr(source, "column_names", None)
    if names:  # datasets.Dataset, of which the other columns are not even decoded
        name = _column(list(names), column)
        return _present(row[name] for row in cast(Any, source).select_columns([name]))
    return _rows(source, column)


def _column(names: list, column: str | None) -> Any:
    if column is not None:
        if column not in names:
            raise KeyError(f"there is no column {column!r}; there are {', '.join(map(repr, names))}")
        return column
    for usual in _COLUMNS:
        if usual in names:
            return usual
    if len(names) == 1:
        return names[0]
    raise ValueError(f"which column has the texts? There are {', '.join(map(repr, names))}: pass column=")


def _rows(source: Iterable, column: str | None) -> Iterator[str]:
    return _present(_cell(row, column) for row in source)


def _cell(row: Any, column: str | None) -> Any:
    return row[_column(list(row), column)] if isinstance(row, Mapping) else row


def _present(values: Iterable) -> Iterator[str]:
    for number, value in enumerate(values):
        if isinstance(value, str):
            yield value
        elif value is not None and value == value:  # what pandas has for missing texts differs from itself
            raise TypeError(f"text {number} is of the type {type(value).__name__}; texts are of the type str")


class Corpus:
    """Sums over the texts that were added: of each head its entropy, distance and where it looks.

    Parts of a corpus can be read apart, by threads, processes or machines, and added: ``a + b``. They are small (some
    hundred kilobytes for 12 x 12 heads, whatever the number of texts) and can be pickled; the model itself is not, so
    its name must mean the same model everywhere. Longer texts are cut at max_tokens.

    >>> import attnscope as at
    >>> corpus = at.datasets.Corpus("tiny-bert").add(["The cat sat on the mat.", "It was raining."])
    >>> other = at.datasets.Corpus("tiny-bert").add(["The dog barked at the cat."])
    >>> (corpus + other).texts
    3
    >>> (corpus + other).report().statistics.array("entropy").shape
    (4, 4)
    """

    def __init__(self, model: Any, *, beyond: int = 16, max_tokens: int = 512) -> None:
        from . import load
        from ._scope import Corpus as Sums

        self._model = load(model) if isinstance(model, (str, os.PathLike)) else model
        self._options = (beyond, max_tokens)
        self._sums = Sums(self._model, beyond, max_tokens)

    def add(self, source: Any, column: str | None = None, limit: int | None = None) -> Corpus:
        """Reads what texts() finds in source; returns itself."""
        for text in texts(source, column, limit):
            self._sums.add(text)
        self._sums.finish()
        return self

    @property
    def texts(self) -> int:
        """How many were read; empty ones are left out."""
        return self._sums.counts()["texts"]

    @property
    def counts(self) -> dict[str, int]:
        """texts, tokens, cut (at max_tokens) and empty (left out)."""
        return self._sums.counts()

    def __add__(self, other: Corpus) -> Corpus:
        if not isinstance(other, Corpus):
            return NotImplemented
        if (self._model.name, self._options) != (other._model.name, other._options):
            raise ValueError(
                f"a corpus of {self._model.name} {self._options} and one of {other._model.name} {other._options} "
                "cannot be added: model, beyond and max_tokens must be the same"
            )
        total = Corpus(self._model, beyond=self._options[0], max_tokens=self._options[1])
        total._sums.load(self._sums.save())
        total._sums.merge(other._sums.save())
        return total

    def __radd__(self, other: int) -> Corpus:
        return self if other == 0 else NotImplemented  # sum(parts) begins with 0

    def report(self) -> Any:
        """What every head does, on average over the texts, and which one to look at."""
        from ._report import Report

        return Report.of_corpus(self._sums)

    def __getstate__(self) -> tuple:
        return self._model.name, self._options, self._sums.save()

    def __setstate__(self, state: tuple) -> None:
        name, (beyond, max_tokens), saved = state
        Corpus.__init__(self, name, beyond=beyond, max_tokens=max_tokens)
        self._sums.load(saved)

    def __repr__(self) -> str:
        return f"Corpus({self._model.name!r}, texts={self.texts})"


def analyze(
    model: Any,
    source: Any,
    *,
    column: str | None = None,
    limit: int | None = None,
    beyond: int = 16,
    max_tokens: int = 512,
) -> Any:
    """What every head of a model does over many texts: means, each text counting once.

    model is a Model or what load() takes; source, column and limit are those of texts(). Texts that are longer than
    max_tokens, or than the model takes, are cut; a Corpus counts them.

    >>> import attnscope as at
    >>> report = at.datasets.analyze("tiny-bert", ["The cat sat on the mat.", "It was raining.", ""])
    >>> report.texts, len(report.heads)
    (2, 16)
    """
    return Corpus(model, beyond=beyond, max_tokens=max_tokens).add(source, column, limit).report()
