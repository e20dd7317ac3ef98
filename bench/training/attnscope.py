"""attnscope: fused attention and loss, nothing stored that can be computed again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from harness.probe import BUILD
from training import BATCH, HEADS, LAYERS, LENGTH, POSITIONS, RATE, VOCABULARY, WIDTH, make_ids

NAME = "attnscope"


class Shape(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("layers", "heads", "width", "positions", "vocabulary")]


@cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(BUILD / "bench" / "libbench_training.so"))
    found.bench_training_open.argtypes, found.bench_training_open.restype = (
        [ctypes.POINTER(Shape), ctypes.c_int],
        ctypes.c_void_p,
    )
    found.bench_training_close.argtypes = [ctypes.c_void_p]
    found.bench_training_step.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_float,
    ]
    found.bench_training_step.restype = ctypes.c_double
    found.bench_training_numbers.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
    found.bench_training_numbers.restype = ctypes.POINTER(ctypes.c_float)
    return found


class Model:
    def __init__(self, threads: int) -> None:
        self.handle = library().bench_training_open(
            ctypes.byref(Shape(LAYERS, HEADS, WIDTH, POSITIONS, VOCABULARY)), threads
        )

    def numbers(self, name: str) -> np.ndarray:
        size = ctypes.c_int64()
        found = library().bench_training_numbers(self.handle, name.encode(), ctypes.byref(size))
        if not found:
            raise KeyError(name)
        return np.ctypeslib.as_array(found, (size.value,)).copy()

    def __del__(self) -> None:
        library().bench_training_close(self.handle)


def make(threads: int) -> Callable[[], float]:
    model, ids = Model(threads), make_ids()
    return lambda: library().bench_training_step(model.handle, ids.ctypes.data, BATCH, LENGTH, RATE)
