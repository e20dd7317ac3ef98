"""Runs the examples, and checks that the notebook matches the script."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"
SCRIPT, NOTEBOOK = FOLDER / "look_at_a_text.py", FOLDER / "look_at_a_text.ipynb"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples lie beside the sources only")


def cells_of_script():
    """Returns (kind, text) of the cells, which lines that begin with # %% separate."""
    for part in re.split(r"^# %%", SCRIPT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if "markdown" in title:
            yield "markdown", re.sub(r"^# ?", "", text.strip("\n"), flags=re.MULTILINE)
        else:
            yield "code", text.strip("\n")


def cells_of_notebook():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_the_script_runs_and_draws(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^look at layer \d, head \d: .+$", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^ *\S+ looks at \S+ \([01]\.\d\d\)$", done.stdout, re.MULTILINE)) == 13
    assert (tmp_path / "head.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_notebook_has_the_cells_of_the_script_and_no_output():
    cells = cells_of_notebook()
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == list(cells_of_script())
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in cells_of_notebook():
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    assert names["entropy"].shape == (4, 4)
    assert names["weights"].sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert "look at layer" in capsys.readouterr().out
    assert names["figure"].svg().startswith("<?xml") and (tmp_path / "head.svg").exists()
