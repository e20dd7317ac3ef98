"""onnxruntime's fused node, unidirectional."""

from harness.case import Case, Inputs
from harness.contender import Call
from peers import onnxruntime_mha
from peers.onnxruntime_mha import NAME, unpack

__all__ = ["NAME", "make", "unpack"]


def make(case: Case, x: Inputs) -> Call:
    return onnxruntime_mha.make(case, x, causal=True)
