"""What callers give: texts, numbers, and layers, heads, rows and columns as Python users name them."""

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
        raise ValueError(f"{name} holds a lone surrogate, which is no character") from None
    return text


def path_of(given: Any, name: str) -> str:
    """Of a file or a folder, whatever Python takes as such."""
    path = _of_characters(os.fsdecode(given), name)
    if "\0" in path:
        raise ValueError(f"{name} holds a null character")
    return path


def maybe_text(given: Any, name: str) -> str | None:
    return None if given is None else text_of(given, name)


def _index(given: Any, name: str) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(given).__name__}") from None


def whole(given: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """A whole number from `least` to `most`."""
    number = _index(given, name)
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}; it must be at {f'least {least}' if number < least else f'most {most}'}")
    return number


def number(given: Any, name: str) -> float:
    if isinstance(given, str) or not hasattr(given, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(given).__name__}")
    return float(given)


def place(index: Any, count: int, what: str) -> int:
    """A number from 0; negative ones count from the end, as in a list."""
    number = _index(index, what)
    if not -count <= number < count:
        raise IndexError(f"there is no {what} {number}: {what}s count from 0 to {count - 1}")
    return number + count if number < 0 else number


def part(given: Any, count: int, what: str) -> tuple[int, int, bool]:
    """Where None (all), a number, a slice or a range begins, how many it takes, and whether its axis stays."""
    if given is None:
        return 0, count, True
    if isinstance(given, slice):
        given = range(*given.indices(count))
    if not isinstance(given, range):
        return place(given, count, what), 1, False
    if len(given) > 1 and given.step != 1:
        raise ValueError(f"{what}s must be neighbours (step 1), not step {given.step}")
    if len(given):
        place(given[0], count, what), place(given[-1], count, what)
        return given[0], len(given), True
    return 0, 0, True
