"""Runs the Python steps of the lessons and compares their numbers with numpy's."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

LESSONS = Path(__file__).parents[2] / "lessons"


@pytest.mark.parametrize("name", sorted(file.parent.name for file in LESSONS.glob("*/steps.py")))
def test_steps_of_a_lesson_give_its_numbers(name):
    expected = json.loads((LESSONS / name / "expected.json").read_text())
    found = runpy.run_path(str(LESSONS / name / "steps.py"))
    known = [key for key in expected if isinstance(found.get(key), (np.ndarray, float, int, list))]
    assert known, f"none of {', '.join(expected)} is a name in steps.py"
    for key in known:
        right = np.array(expected[key], dtype=float)  # null becomes NaN, and is -infinity
        right[np.isnan(right)] = -np.inf
        np.testing.assert_allclose(np.asarray(found[key], dtype=float), right, rtol=1e-4, atol=1e-5, err_msg=key)
