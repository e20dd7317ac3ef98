"""What a command writes is never what it reads, under whatever name: refused before any work, and nothing is lost."""

import os
import shutil

import pytest
from conftest import attnscope, model_folder, refused

CSV = "text\nthe cat sat\na dog ran\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with one text, one table and one model; also the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(CSV)
    (tmp_path / "t").write_text("the cat sat on the mat")
    (tmp_path / "table.csv").write_text("0.5,0.5\n0.25,0.75\n")
    shutil.copytree(model_folder("gpt2"), tmp_path / "m")
    return tmp_path


def state_of(folder):
    return {
        path.relative_to(folder): (path.read_bytes() if path.is_file() else None) for path in sorted(folder.rglob("*"))
    }


COMMANDS = [
    "analyze --corpus d.csv --json d.csv",
    "analyze --corpus d.csv --state d.csv",
    "analyze --corpus d.csv --json d.csv.attnscope-state",
    "analyze --file t --json t",
    "analyze --table table.csv --json ./table.csv",
    "weights --table table.csv --csv table.csv",
    "weights --table table.csv --npy table.csv",
    "weights --table table.csv --csv out --npy ./out",
    "weights --model m --text cat --json m/config.json",
    "record --file t -o t",
    "record --file t.attn",
    "record --model m --text cat -o m/model.safetensors",
    "heatmap --table table.csv -o out.svg --layer 0 --head 0",
    "compare rec.attn rec.attn -o out.svg",
    "view --recording rec.attn -o rec.attn",
    "train lm --data t --from m --to m",
    "train lm --data t --from m --to ./m/../m",
    "train lm --data m/loss.csv --to m",
    "train lm --data texts --to texts",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_is_an_input_is_refused(place, command):
    shutil.copy("t", "t.attn")
    attnscope("record", "--text", "the cat", "-o", "rec.attn")
    (place / "m" / "loss.csv").write_text("the cat sat\n" * 9)
    os.symlink("table.csv", "out.svg")
    if "compare" in command:
        os.unlink("out.svg")
        os.link("rec.attn", "out.svg")
    (place / "texts").mkdir()
    (place / "texts" / "1.txt").write_text("the cat sat\n" * 9)
    before = state_of(place)
    said = refused(2, *command.split())
    assert "choose" in said
    assert state_of(place) == before


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
def test_links_and_standard_input_make_no_difference(place, link):
    if link:
        link("t", "other")
        said = refused(2, "record", "--file", "t", "-o", "other")
        assert "--output other would overwrite what --file t reads" in said
    else:
        with open("t", "rb") as text:
            said = refused(2, "record", "--file", "-", "-o", "t", stdin=text)
        assert "--output t would overwrite what --file - reads" in said
    assert (place / "t").read_text() == "the cat sat on the mat"


def test_devices_and_other_files_may_be_shared(place):
    attnscope("weights", "--file", "t", "--layer", 0, "--head", 0, "--csv", "/dev/null", "--npy", "/dev/null")
    attnscope("record", "--file", "t", "-o", "m/rec.attn")
    attnscope("analyze", "--corpus", "d.csv", "--json", "new.json")
    attnscope("analyze", "--corpus", "d.csv", "--json", "new.json")  # an old output is no input
    assert (place / "d.csv").read_text() == CSV


def test_built_in_model_may_give_its_name_to_the_folder_that_is_trained(place):
    (place / "texts.txt").write_text("the cat sat on the mat\n" * 9)
    command = "train mlm --data texts.txt --from tiny-bert --to tiny-bert --layers 1 --steps 1 --batch 1 --length 8"
    attnscope(*command.split())
    assert "done" in attnscope(*command.split()).stdout  # --from still means the built-in model
    refused(2, *command.replace("--from tiny-bert", "--from ./tiny-bert").split())
