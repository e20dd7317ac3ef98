"""attnscope, every attention recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from harness.model import Model, folder_of

NAME = "attnscope"


@cache
def model(threads: int) -> Model:
    return Model(folder_of("bert-base-uncased"), 768, threads)


def make(ids: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    return lambda: model(threads).read(ids, record=True)
