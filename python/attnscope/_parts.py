"""Checks arguments: texts, paths, numbers, and indices of layers, heads, rows and columns."""

from __future__ import annotations

import operator
import os
from typing import Any


def text_of(given: Any, name: str) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a str, not {type(given).__name__}")
    return _of_characters(given, name)


def _of_characters(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} contains a lone surrogate, which is not a character") from None
    return text


def path_of(given: Any, name: str) -> str:
    """Returns the path of a file or a folder, from anything that os.fsdecode takes."""
    path = _of_characters(os.fsdecode(given), name)
    if "\0" in path:
        raise ValueError(f"{name} contains a null character")
    return path


def maybe_text(given: Any, name: str) -> str | None:
    return None if given is None else text_of(given, name)


def _index(given: Any, name: str) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(given).__name__}") from None


def whole(given: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """Returns a whole number from `least` to `most`; raises TypeError or ValueError."""
    number = _index(given, name)
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}; it must be at {f'least {least}' if number < least else f'most {most}'}")
    return number


def number(given: Any, name: str) -> float:
    if isinstance(given, str) or not hasattr(given, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(given).__name__}")
    return float(given)


def place(index: Any, count: int, what: str) -> int:
    """Returns an index counted from 0; negative ones count from the end. Raises IndexError."""
    number = _index(index, what)
    if not -count <= number < count:
        raise IndexError(f"there is no {what} {number}: {what}s count from 0 to {count - 1}")
    return number + count if number < 0 else number


def part(given: Any, count: int, what: str) -> tuple[int, int, bool]:
    """Returns the start and length of None (all), a number, a slice or a range, and whether its axis is kept."""
    if given is None:
        return 0, count, True
    if isinstance(given, slice):
        given = range(*given.indices(count))
    if not isinstance(given, range):
        return place(given, count, what), 1, False
    if len(given) > 1 and given.step != 1:
        raise ValueError(f"{what}s must be contiguous (step 1), not step {given.step}")
    if len(given):
        place(given[0], count, what), place(given[-1], count, what)
        return given[0], len(given), True
    return 0, 0, True
