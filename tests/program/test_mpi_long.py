"""One text over several processes: recordings, numbers and figures are those of one process."""

import json
import shutil

import numpy as np
import pytest
from conftest import GOLDEN, attnscope, model_folder
from mpi import LIBRARIES, PROGRAM, mpirun, said_once
from png import decoded
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

WORDS = "the quick brown fox jumps over the lazy dog and was it asleep ? ".split()


@pytest.fixture(scope="module")
def long_model(tmp_path_factory):
    """The small GPT-2, with more positions than it was trained for."""
    folder = tmp_path_factory.mktemp("long") / "gpt2"
    shutil.copytree(GOLDEN / "models" / "gpt2", folder)
    config = json.loads((folder / "config.json").read_text())
    config["n_positions"] = 1000
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if name.endswith("wpe.weight"))
    width = tensors[name].shape[1]
    tensors[name] = np.random.default_rng(1).normal(0, 0.3, (1000, width)).astype(np.float32)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def long_text(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "long.txt"
    random = np.random.default_rng(2)
    file.write_text(" ".join(random.choice(WORDS) for _ in range(300)), encoding="utf-8")
    return file


def by_ranks(library, ranks, *arguments, **more):
    done = mpirun(library, ranks, *arguments, **more)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def metadata(file):
    with safe_open(file, "np") as opened:
        return opened.metadata()


def assert_same_recording(found, right):
    assert metadata(found) == metadata(right)
    tensors, expected = load_file(found), load_file(right)
    assert tensors.keys() == expected.keys()
    for name, numbers in expected.items():
        assert tensors[name].shape == numbers.shape
        np.testing.assert_allclose(tensors[name], numbers, rtol=1e-5, atol=1e-5, err_msg=name)


def assert_close(found, right):
    """Any JSON: numbers to 1e-4, all else exactly."""
    if isinstance(right, dict):
        assert list(found) == list(right)
        for key in right:
            assert_close(found[key], right[key])
    elif isinstance(right, list):
        assert len(found) == len(right)
        for one, other in zip(found, right):
            assert_close(one, other)
    elif isinstance(right, float):
        assert found == pytest.approx(right, rel=1e-4, abs=1e-4)
    else:
        assert found == right


def assert_same_picture(found, right):
    """Equal up to rounding: in a few places a colour may be the neighbouring one."""
    pictures = [decoded(file.read_bytes()).astype(int) for file in (found, right)]
    assert pictures[0].shape == pictures[1].shape
    apart = np.abs(pictures[0] - pictures[1])
    assert apart.max() <= 8 and apart.mean() < 0.01


def analysis(text):
    """Without the check, whose deviation differs from recording to recording."""
    result = json.loads(text)
    assert result["check"]["passed"] and result["check"]["deviation"] < 1e-4
    return {key: value for key, value in result.items() if key != "check"}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_long_text_is_recorded_as_by_one_process(library, ranks, long_model, long_text, tmp_path):
    given = ["--model", long_model, "--file", long_text]
    attnscope("record", *given, "--all", "-o", tmp_path / "one.attn")
    result = json.loads(by_ranks(library, ranks, "record", *given, "--all", "-o", tmp_path / "many.attn", "--json"))
    assert_same_recording(tmp_path / "many.attn", tmp_path / "one.attn")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["many.attn", "one.attn"]
    stack = result["stacks"][0]
    assert stack["queries"] == stack["keys"] == len(result["tokens"]) > 500
    assert result["bytes"] == (tmp_path / "many.attn").stat().st_size
    assert result["checked"]["rows"] == result["checked"]["all_rows"] == 6 * stack["queries"]

    for name in ("one", "many"):
        recording = ["--recording", tmp_path / f"{name}.attn"]
        attnscope("weights", *recording, "--npy", tmp_path / f"{name}.npy")
        attnscope("heatmap", *recording, "--layer", 1, "--head", 2, "-o", tmp_path / f"{name}.png")
    np.testing.assert_allclose(np.load(tmp_path / "many.npy"), np.load(tmp_path / "one.npy"), atol=1e-5)
    assert_same_picture(tmp_path / "many.png", tmp_path / "one.png")


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_long_text_is_analysed_as_by_one_process(library, ranks, long_model, long_text, tmp_path):
    given = ["analyze", "--model", long_model, "--file", long_text, "--json"]
    right = analysis(attnscope(*given, "--output", tmp_path / "one.png").stdout)
    found = analysis(by_ranks(library, ranks, *given, "--output", tmp_path / "many.png"))
    assert_close(found, right)
    assert_same_picture(tmp_path / "many.png", tmp_path / "one.png")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_recording_is_analysed_to_the_same_bytes(library, tmp_path):
    text = ["--text", "The fox jumps over the dog. Was it asleep?", "--target", "Was it asleep, or was it not?"]
    attnscope("record", "--model", model_folder("t5"), *text, "-o", tmp_path / "one.attn")
    by_ranks(library, 3, "record", "--model", model_folder("t5"), *text, "-o", tmp_path / "many.attn")
    assert_same_recording(tmp_path / "many.attn", tmp_path / "one.attn")
    given = ["analyze", "--recording", tmp_path / "one.attn", "--json"]
    assert by_ranks(library, 3, *given) == attnscope(*given).stdout


@pytest.mark.parametrize("library", LIBRARIES)
def test_rank_0_reads_standard_input(library, tmp_path):
    given = ["record", "--model", model_folder("gpt2"), "--file", "-", "--json", "-o", tmp_path / "x.attn"]
    result = json.loads(by_ranks(library, 2, *given, input="The quick brown fox"))
    assert "".join(result["tokens"]) == "The quick brown fox"


def refused(code, library, ranks, *arguments, **more):
    """Runs a command that must fail on all ranks; returns its one line."""
    done = mpirun(library, ranks, *arguments, **more)
    assert done.stdout == ""
    return said_once(done, code)


GPT2 = ["--model", model_folder("gpt2")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_more_ranks_than_tokens_are_refused_once(library, tmp_path):
    said = refused(1, library, 3, "record", *GPT2, "--text", "a", cwd=tmp_path)
    assert said == "the text has 1 token, too few for 3 processes: each needs at least one"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rank_without_its_file_or_with_another_ends_all(library, tmp_path):
    (tmp_path / "a.txt").write_text("one fox and a dog")
    (tmp_path / "b.txt").write_text("one fox and a log")

    def with_files(first, second):
        record = ["record", *GPT2, "-o", "x.attn", "--file"]
        return refused(1, library, 1, *record, first, ":", "-n", 1, PROGRAM, *record, second, cwd=tmp_path)

    assert with_files("a.txt", "c.txt") == "rank 1: c.txt: cannot be read: No such file or directory"
    assert with_files("a.txt", "b.txt") == "rank 1 has a different text from rank 0"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_generated_output_on_several_processes_is_refused_once(library, tmp_path):
    said = refused(2, library, 2, "record", "--model", model_folder("t5"), "--text", "a fox", cwd=tmp_path)
    assert said.startswith("several processes need --target")
    said = refused(1, library, 2, "record", *GPT2, "--text", "a fox", "-o", "/dev/full")
    assert said == "/dev/full: is not a regular file; several processes cannot write it together"
    said = refused(1, library, 2, "analyze", "--recording", tmp_path / "none.attn")
    assert said == f"{tmp_path / 'none.attn'}: cannot be opened: No such file or directory"
    assert list(tmp_path.iterdir()) == []
