"""Statistics of heads, and a ranking of them by interest."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _scope


@dataclasses.dataclass(frozen=True)
class Shares:
    """Where attention goes: the share of it on some keys, as a mean over queries."""

    first: float  #: the first key
    separators: float  #: other special tokens
    punctuation: float
    duplicate: float  #: earlier tokens equal to the query
    induction: float  #: the tokens that followed those
    near: float  #: at most 4 tokens away
    beyond: float  #: farther away than `beyond` tokens
    previous: float
    same: float
    next: float
    sink: float  #: first plus separators
    offsets: np.ndarray = dataclasses.field(repr=False)  #: [33]: keys at distances -16 to 16


@dataclasses.dataclass(frozen=True)
class HeadStatistics:
    """The statistics of one head: see Recording.statistics()."""

    layer: int
    head: int
    kind: str
    queries: int
    keys: int
    entropy: float  #: nats, mean over queries
    entropy_share: float  #: entropy divided by the largest that the mask allows
    distance: float  #: in tokens, weighted by attention
    shares: Shares
    even: Shares = dataclasses.field(repr=False)  #: the baseline: shares of a head that attends evenly
    received: np.ndarray = dataclasses.field(repr=False)  #: [M], sums over queries
    outgoing: np.ndarray = dataclasses.field(repr=False)  #: [N], sums over keys
    diagonal: np.ndarray = dataclasses.field(repr=False)  #: [min(N, M)]


class HeadType(NamedTuple):
    """A pattern that a head shows, how clearly (0 to 1), and the evidence in words."""

    name: str
    score: float
    reason: str


@dataclasses.dataclass(frozen=True)
class HeadReport(HeadStatistics):
    """The statistics of one head, what it does, and its rank by interest."""

    rank: int  #: from 1
    interest: float
    types: list[HeadType]
    reason: str


_NUMBERS = ("entropy", "entropy_share", "distance")
_SHARES = tuple(field.name for field in dataclasses.fields(Shares) if field.name != "offsets")


def _head(kind: type, numbers: dict[str, Any]) -> Any:
    numbers = {**numbers, "shares": Shares(**numbers["shares"]), "even": Shares(**numbers["even"])}
    if "types" in numbers:
        numbers["types"] = [HeadType(*each) for each in numbers["types"]]
    return kind(**numbers)


class Statistics(Sequence):
    """Statistics of heads, layer by layer: a list of HeadStatistics that also makes arrays.

    >>> import attnscope as at
    >>> statistics = at.load("tiny-bert").record("The cat sat on the mat.").statistics()
    >>> len(statistics), statistics[0].layer, statistics[0].head
    (16, 0, 0)
    >>> statistics.array("entropy").shape
    (4, 4)
    """

    __slots__ = ("_heads",)

    def __init__(self, heads: list[HeadStatistics]) -> None:
        self._heads = heads

    def __len__(self) -> int:
        return len(self._heads)

    def __getitem__(self, index: Any) -> Any:
        return self._heads[index]

    def __iter__(self) -> Iterator[HeadStatistics]:
        return iter(self._heads)

    def __repr__(self) -> str:
        return f"<attnscope.Statistics of {len(self)} heads>"

    def array(self, name: str, kind: str | None = None) -> np.ndarray:
        """Returns one statistic as an array [layers, heads]: entropy, entropy_share, distance, or a share such as sink.

        kind selects the kind of attention (default: the first). Raises ValueError for an unknown name or kind.
        """
        if name not in (*_NUMBERS, *_SHARES):
            raise ValueError(f"there is no statistic {name!r}; choose from {', '.join((*_NUMBERS, *_SHARES))}")
        kinds = list(dict.fromkeys(head.kind for head in self))
        kind = kinds[0] if kind is None else kind
        chosen = [head for head in self if head.kind == kind]
        if not chosen:
            raise ValueError(f"there are no heads of kind {kind!r}, only: {', '.join(kinds)}")
        values = [getattr(head if name in _NUMBERS else head.shares, name) for head in chosen]
        return np.array(values).reshape(1 + max(head.layer for head in chosen), -1)

    def to_dict(self) -> list[dict[str, Any]]:
        """Returns one nested dict per head, with lists in place of arrays."""
        return [_plain(dataclasses.asdict(head)) for head in self]

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame with one row per head: layer, head, kind, the statistics and the shares."""
        import pandas

        return pandas.DataFrame(
            [
                {
                    "layer": head.layer,
                    "head": head.head,
                    "kind": head.kind,
                    **{name: getattr(head, name) for name in _NUMBERS},
                    **{name: getattr(head.shares, name) for name in _SHARES},
                }
                for head in self
            ]
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


class Report:
    """What every head does, and which one to look at first: see Recording.analyze().

    >>> import attnscope as at
    >>> report = at.load("tiny-bert").record("The cat sat on the mat.").analyze()
    >>> report.look_at.rank, len(report.heads)
    (1, 16)
    >>> print(report)
    Look at layer ...
    """

    def __init__(self, held: _scope.Report) -> None:
        self._held = held
        self._heads = [_head(HeadReport, numbers) for numbers in held.heads()]

    @classmethod
    def of_corpus(cls, sums: _scope.Corpus) -> Report:
        """Makes the report of many texts."""
        return cls(sums.report())

    @property
    def heads(self) -> list[HeadReport]:
        """Every head, the most interesting first."""
        return self._heads

    @property
    def look_at(self) -> HeadReport:
        """The head to look at first; its `reason` says why."""
        return self._heads[0]

    @property
    def texts(self) -> int:
        """The number of texts that the statistics are means over."""
        return self._held.texts()

    @property
    def check(self) -> tuple[bool, str]:
        """(passed, words): whether rows sum to 1, no weight is negative, and all are 0 where the mask forbids."""
        return self._held.check() or (True, f"means over {self.texts} texts")

    @property
    def statistics(self) -> Statistics:
        """The statistics of the same heads, layer by layer."""
        order = {"self": 0, "decoder": 1, "cross": 2}
        return Statistics(sorted(self._heads, key=lambda head: (order[head.kind], head.layer, head.head)))

    def figure(self) -> Any:
        """Draws entropy by layer: the mean over heads, the lowest and the highest."""
        from ._figures import Figure

        return Figure(self._held.curves())

    def to_dict(self) -> dict[str, Any]:
        """Returns what `attnscope analyze --json` writes."""
        return json.loads(self._held.json())

    def text(self, top: int = 12, width: int = 80) -> str:
        """Returns what `attnscope analyze` prints: the first `top` heads, in lines of at most `width` columns."""
        more = len(self._heads) - top
        lines = [self._held.table(top, width).rstrip("\n")]
        if more > 0:
            lines.append(f"{more} more: see .heads for all")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        titles = ("layer", "head", "kind", "interest", "entropy", "of max", "distance", "sinks", "types")
        lines = [
            (
                head.layer,
                head.head,
                head.kind,
                f"{head.interest:.2f}",
                f"{head.entropy:.2f}",
                f"{head.entropy_share:.2f}",
                f"{head.distance:.1f}",
                f"{head.shares.sink:.2f}",
                ", ".join(f"{each.name} {each.score:.2f}" for each in head.types) or "-",
            )
            for head in self._heads[:12]
        ]
        cells = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in line) for line in lines)
        rows = "".join(f"<tr>{line}</tr>" for line in cells)
        header = "".join(f"<th>{title}</th>" for title in titles)
        best = self.look_at
        where = f"{'' if best.kind == 'self' else best.kind + ' '}layer {best.layer}, head {best.head}"
        more = len(self._heads) - len(lines)
        note = f"<p>{more} more: see .heads for all.</p>" if more else ""
        passed, words = self.check
        failed = "" if passed else f"<p><b>Check failed</b>: {html.escape(words)}: these are not attention weights.</p>"
        return failed + (
            f"<p>Look at <b>{where}</b>: {html.escape(best.reason)}.</p>"
            f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>{note}"
        )


def statistics_of(recording: _scope.Recording, kind: str | None, beyond: int) -> Statistics:
    return Statistics([_head(HeadStatistics, numbers) for numbers in _scope.statistics(recording, kind, beyond)])


def analyze(weights: Any, tokens: Any = None, key_tokens: Any = None, *, beyond: int = 16) -> Report:
    """Describes what every head does in tables of weights, and ranks them by interest.

    weights and tokens are those of heatmap(): [N, M], [H, N, M], [L, H, N, M], or transformers' `attentions`. Raises
    ValueError for tables that are not attention weights.

    >>> import numpy as np, attnscope as at
    >>> weights = np.stack([np.eye(8, k=-1), np.full((8, 8), 1 / 8)])
    >>> weights[0, 0, 0] = 1
    >>> at.analyze(weights).look_at.types[0].name
    'previous token'
    """
    from ._figures import _recording

    return _recording(weights, tokens, key_tokens).analyze(beyond=beyond)
