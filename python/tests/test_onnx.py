"""Runs the cases that ONNX has for its operator Attention."""

import importlib

import attnscope as at
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")


def cases():
    """Returns the cases by name. Importing their module makes them; all operators' cases would take a minute."""
    from onnx.backend.test.case import node

    importlib.import_module(f"{node.__name__}.attention")
    return {case.name: case for case in node._NodeTestCases if not case.name.endswith("_expanded")}


CASES = cases()
# ONNX's reference rounds after every step, attnscope once at the end: some units in the last place.
ROUNDING = {"float16": 4e-3, "bfloat16": 2e-2}


def test_there_are_cases_of_every_opset():
    versions = {case.model.opset_import[0].version for case in CASES.values()}
    assert len(CASES) == 93 and {23, 24, 25} <= versions


@pytest.mark.parametrize("name", CASES)
def test_case_of_onnx(name):
    case = CASES[name]
    (node,) = case.model.graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    for inputs, outputs in case.data_sets:
        given = iter(inputs)
        arguments = [next(given) if wire else None for wire in node.input]
        found = at.onnx_attention(*arguments, **attributes, return_qk=len(node.output) > 3)
        wanted = iter(outputs)
        for wire, got in zip(node.output, found):
            if wire:
                want = next(wanted)
                assert got.dtype == want.dtype and got.shape == want.shape, wire
                limits = {"rtol": max(case.rtol, ROUNDING.get(got.dtype.name, 0)), "atol": max(case.atol, 1e-6)}
                np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), **limits, err_msg=wire)


def test_what_onnx_forbids_is_refused():
    x = np.zeros((1, 2, 3, 4), np.float32)
    flat = np.zeros((1, 3, 8), np.float32)
    for arguments, attributes, what in (
        ((x, x, x, None, x), {}, "belong together"),
        ((x, x, x, None, x, x, np.array([3])), {}, "belong together"),
        ((flat, flat, flat), {}, "q_num_heads"),
        ((x, x, x, np.zeros((3, 4), np.float32)), {}, "only 3 keys"),
        ((x, x, x), {"qk_matmul_output_mode": 4}, "from 0 to 3"),
        ((x[0, 0], x[0, 0], x[0, 0]), {}, "2 axes"),
    ):
        with pytest.raises(ValueError, match=what):
            at.onnx_attention(*arguments, **attributes)


def test_double_precision_has_softcap_masks_and_scores(rng):
    q, k, v = (rng.standard_normal((2, 4, 5, 8)) for _ in range(3))
    options = {"is_causal": 1, "softcap": 2.0, "return_qk": True}
    for mode in range(4):
        double = at.onnx_attention(q, k, v, **options, qk_matmul_output_mode=mode)
        single = at.onnx_attention(*(x.astype(np.float32) for x in (q, k, v)), **options, qk_matmul_output_mode=mode)
        for wide, narrow in zip(double, single):
            assert wide.dtype == np.float64
            np.testing.assert_allclose(wide, narrow, rtol=1e-4, atol=1e-5)
