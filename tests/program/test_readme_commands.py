"""The commands of the README run as they stand there, on the small models of the tests."""

import re
import shlex

import numpy as np
from conftest import ROOT, attnscope, model_folder

# What the README names, and what stands for it here.
STANDS_FOR = {"bert-base-uncased": model_folder("bert"), "DIR": model_folder("llama")}
PLACES = {"--layer": "1", "--head": "1", "--query": "2", "--token": "2"}


def blocks():
    """Commands of each block of the README that has some."""
    found = re.findall(r"```sh\n(attnscope .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    return [[shlex.split(line, comments=True)[1:] for line in block.splitlines()] for block in found]


def stand_in(command):
    words = [STANDS_FOR.get(word, word) for word in command]
    return [PLACES.get(before, word) for before, word in zip(["", *words], words)]


def test_commands_on_models_run():
    commands = blocks()[0]
    assert {command[0] for command in commands} == {"pull", "fill", "weights", "generate", "tokenize", "models"}
    for command in commands:
        if command[0] == "pull":  # test_pull.py
            continue
        assert attnscope(*stand_in(command)).stdout


def test_commands_that_look_at_heads_run(tmp_path):
    commands = blocks()[1]
    asked = "analyze heatmap heads explain trace ablate compare find rollout record mask"
    assert {command[0] for command in commands} == set(asked.split())
    (tmp_path / "article.txt").write_text("The cat sat on the mat.")
    np.save(tmp_path / "mine.npy", np.full((3, 3), 1 / 3, np.float32))
    for command in commands:
        done = attnscope(*stand_in(command), cwd=tmp_path)
        assert done.stdout or "-o" in command
        if "-o" in command:
            assert (tmp_path / command[command.index("-o") + 1]).stat().st_size > 0
