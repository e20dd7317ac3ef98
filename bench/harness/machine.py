"""Where and with what it was measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def vectors() -> str:
    """The widest vectors that the CPU says it has."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    except (OSError, IndexError):
        return ""
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else ""


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def describe() -> dict[str, Any]:
    return {
        "cpu": cpu_name(),
        "vectors": vectors(),
        "cores": len(os.sched_getaffinity(0)),
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in ("torch", "transformers", "onnxruntime", "numpy")},
    }


class Neighbours:
    """How much of the machine other processes took meanwhile, as a share of all cores."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Seconds that all cores were busy, seconds of ours (children included), the time."""
        try:
            ticks = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except OSError:
            return 0.0, 0.0, time.perf_counter()
        busy = sum(ticks) - ticks[3] - ticks[4]  # all but idle and waiting for a disk
        own = os.times()
        ours = own.user + own.system + own.children_user + own.children_system
        return busy / os.sysconf("SC_CLK_TCK"), ours, time.perf_counter()

    def share(self) -> float:
        busy, ours, now = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return max(0.0, (busy - ours) / (now * (os.cpu_count() or 1))) if now > 0 else 0.0
