"""attnscope with nothing recorded: what recording costs is the difference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bert.attnscope import model

NAME = "attnscope, no attentions"


def make(ids: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    return lambda: model(threads).read(ids, record=False)
