"""The Python of the README runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the README lies beside the sources only")
def test_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict = {}
        exec(compile(block, str(README), "exec"), names)
        assert names["out"].shape == (1, 8, 1, 64)
        assert names["part"].shape == (1, 8, 10, 64)
        assert names["weights"].sum(axis=-1) == pytest.approx(1, abs=1e-5)
