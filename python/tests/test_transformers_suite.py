"""Checks the usage of tests/transformers_suite.py; what it runs needs a checkout of transformers."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tests" / "transformers_suite.py"


@pytest.mark.parametrize(
    ("made", "arguments", "message"),
    [
        (None, [], "set TRANSFORMERS_TESTS"),
        ("src", [], "no folder tests/models"),
        ("tests/models/bert", ["llama", "bert"], "no tests of llama, bert"),
    ],
)
def test_wrong_usage_says_what_would_be_right(tmp_path, made, arguments, message):
    environment = {name: value for name, value in os.environ.items() if name != "TRANSFORMERS_TESTS"}
    if made:
        (tmp_path / made).mkdir(parents=True)
        environment["TRANSFORMERS_TESTS"] = str(tmp_path)
    done = subprocess.run([sys.executable, SCRIPT, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr
