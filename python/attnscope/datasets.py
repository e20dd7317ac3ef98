"""Reads many texts, from lists, files, pandas and Hugging Face datasets, and analyzes a model's heads over them.

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

# Columns that usually hold the text, the likeliest first, as on the command line.
_COLUMNS = ("text", "review", "sentence", "content", "source")


def texts(source: Any, column: str | None = None, limit: int | None = None) -> Iterator[str]:
    """Iterates over the texts of a source, at most `limit` of them.

    source is a list or any other iterable of strings or of rows (mappings, as in Hugging Face's datasets, streamed or
    not), a pandas Series or DataFrame, or the path of a .csv, .tsv, .jsonl or text file. column names the column with
    the texts (default: text, review, sentence, content, source, or the only one). Missing texts (None, NaN) are
    skipped. Raises KeyError or ValueError if the column is not found or not clear, TypeError for other sources.

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
            raise FileNotFoundError(f"there is no file {path!r}; to pass a single text, wrap it in a list: [{path!r}]")
        return iter(read_texts(path, column))
    if isinstance(source, Mapping):  # datasets.DatasetDict, or a dict of columns
        if any(isinstance(part, Mapping) or hasattr(part, "column_names") for part in source.values()):
            raise TypeError(f"source has the parts {', '.join(map(repr, source))}; pass one of them: source[...]")
        return _present(source[_column(list(source), column)])
    if hasattr(source, "columns") and hasattr(source, "itertuples"):  # pandas.DataFrame
        return _present(source[_column(list(source.columns), column)])
    if not isinstance(source, Iterable):
        raise TypeError(f"source must not be {type(source).__name__}; pass texts, rows, a table or the path of a file")
    names = getattr(source, "column_names", None)
    if names:  # datasets.Dataset: leaves the other columns undecoded
        name = _column(list(names), column)
        return _present(row[name] for row in cast(Any, source).select_columns([name]))
    return _rows(source, column)


def _column(names: list, column: str | None) -> Any:
    if column is not None:
        if column not in names:
            raise KeyError(f"there is no column {column!r}; choose from {', '.join(map(repr, names))}")
        return column
    for usual in _COLUMNS:
        if usual in names:
            return usual
    if len(names) == 1:
        return names[0]
    raise ValueError(
        f"it is not clear which column holds the texts; pass column=, one of {', '.join(map(repr, names))}"
    )


def _rows(source: Iterable, column: str | None) -> Iterator[str]:
    return _present(_cell(row, column) for row in source)


def _cell(row: Any, column: str | None) -> Any:
    return row[_column(list(row), column)] if isinstance(row, Mapping) else row


def _present(values: Iterable) -> Iterator[str]:
    for number, value in enumerate(values):
        if isinstance(value, str):
            yield value
        elif value is not None and value == value:  # NaN, which pandas uses for missing texts, differs from itself
            raise TypeError(f"text {number} must be a str, not {type(value).__name__}")


class Corpus:
    """Accumulates the statistics of every head over many texts: entropy, distance, shares of attention.

    Threads, processes or machines can read parts of a corpus and add them: ``a + b``. Parts are small (some hundred
    kilobytes for 12 x 12 heads, for any number of texts) and can be pickled. The model itself is not pickled: its name
    must mean the same model everywhere. Texts are cut at max_tokens.

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
        """Runs the model over the texts of a source, as texts() finds them; returns itself."""
        for text in texts(source, column, limit):
            self._sums.add(text)
        self._sums.finish()
        return self

    @property
    def texts(self) -> int:
        """Number of texts that were read, without empty ones."""
        return self._sums.counts()["texts"]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of texts, tokens, cut texts (at max_tokens) and empty texts (skipped)."""
        return self._sums.counts()

    def __add__(self, other: Corpus) -> Corpus:
        if not isinstance(other, Corpus):
            return NotImplemented
        if (self._model.name, self._options) != (other._model.name, other._options):
            raise ValueError(
                f"cannot add a corpus of {self._model.name} {self._options} and one of {other._model.name} "
                f"{other._options}: model, beyond and max_tokens must be the same"
            )
        total = Corpus(self._model, beyond=self._options[0], max_tokens=self._options[1])
        total._sums.load(self._sums.save())
        total._sums.merge(other._sums.save())
        return total

    def __radd__(self, other: int) -> Corpus:
        return self if other == 0 else NotImplemented  # sum(parts) begins with 0

    def report(self) -> Any:
        """Describes what every head does, on average over the texts, and ranks them by interest."""
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
    """Describes what every head of a model does over many texts: statistics are means, where each text counts once.

    model is a Model or what load() takes; source, column and limit are those of texts(). Texts longer than max_tokens,
    or than the model allows, are cut. beyond is that of Recording.statistics().

    >>> import attnscope as at
    >>> report = at.datasets.analyze("tiny-bert", ["The cat sat on the mat.", "It was raining.", ""])
    >>> report.texts, len(report.heads)
    (2, 16)
    """
    return Corpus(model, beyond=beyond, max_tokens=max_tokens).add(source, column, limit).report()
