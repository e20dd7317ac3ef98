"""transformers at its fastest, which returns no attentions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bert.transformers_eager import make as make_transformers

NAME = "transformers sdpa, no attentions"


def make(ids: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    return make_transformers(ids, threads, "sdpa")
