"""The limits of the core: the loops of bench/engine, called without any overhead worth naming."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("ATTNSCOPE_BUILD", ROOT / "build"))


class Probe:
    def __init__(self) -> None:
        path = BUILD / "bench" / "libbench_probe.so"
        if not path.exists():
            raise SystemExit(f"bench: {path} is missing; `make bench` builds it")
        library = ctypes.CDLL(str(path))
        self._fma_peak = library.bench_fma_peak
        self._fma_peak.argtypes, self._fma_peak.restype = [ctypes.c_double], ctypes.c_double
        self._plain_read = library.bench_plain_read
        self._plain_read.argtypes, self._plain_read.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_uint

    def fma_peak(self) -> float:
        """FLOP a second of CPU time, one core."""
        return self._fma_peak(0.005)

    def plain_read(self, tensor: torch.Tensor) -> int:
        """Reads a dense tensor once."""
        return self._plain_read(tensor.data_ptr(), tensor.nbytes)


@cache
def probe() -> Probe:
    return Probe()
