"""onnxruntime's MultiHeadAttention: a graph of that one node, inputs and output bound beforehand."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import torch
from onnx import TensorProto, helper

from harness.case import Case, Inputs
from harness.contender import Call

NAME = "onnxruntime"


def make(case: Case, x: Inputs, causal: bool = False) -> Call:
    shape = (case.b, case.n, case.h * case.d)
    session = ort.InferenceSession(model(case, causal), options(case), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, tensor in (("q", x.q), ("k", x.k), ("v", x.v)):
        folded = np.ascontiguousarray(tensor.transpose(1, 2).reshape(shape).numpy())  # its layout, for free
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(folded))
    out = ort.OrtValue.ortvalue_from_numpy(np.empty(shape, np.float32))
    binding.bind_ortvalue_output("out", out)

    def call() -> ort.OrtValue:
        session.run_with_iobinding(binding)
        return out

    return call


def unpack(case: Case, result: ort.OrtValue) -> torch.Tensor:
    return torch.from_numpy(result.numpy()).view(case.b, case.n, case.h, case.d).transpose(1, 2)


def options(case: Case) -> ort.SessionOptions:
    chosen = ort.SessionOptions()
    chosen.intra_op_num_threads = case.threads
    chosen.inter_op_num_threads = 1
    chosen.log_severity_level = 3
    return chosen


def model(case: Case, causal: bool) -> bytes:
    shape = [case.b, case.n, case.h * case.d]
    node = helper.make_node(
        "MultiHeadAttention",
        ["q", "k", "v"],
        ["out"],
        domain="com.microsoft",
        num_heads=case.h,
        unidirectional=int(causal),
    )
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("q", "k", "v", "out")]
    graph = helper.make_graph([node], "attention", infos[:3], infos[3:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
