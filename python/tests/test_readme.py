"""The Python of the README and of the pages in docs runs as it stands there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/python.md"]


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.skipif(not (ROOT / PAGES[0]).exists(), reason="the pages lie beside the sources only")
@pytest.mark.parametrize("page", PAGES)
def test_its_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that it writes
    blocks, names = blocks_of(page), {}
    assert blocks
    for block in blocks:  # each goes on where the one before ended
        exec(compile(block, page, "exec"), names)
    assert names["part"].shape[-2] == 10
    assert names["weights"].sum(axis=-1) == pytest.approx(1, abs=1e-5)
