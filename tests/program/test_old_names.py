"""Names of version 0.1 still work, and say their new names once on standard error, never in JSON."""

import json

from conftest import attnscope
from served import Served

HEAD = ["--text", "The cat sat on the mat.", "--layer", 1, "--head", 0]


def test_aside_is_without_sinks():
    new = attnscope("heatmap", *HEAD, "--without-sinks", "--json")
    old = attnscope("heatmap", *HEAD, "--aside", "--json")
    assert old.stdout == new.stdout and new.stderr == ""
    assert old.stderr.count("--aside is called --without-sinks now") == 1 and old.stderr.count("\n") == 1
    found = json.loads(new.stdout)
    assert found["without_sinks"] is True and found["aside"] is True
    assert "--aside" not in attnscope("heatmap", "--help").stdout


def test_judge_every_is_evaluate_every(tmp_path):
    lines = [f"a film of {n} minutes,{n % 2}" for n in range(40)]
    (tmp_path / "data.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    train = ["train", "classify", "--data", tmp_path / "data.csv", "--steps", 4, "--layers", 1, "--heads", 1]
    train += ["--width", 8, "--batch", 4, "--length", 8, "--vocabulary", 0, "--held-out", 0.3, "--json", "--to"]
    done = attnscope(*train, tmp_path / "model", "--judge-every", 2)
    assert done.stderr.count("--judge-every is called --evaluate-every now") == 1
    found = json.loads(done.stdout)
    assert found["held_out_accuracy"] == found["held_out_right"]


def test_specimens_are_recordings():
    where = {"layer": 0, "head": 1, "row": 2}
    with Served("--text", "The cat sat.") as page:
        new = [page.get("api/recordings"), page.get("api/recordings/1/row", without_sinks=1, **where)]
        old = [page.get("api/specimens"), page.get("api/specimens/1/row", aside=1, **where)]
        assert [answer[::2] for answer in old] == [answer[::2] for answer in new]
        assert page.post("api/specimens", {"model": "tiny-bert", "text": "A dog."})[0] == 200
        listed = json.loads(page.get("api/recordings")[2])
        assert len(listed["recordings"]) == 2 and listed["specimens"] == listed["recordings"]
        assert page.get("api/specimensx")[0] == 404
        page.process.terminate()
        assert page.process.stderr.read().count("/api/specimens is called /api/recordings now") == 1
