"""The commands of the README run as they stand there, on the small models of the tests."""

import re
import shlex

import numpy as np
import pytest
from conftest import ROOT, attnscope, model_folder
from mpi import LIBRARIES, mpirun

# What the README names, and what stands for it here.
STANDS_FOR = {"bert-base-uncased": model_folder("bert"), "DIR": model_folder("llama")}
PLACES = {"--layer": "1", "--head": "1", "--query": "2", "--token": "2"}


def blocks(first="attnscope"):
    """Commands of each block of the README that begins with this word, without it."""
    found = re.findall(rf"```sh\n({first} .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    return [[shlex.split(line, comments=True)[1:] for line in block.splitlines()] for block in found]


def stand_in(command):
    words = [STANDS_FOR.get(word, word) for word in command]
    return [PLACES.get(before, word) for before, word in zip(["", *words], words)]


def test_commands_that_open_the_page_run(tmp_path):
    served, written = blocks()[0]
    assert served[0] == written[0] == "view"
    attnscope(*written, cwd=tmp_path)
    assert (tmp_path / "cat.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert written[: len(served)] == served  # test_view.py is about what is served


def test_commands_of_the_course_run():
    commands = blocks()[1]
    assert {command[0] for command in commands} == {"lesson"}
    for command in commands:
        assert attnscope(*command).stdout


def test_commands_on_built_in_models_run():
    commands = blocks()[2]
    assert {command[0] for command in commands} == {"analyze", "heatmap", "fill", "generate", "classify"}
    for command in commands:
        done = attnscope(*command)
        assert done.stdout
        if command[-1] == "I love you":
            assert done.stdout.strip() == "我爱你"


def test_commands_on_models_run():
    commands = blocks()[3]
    assert {command[0] for command in commands} == {"pull", "fill", "weights", "generate", "tokenize", "models"}
    for command in commands:
        if command[0] == "pull":  # test_pull.py
            continue
        assert attnscope(*stand_in(command)).stdout


def test_commands_that_look_at_heads_run(tmp_path):
    commands = blocks()[4]
    asked = "analyze heatmap heads explain trace ablate compare find rollout record mask"
    assert {command[0] for command in commands} == set(asked.split())
    (tmp_path / "article.txt").write_text("The cat sat on the mat.")
    np.save(tmp_path / "mine.npy", np.full((3, 3), 1 / 3, np.float32))
    for command in commands:
        done = attnscope(*stand_in(command), cwd=tmp_path)
        assert done.stdout or "-o" in command
        if "-o" in command:
            assert (tmp_path / command[command.index("-o") + 1]).stat().st_size > 0


def write_data(folder):
    words = "the film was good and the cast was not bad but this story has no end so we left".split()
    texts = [" ".join(words[n:] + words[:n]) for n in range(len(words))]
    rows = [f"{text},{label}" for text, label in zip(texts, ["good", "bad"] * 9)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    (folder / "notes").mkdir()
    (folder / "notes" / "one.txt").write_text(" ".join(texts))


def test_commands_that_train_run(tmp_path):
    """With a step or two instead of a thousand."""
    commands = blocks()[5]
    assert [command[:2] for command in commands] == [
        ["train", "mlm"],
        ["train", "classify"],
        ["train", "lm"],
        ["lesson", "imdb"],
    ]
    write_data(tmp_path)
    small = {
        "mlm": ["--vocabulary", "0"],
        "classify": [],
        "lm": ["--vocabulary", "0", "--held-out", "0", "--length", "16", "--probe", "film"],
    }
    for command in commands:
        few = ["--steps", "2", "--batch", "2", *small[command[1]]] if command[0] == "train" else []
        attnscope(*command, *few, cwd=tmp_path)
    for folder in ("my-bert", "my-judge", "my-gpt"):
        assert (tmp_path / folder / "model.safetensors").stat().st_size > 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_commands_of_several_processes_run(library, tmp_path):
    """With two processes instead of four, and a step or two."""
    (commands,) = blocks("mpirun")
    assert [command[3] for command in commands] == ["record", "analyze", "analyze", "train"]
    write_data(tmp_path)
    (tmp_path / "book.txt").write_text("The cat sat on the mat.")
    few = "--steps 2 --batch 2 --vocabulary 0 --held-out 0 --length 16 --probe film".split()
    for command in commands:
        assert command[:3] == ["-n", "4", "attnscope"]
        done = mpirun(library, 2, *stand_in(command[3:]), *(few if command[3] == "train" else []), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert (tmp_path / "book.attn").stat().st_size > 0
    assert (tmp_path / "my-gpt" / "model.safetensors").stat().st_size > 0
