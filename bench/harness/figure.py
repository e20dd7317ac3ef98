"""What we promise: a figure, the goal that must hold, and the wish beyond it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

UNITS = {
    "%": "{:.1f}%",
    "x": "{:.2f} x",
    "us": "{:.1f} us",
    "MB": "{:.0f} MB",
    "kB": "{:.0f} kB",
    "ms": "{:.1f} ms",
    "GB/s": "{:.1f} GB/s",
    "n": "{:.0f}",
}


def in_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else UNITS[unit].format(value)


@dataclass(frozen=True)
class Figure:
    name: str
    value: float | None  # None: could not be measured
    goal: float
    wish: float | None = None
    unit: str = "x"
    at_most: bool = False  # less is better

    def _reaches(self, mark: float | None) -> bool:
        if self.value is None or mark is None:
            return False
        return self.value <= mark if self.at_most else self.value >= mark

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self._reaches(self.wish):
            return "wish"
        return "met" if self._reaches(self.goal) else "missed"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def share(name: str, value: float | None, goal: float, wish: float | None = None) -> Figure:
    """A share between 0 and 1, shown in percent."""
    return Figure(name, None if value is None else 100 * value, goal, wish, unit="%")


@dataclass(frozen=True)
class Row:
    """A line of the README's table."""

    label: str
    share: float | None = None
    share_of: str = "peak"  # or "read": of a plain read of the same bytes
    torch: float | None = None  # times faster
    torch_form: str = "SDPA"
    flex: float | None = None
    onnxruntime: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Fact:
    """A number that is shown and not judged."""

    name: str
    value: float | None
    unit: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Findings:
    """What a measurement outside the rounds gives."""

    facts: list[Fact] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
