"""Colours and a progress line, if the output is a terminal."""

from __future__ import annotations

import os
import shutil
import sys

GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"


def colourful() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str) -> str:
    return f"\033[{style}m{text}\033[0m" if colourful() else text


class Progress:
    """One line that is written over, on standard error; nothing at all where that is no terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._on:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\033[K" + text[:width])
            sys.stderr.flush()

    def clear(self) -> None:
        if self._on:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
