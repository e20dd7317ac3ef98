"""Every command's --help ends with examples, and they run as they stand."""

import json
import os
import re
import subprocess

import pytest
from conftest import PROGRAM, attnscope

TASKS = ["train lm", "train mlm", "train classify", "train translate"]
COMMANDS = (
    """tour view tokenize weights analyze find record fill classify generate pull models explain trace ablate
    rollout flow compare heatmap heads headview overview mask train lesson""".split()
    + TASKS
)


def subcommands(*command):
    """Names in the list of subcommands of a help text."""
    below = attnscope(*command, "--help").stdout.split("\nSubcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)", below, re.M)


def examples(command):
    """The lines after "Examples:", where every help text ends."""
    text, section = attnscope(*command.split(), "--help").stdout.split("\nExamples:\n")
    assert "Usage: attnscope" in text
    lines = section.rstrip("\n").split("\n")
    assert lines and all(line.startswith("  ") for line in lines)
    return [line.strip() for line in lines]


def need_of(line):
    """What an example needs that a test does not have; empty: nothing."""
    if line.startswith("attnscope pull "):
        return "a network"
    if line.startswith("attnscope view ") and "--output" not in line:
        return "a server that runs until Ctrl-C"
    return ""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A PATH on which `attnscope` is the program under test."""
    models = json.loads(attnscope("models", "--json").stdout)["models"]
    missing = {"tiny-bert", "tiny-gpt", "tiny-translate", "imdb-sentiment"} - {one["name"] for one in models}
    if missing:
        pytest.skip(f"this program was built without {', '.join(sorted(missing))}")
    folder = tmp_path_factory.mktemp("bin")
    (folder / "attnscope").symlink_to(PROGRAM.resolve())
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PATH": f"{folder}:{os.environ['PATH']}"}


def test_the_list_of_commands_is_complete():
    assert sorted(subcommands()) == sorted(set(COMMANDS) - set(TASKS))
    assert [f"train {task}" for task in subcommands("train")] == TASKS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_examples_of_the_command(command):
    lines = examples(command)
    assert len(lines) <= 2
    assert any(line.startswith(f"attnscope {command}") for line in lines)
    assert all(len(line) <= 82 for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run_as_they_stand(command, environment, tmp_path):
    skipped = []
    for line in examples(command):
        if need := need_of(line):
            skipped.append(f"{line}: needs {need}")
            continue
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
        if output := re.search(r"--(?:output|npy) (\S+)", line):
            assert (tmp_path / output[1]).stat().st_size > 0
    if skipped:
        pytest.skip("; ".join(skipped))
