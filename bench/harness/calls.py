"""The engine behind the C functions of bench/wasm/calls.h: in this process, or as a WebAssembly module in node."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from harness.probe import BUILD, ROOT

HERE = ROOT / "bench" / "wasm"
NODE = ROOT / "tools" / "node.sh"
WASM_BUILD = ROOT / "build-wasm"
Seconds = tuple[float, float]  # wall clock, and CPU time of the whole process


class NotHere(Exception):
    """What is missing, and what makes it."""


def built_module() -> Path:
    """The module, compiled now unless nothing is to be compiled."""
    path = WASM_BUILD / "bench" / "wasm" / "bench_wasm.wasm"
    if not (WASM_BUILD / "build.ninja").exists() or not (WASM_BUILD / "runtime" / "stamp").exists():
        raise NotHere(f"{WASM_BUILD.name} is missing: `make web-app` makes it")
    if "BENCH_NO_COMPILE" not in os.environ:
        command = ["cmake", "--build", str(WASM_BUILD), "--target", "bench_wasm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotHere(f"bench_wasm does not compile: {done.stdout.strip().splitlines()[-1]}")
    if not path.exists():
        raise NotHere(f"{path.relative_to(ROOT)} is missing: `cmake --build build-wasm --target bench_wasm` makes it")
    return path


class Engine(Protocol):
    def make(self, text: str) -> int: ...

    def run(self, work: int, count: int) -> Seconds:
        """Of all runs together."""
        ...

    def result(self, work: int) -> np.ndarray: ...

    def close(self) -> None: ...


class Native:
    """One instruction set of this machine."""

    def __init__(self, target: str) -> None:
        path = BUILD / "bench" / "wasm" / "libbench_wasm.so"
        if not path.exists():
            raise NotHere(f"{path} is missing: `make bench` builds it")
        self._calls = ctypes.CDLL(str(path))
        self._calls.bench_text.restype = ctypes.c_void_p
        self._calls.bench_result.restype = ctypes.POINTER(ctypes.c_float)
        self._calls.bench_result_size.restype = ctypes.c_size_t
        self._target = target.encode()
        if not self._calls.bench_use_target(self._target):
            raise NotHere(f"this machine has no {target}")

    def make(self, text: str) -> int:
        self._calls.bench_use_target(self._target)
        ctypes.memmove(self._calls.bench_text(), text.encode() + b"\0", len(text) + 1)
        return int(self._calls.bench_make())

    def run(self, work: int, count: int) -> Seconds:
        self._calls.bench_use_target(self._target)
        self._calls.bench_run(work, 1)  # looks for the instruction set again
        wall, cpu = time.perf_counter(), time.process_time()
        self._calls.bench_run(work, count)
        return time.perf_counter() - wall, time.process_time() - cpu

    def result(self, work: int) -> np.ndarray:
        size = self._calls.bench_result_size(work)
        return np.ctypeslib.as_array(self._calls.bench_result(work), (size,)).copy()

    def close(self) -> None:
        pass


class Module:
    """The module in node, which sleeps while the others have their turn."""

    def __init__(self) -> None:
        node = subprocess.run([str(NODE)], capture_output=True, text=True, check=True).stdout.strip()
        command = [node, "--no-warnings", str(HERE / "module.mjs"), str(built_module())]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, **request: object) -> Any:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"node ended with {self._process.wait()}")
        return json.loads(answer)

    def make(self, text: str) -> int:
        return self._ask(make=text)

    def run(self, work: int, count: int) -> Seconds:
        self._ask(run=work, count=1)
        took = self._ask(run=work, count=count)
        return took["wall"], took["cpu"]

    def result(self, work: int) -> np.ndarray:
        return np.frombuffer(base64.b64decode(self._ask(result=work)), np.float32)

    def close(self) -> None:
        self._process.communicate()  # the end of its input is the end of it
