"""attnscope, fused in both directions, called by ctypes."""

import ctypes
from functools import cache

import torch

from backward import gradient_of_output
from harness.case import Case, Inputs
from harness.contender import Call
from harness.probe import BUILD

NAME = "attnscope"


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("b", "h", "g", "n", "m", "d", "causal")] + [
        (name, ctypes.c_void_p) for name in ("q", "k", "v", "d_out", "out", "dq", "dk", "dv")
    ]


@cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(BUILD / "bench" / "libbench_gradients.so"))
    found.bench_pool_open.argtypes, found.bench_pool_open.restype = [ctypes.c_int], ctypes.c_void_p
    for function in (found.bench_attention, found.bench_gradients):
        function.argtypes = [ctypes.c_void_p, ctypes.POINTER(Problem)]
    return found


@cache
def pool(threads: int) -> int:
    return library().bench_pool_open(threads)


def make(case: Case, x: Inputs) -> Call:
    d_out = gradient_of_output(case)
    sizes = (case.b, case.h, case.heads, case.n, case.keys, case.d, int(case.rule == "causal"))

    def call() -> tuple[torch.Tensor, ...]:
        results = [torch.empty_like(t) for t in (x.q, x.q, x.k, x.v)]  # out, dq, dk, dv
        pointers = (t.data_ptr() for t in (x.q, x.k, x.v, d_out, *results))
        if library().bench_gradients(pool(case.threads), ctypes.byref(Problem(*sizes, *pointers))) != 0:
            raise RuntimeError("attention_backward refused the problem")
        return tuple(results[1:])

    return call
