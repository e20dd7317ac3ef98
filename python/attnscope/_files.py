"""Opens recordings and tables of weights from files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable

from . import _scope, _tables
from ._parts import path_of
from ._recording import Recording

_TABLES = (".npy", ".csv", ".json")


def open(
    path: str | os.PathLike, tokens: Iterable[str] | None = None, key_tokens: Iterable[str] | None = None
) -> Recording:
    """Opens a recording: an .attn file, as Recording.save() and `attnscope record` write it, or a table of weights.

    Tables are .npy, .csv or .json, [N, M], [H, N, M] or [L, H, N, M]; tokens name their rows, key_tokens their columns.
    Raises attnscope.Error for a file that cannot be read or whose weights do not check out. Warns about a table whose
    rows do not sum to 1.

    >>> import numpy as np, attnscope as at
    >>> np.save("table.npy", np.full((2, 3, 3), 1 / 3))
    >>> at.open("table.npy", tokens=["the", "cat", "sat"]).shape
    (1, 2, 3, 3)
    """
    file = path_of(path, "path")
    names = _tables.names_of(tokens, "tokens"), _tables.names_of(key_tokens, "key_tokens")
    if not file.lower().endswith(_TABLES):
        if names != (None, None):
            raise TypeError("a recording has its own tokens: leave out tokens and key_tokens")
        return Recording(_scope.open_recording(file))
    recording = Recording(_scope.open_table(file, *names))
    if problem := recording._held.problem():
        warnings.warn(f"{file}: {problem}", UserWarning, stacklevel=2)
    return recording
