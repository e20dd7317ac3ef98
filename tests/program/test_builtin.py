"""Built-in models: their names, and the default model of commands."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, attnscope, refused

TEXT = "The movie was not bad at all."


@pytest.fixture(scope="session")
def listed():
    return [one for one in json.loads(attnscope("models", "--json").stdout)["models"] if one["built_in"]]


@pytest.fixture
def names(listed):
    if not listed:
        pytest.skip("this program was built without models")
    return [one["name"] for one in listed]


def need(listed, name):
    if name not in [one["name"] for one in listed]:
        pytest.skip(f"this program was built without {name}")


@pytest.fixture
def tiny_bert(listed):
    need(listed, "tiny-bert")


@pytest.fixture
def tiny_gpt(listed):
    need(listed, "tiny-gpt")


with_default = pytest.mark.usefixtures("tiny_bert")


@pytest.mark.parametrize("command", ["fill", "tokenize", "weights", "record", "explain", "analyze", "trace", "heatmap"])
def test_without_a_default_a_model_must_be_named(listed, command):
    if "tiny-bert" in [one["name"] for one in listed]:
        pytest.skip("this program has a default model")
    said = refused(2, command, *([TEXT] if command == "explain" else ["--text", TEXT]))
    assert "--model" in said


@with_default
@pytest.mark.parametrize(
    "arguments",
    [
        ["tokenize", "--text", TEXT],
        ["weights", "--text", TEXT, "--layer", 0, "--head", 0],
        ["explain", TEXT],
        ["explain", TEXT, "--word", "movie"],
        ["analyze", "--text", TEXT],
        ["find", "previous", "--text", TEXT],
        ["trace", "--text", TEXT, "--layer", 0, "--head", 0, "--query", 1],
        ["ablate", "--text", "The [MASK] was bad.", "--head", "0.0"],
        ["rollout", "--text", TEXT],
        ["flow", "--text", TEXT, "--token", 1],
        ["heatmap", "--text", TEXT, "--layer", 0, "--head", 0],
        ["heads", "--text", TEXT, "--layer", 0],
        ["headview", "--text", TEXT, "--layer", 0],
        ["overview", "--text", TEXT],
        ["fill", "--text", "The [MASK] was bad."],
    ],
)
def test_commands_use_tiny_bert_by_default(arguments):
    done = attnscope(*arguments)
    assert done.stdout and done.stderr == ""  # no note when standard error is not a terminal
    assert done.stdout == attnscope(*arguments, "--model", "tiny-bert").stdout


@with_default
def test_a_corpus_is_read_by_tiny_bert_by_default(tmp_path):
    (tmp_path / "texts.txt").write_text("one two three\nfour five\n")
    arguments = ["analyze", "--corpus", tmp_path / "texts.txt", "--json"]
    assert attnscope(*arguments).stdout == attnscope(*arguments, "--model", "tiny-bert").stdout


@with_default
def test_a_recording_of_a_built_in_model_has_its_name(tmp_path):
    result = json.loads(attnscope("record", "--text", TEXT, "-o", tmp_path / "a.attn", "--json").stdout)
    assert result["model"] == "tiny-bert"
    assert "tiny-bert" in attnscope("record", "--text", TEXT, "-o", tmp_path / "a.attn").stdout
    both = attnscope("compare", tmp_path / "a.attn", tmp_path / "a.attn", "--json").stdout
    assert json.loads(both)["a"]["model"] == "tiny-bert"


@pytest.mark.usefixtures("tiny_gpt")
def test_generate_uses_tiny_gpt_by_default():
    arguments = ["generate", "--prompt", "The movie", "--tokens", 5, "--json"]
    default, named = (json.loads(attnscope(*arguments, *more).stdout) for more in ([], ["--model", "tiny-gpt"]))
    assert default["ids"] == named["ids"] and len(default["ids"]) <= 5


def test_the_list_begins_with_the_built_in_models(listed, names):
    every = json.loads(attnscope("models", "--json").stdout)["models"]
    assert [one["name"] for one in every[: len(names)]] == names
    shown = attnscope("models").stdout.splitlines()
    assert [line.split()[0] for line in shown[1 : len(names) + 1]] == names
    for one in listed:
        assert one["folder"] is None and one["parameters"] > 0 and one["for"]
        alone = json.loads(attnscope("models", one["name"], "--json").stdout)["models"]
        assert alone == [one]


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt", "tiny-translate", "imdb-sentiment"])
def test_a_built_in_model_is_the_one_in_models(listed, name):
    need(listed, name)
    folder = ROOT / "models" / name
    if not (folder / "config.json").exists():
        pytest.skip(f"models/{name} is not there: the program was built from another folder")
    arguments = ["weights", "--text", TEXT, "--layer", 0, "--head", 0, "--json"]
    built_in, on_disk = (json.loads(attnscope(*arguments, "--model", model).stdout) for model in (name, folder))
    assert built_in["tokens"] == on_disk["tokens"]
    assert np.array_equal(np.float32(built_in["weights"]), np.float32(on_disk["weights"]))


@with_default
def test_a_bare_name_means_the_built_in_model_and_a_path_the_folder(tmp_path):
    (tmp_path / "tiny-bert").mkdir()
    arguments = ["tokenize", "--text", TEXT, "--json"]
    bare = attnscope(*arguments, "--model", "tiny-bert", cwd=tmp_path)
    assert bare.stdout == attnscope(*arguments).stdout
    assert bare.stderr == "note: using the built-in model tiny-bert; write ./tiny-bert for the folder\n"
    assert "./tiny-bert" in refused(1, *arguments, "--model", "./tiny-bert", cwd=tmp_path)
    assert "./tiny-bert" not in attnscope(*arguments, cwd=tmp_path).stderr  # only a named model gets the note


@with_default
def test_pull_refuses_a_built_in_model():
    assert "nothing to download" in refused(2, "pull", "tiny-bert")


@with_default
def test_the_program_needs_no_other_file(tmp_path):
    program = tmp_path / "attnscope"
    shutil.copy(PROGRAM, program)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATTNSCOPE")}
    command = [program, "fill", "--text", "a [MASK]", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["masks"]
    assert [path.name for path in tmp_path.iterdir()] == ["attnscope"]


@with_default
def test_a_text_is_still_needed():
    for command in ("weights", "analyze", "heatmap", "explain"):
        assert "--file" in refused(2, command)


@with_default
def test_help_names_the_default():
    assert "tiny-bert" in attnscope("fill", "--help").stdout
