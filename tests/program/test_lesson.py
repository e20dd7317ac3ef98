"""Every lesson in the terminal, in both languages, as the copies in tests/golden/lessons have it.

What was measured (from ⏱ to the next blank line) stands outside them. After a change that is meant:
ATTNSCOPE_KEEP=1 python -m pytest tests/program/test_lesson.py writes them anew; read what has changed.
"""

import json
import os
import re
from pathlib import Path

import pytest
from conftest import attnscope

GOLDEN = Path(__file__).parents[1] / "golden" / "lessons"
NAMES = sorted(file.parent.name for file in (Path(__file__).parents[2] / "lessons").glob("*/lesson.json"))


def without_measured(text):
    return re.sub(r"^[^\n]*⏱.*?(?=\n\n|\Z)", "⏱", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_matches_its_golden_copy(name, language):
    done = attnscope("lesson", name, "--all", "--lang", language, env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"})
    kept = GOLDEN / f"{name}.{language}.txt"
    if os.environ.get("ATTNSCOPE_KEEP"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(without_measured(done.stdout))
    assert without_measured(done.stdout) == kept.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_has_its_numbers_as_json(name):
    result = json.loads(attnscope("lesson", name, "--json").stdout)
    assert result["name"] == name
    assert result["numbers"]


def test_the_list_names_every_lesson_with_one_line():
    listed = json.loads(attnscope("lesson", "--json").stdout)["lessons"]
    assert sorted(lesson["name"] for lesson in listed) == NAMES
    assert len(NAMES) == 24
    assert all(lesson["line"] and "{" not in lesson["line"] for lesson in listed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lesson", "mask"], "unknown lesson 'mask'"),
        (["lesson", "self-attention", "--set", "d_k=0"], "d_k must be a whole number"),
        (["lesson", "self-attention", "--set", "x=1"], "there is no setting 'x'"),
        (["lesson", "masks", "--model", "tiny-bert"], "this lesson takes no --model"),
        (["lesson", "dot-product", "--input", "/nowhere.json"], "/nowhere.json"),
    ],
)
def test_wrong_usage_prints_one_line(arguments, said):
    done = attnscope(*arguments, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_figures_are_written(tmp_path):
    attnscope("lesson", "heads", "--all", "-o", str(tmp_path / "figures"))
    assert list((tmp_path / "figures").glob("*.png"))


def test_own_data_is_used(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"Q": [[0, 1]]}))
    result = json.loads(attnscope("lesson", "dot-product", "--json", "--input", str(file)).stdout)
    weights = result["numbers"]["weights"][0]
    assert weights[1] > weights[0] == pytest.approx(weights[2])
