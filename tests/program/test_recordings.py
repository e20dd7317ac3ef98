"""Recordings and own tables: files round-trip, and errors locate what is broken."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers_says
from conftest import GOLDEN, PROGRAM, ROOT, attnscope, model_folder, refused
from safetensors.numpy import load_file, save_file

TEXT = "The quick brown fox jumps over the lazy dog."
TARGET = "Was it asleep?"
FAMILIES = ["bert", "roberta", "distilbert", "gpt2", "llama", "mistral", "qwen2-window", "t5", "mt5", "bart"]


def record(name, folder, *more, text=TEXT):
    """The recording's path and the JSON of `record`."""
    file = folder / f"{name}.attn"
    two = ["--target", TARGET] if name in ("t5", "mt5", "bart") else []
    result = attnscope(
        "record", "--model", model_folder(name), "--text", text, *two, "-o", file, "--json", *more
    ).stdout
    return file, json.loads(result)


def all_weights(folder, *source):
    attnscope("weights", *source, "--npy", folder / "w.npy")
    return np.load(folder / "w.npy")


def taken_apart(file):
    """Tensors and metadata."""
    raw = file.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    return load_file(file), header["__metadata__"]


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_from_a_recording_are_those_of_transformers(name, tmp_path):
    file, result = record(name, tmp_path)
    expected = transformers_says.run(name, TEXT, TARGET)
    assert {stack["kind"] for stack in result["stacks"]} == set(expected)
    for stack in result["stacks"]:
        table = all_weights(tmp_path, "--recording", file, "--kind", stack["kind"])
        wanted = expected[stack["kind"]]
        assert wanted.shape == (stack["layers"], stack["heads"], stack["queries"], stack["keys"])
        assert np.abs(table.reshape(wanted.shape) - wanted).max() < 2e-5


@pytest.mark.parametrize("name", FAMILIES)
def test_a_recording_gives_the_models_own_bits(name, tmp_path):
    file, result = record(name, tmp_path)
    two = ["--target", TARGET] if len(result["stacks"]) > 1 else []
    for stack in result["stacks"]:
        kind = ["--kind", stack["kind"]]
        direct = all_weights(tmp_path, "--model", model_folder(name), "--text", TEXT, *two, *kind)
        assert direct.tobytes() == all_weights(tmp_path, "--recording", file, *kind).tobytes()


def test_the_summary_describes_the_file(tmp_path):
    file, result = record("llama", tmp_path)
    assert result["bytes"] == file.stat().st_size and result["file"] == str(file) and result["type"] == "llama"
    stack = result["stacks"][0]
    assert result["checked"]["heads"] == stack["layers"] * stack["heads"]
    assert result["checked"]["rows"] == result["checked"]["all_rows"] == result["checked"]["heads"] * stack["queries"]
    table = all_weights(tmp_path, "--recording", file).astype(np.float64)
    assert result["checked"]["deviation"] == pytest.approx(np.abs(table.sum(-1) - 1).max(), rel=1e-3)
    shown = attnscope("record", "--model", model_folder("llama"), "--text", TEXT, "-o", file).stdout
    assert f"{stack['layers']} layers x {stack['heads']} heads, {stack['queries']} x {stack['keys']} tokens" in shown
    assert "heads sum to 1 within" in shown and str(file) in shown


def test_all_adds_values_inputs_and_hidden_states(tmp_path):
    tensors, metadata = taken_apart(record("gpt2", tmp_path)[0])
    assert {"self.0.q", "self.0.k", "self.0.lse", "self.0.value_norms", "induction"} <= set(tensors)
    assert not any(name.endswith((".v", ".x")) or name.startswith("hidden") for name in tensors)
    assert json.loads(metadata["recording"])["kept"] == ["value_norms"]
    every, metadata = taken_apart(record("gpt2", tmp_path, "--all")[0])
    assert {"self.0.v", "self.0.x", "hidden.0", f"hidden.{len(tensors['induction'])}"} <= set(every)
    assert json.loads(metadata["recording"])["kept"] == ["values", "inputs", "value_norms", "hidden"]


def test_hidden_states_and_values_are_those_of_transformers(tmp_path):
    tensors, metadata = taken_apart(record("bert", tmp_path, "--all")[0])
    tokens = json.loads(metadata["recording"])["tokens"]
    model = transformers_says.load("bert")
    with torch.inference_mode():
        out = model(torch.tensor([[token["id"] for token in tokens]]), output_hidden_states=True)
        values = model.encoder.layer[1].attention.self.value(out.hidden_states[1])[0].numpy()
    for number, state in enumerate(out.hidden_states):
        assert np.abs(tensors[f"hidden.{number}"] - state[0].numpy()).max() < 1e-4
    assert np.abs(tensors["output"] - out.last_hidden_state[0].numpy()).max() < 1e-4
    assert np.abs(tensors["self.1.v"] - values).max() < 1e-4
    assert np.abs(tensors["self.1.x"] - out.hidden_states[1][0].numpy()).max() < 1e-4


def test_tokens_round_trip(tmp_path):
    text = "Hé, 日本😀 “x”"
    _, metadata = taken_apart(record("gpt2", tmp_path, text=text)[0])
    recording = json.loads(metadata["recording"])
    result = json.loads(attnscope("tokenize", "--model", model_folder("gpt2"), "--text", text, "--json").stdout)
    assert recording["text"] == text and recording["pair"] is None
    assert [token["id"] for token in recording["tokens"]] == result["ids"]
    assert [token["piece"] for token in recording["tokens"]] == result["pieces"]
    assert [token["text"] for token in recording["tokens"]] == result["tokens"]
    assert [token["span"] for token in recording["tokens"]] == result["offsets"]


def test_the_default_name_is_that_of_the_text(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text(TEXT)
    base = ["record", "--model", model_folder("bert")]
    attnscope(*base, "--file", tmp_path / "in" / "notes.txt", cwd=tmp_path)
    attnscope(*base, "--text", TEXT, cwd=tmp_path)
    attnscope(*base, "--file", "-", cwd=tmp_path, input=TEXT.encode())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "notes.attn", "recording.attn"]


def test_the_snippet_of_the_documentation_rebuilds_weights(tmp_path):
    page = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
    (tmp_path / "rebuild.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1))
    for name, layer, head in (("bert", 1, 2), ("mistral", 1, 3), ("llama", 0, 5)):
        file, _ = record(name, tmp_path)
        expected = transformers_says.run(name, TEXT)["self"][layer, head]
        for i, j in ((0, 0), (9, 8), (9, 1), (3, 7)):
            command = [sys.executable, tmp_path / "rebuild.py", file, "self", layer, head, i, j]
            said = subprocess.run(list(map(str, command)), capture_output=True, check=True, timeout=60).stdout
            assert abs(float(said) - expected[i, j]) < 2e-5, (name, i, j)


def test_the_first_version_is_still_read(tmp_path):
    old = GOLDEN / "recordings" / "version0.attn"
    table = all_weights(tmp_path, "--recording", old)
    assert np.abs(table - transformers_says.run("bert", "The lazy dog jumps.")["self"]).max() < 2e-5
    shown = json.loads(attnscope("weights", "--recording", old, "--json").stdout)
    assert shown["tokens"][0] == "[CLS]" and shown["tokens"][-1] == "[SEP]"


# ---- broken files ----


def look(file):
    return ["weights", "--recording", file, "--json"]


def test_a_newer_version_is_reported_as_newer(tmp_path):
    file, _ = record("bert", tmp_path)
    tensors, metadata = taken_apart(file)
    save_file(tensors, file, metadata | {"format_version": "4"})
    assert "was written by a newer attnscope (format 4); this one reads up to 3" in refused(1, *look(file))


def test_a_truncated_recording_is_an_error_wherever_it_is_cut(tmp_path):
    file, _ = record("bert", tmp_path)
    whole = file.read_bytes()
    for size in (0, 5, 8, 9, 1000, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert str(file) in refused(1, *look(file))
    file.write_bytes(whole + b"x")
    assert str(file) in refused(1, *look(file))


def test_metadata_that_does_not_fit_is_an_error(tmp_path):
    file, _ = record("mistral", tmp_path)
    tensors, metadata = taken_apart(file)
    for path, value, says in (
        (["tokens", 3, "id"], "x", "tokens[3].id"),
        (["attentions", 1, "heads"], 3, "tensor 'self.1.q' is [29, 48]; the metadata requires [29, 36]"),
        (["attentions", 1, "window"], 9, "attentions[1].mask is 'causal & window(5,0)'"),
        (["attentions", 0, "width"], 700, "attentions[0].width is 700; 1 to 512"),
        (["attentions", 1, "layer"], 4, "tensor 'self.4.q' is missing"),
    ):
        recording = json.loads(metadata["recording"])
        at = recording
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        save_file(tensors, file, metadata | {"recording": json.dumps(recording)})
        assert says in refused(1, *look(file))


def test_one_wrong_lse_is_located_by_layer_head_and_row(tmp_path):
    file, _ = record("t5", tmp_path)
    tensors, metadata = taken_apart(file)
    for name, says in (("self.1.lse", "layer 1, head 2, row 3"), ("cross.0.lse", "cross layer 0, head 2, row 3")):
        for off, wrong in ((0.01, "sum to"), (np.nan, "lse is NaN"), (np.inf, "lse is inf"), (-3, "is broken")):
            spoilt = {key: value.copy() for key, value in tensors.items()}
            spoilt[name][2, 3] += off
            save_file(spoilt, file, metadata)
            said = refused(1, *look(file))
            assert says in said and wrong in said and str(file) in said


def test_a_model_that_gives_nan_is_not_recorded(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in pathlib.Path(model_folder("gpt2")).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    tensors = load_file(folder / "model.safetensors")
    name = next(key for key in tensors if "h.1.attn.c_attn.weight" in key)
    tensors[name][:] = np.nan
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    said = refused(1, "record", "--model", folder, "--text", TEXT, "-o", tmp_path / "x.attn")
    assert "layer 1, head 0, row 0" in said and not (tmp_path / "x.attn").exists()


def test_a_full_disk_and_a_missing_folder_are_failures(tmp_path):
    base = ["record", "--model", model_folder("bert"), "--text", TEXT, "-o"]
    assert "No space left" in refused(1, *base, "/dev/full")
    assert "none" in refused(1, *base, tmp_path / "none" / "x.attn")
    assert "folder" in refused(1, *base, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_writing_ends_the_program(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # holds 64 kB: the program waits in the middle of the file
    text = "the quick brown dog " * 300
    program = subprocess.Popen(
        [PROGRAM, "record", "--model", model_folder("llama"), "--text", text, "-o", tmp_path / "pipe"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with open(tmp_path / "pipe", "rb") as pipe:
        pipe.read(1)
        program.send_signal(signal.SIGINT)
        while pipe.read(1 << 16):
            pass
    said = program.communicate(timeout=60)[0]
    assert program.returncode == -signal.SIGINT and said == b""
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["record", "--model", model_folder("bert")], "--text"),
        (["record", "--model", model_folder("bert"), "--text", "a", "-o", "-"], "--output"),
        (["weights", "--recording", "x.attn", "--model", model_folder("bert")], "--model"),
        (["weights", "--recording", "x.attn", "--text", "a"], "no text"),
        (["weights", "--recording", "x.attn", "--table", "x.npy"], "--recording"),
        (["weights", "--recording", GOLDEN / "recordings" / "version0.attn"], "--layer"),
        (["weights", "--recording", GOLDEN / "recordings" / "version0.attn", "--layer", 7, "--json"], "0 to 2"),
        (
            ["weights", "--recording", GOLDEN / "recordings" / "version0.attn", "--kind", "cross", "--json"],
            "only: self",
        ),
        (["weights", "--tokens", "a b"], "--table"),
    ],
)
def test_wrong_usage_prints_one_line_and_exits_with_2(arguments, says):
    assert says in refused(2, *arguments)


# ---- tables ----


def softmax(*shape, seed=0):
    scores = np.exp(np.random.default_rng(seed).normal(size=shape))
    return scores / scores.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (2, 3, 4, 5)])
def test_npy_of_every_type_and_order_is_read_like_numpy(dtype, order, shape, tmp_path):
    table = np.asarray(softmax(*shape) if dtype[0] == "f" else softmax(*shape) * 100, dtype=dtype, order=order)
    np.save(tmp_path / "t.npy", table)
    result = json.loads(attnscope("weights", "--table", tmp_path / "t.npy", "--json").stdout)
    layers, heads = (1,) * (4 - len(shape)) + shape[:-2]
    expected = np.asarray(table, dtype=np.float32).reshape(layers, heads, *shape[-2:])
    assert np.array_equal(np.float32(result["weights"]), expected)


def test_npy_of_the_other_versions_is_read(tmp_path):
    table = softmax(3, 4).astype(np.float32)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(tmp_path / "t.npy", "wb") as out:
            np.lib.format.write_array(out, table, version=version)
        assert np.array_equal(all_weights(tmp_path, "--table", tmp_path / "t.npy"), table)


def test_csv_and_json_that_the_program_writes_are_read_back(tmp_path):
    file, _ = record("llama", tmp_path, text='the "quick", brown dog 2024')
    one = ["--layer", 1, "--head", 2]
    table = all_weights(tmp_path, "--recording", file, *one)
    for form in ("csv", "json"):
        attnscope("weights", "--recording", file, *one, f"--{form}", tmp_path / f"t.{form}")
        assert np.array_equal(all_weights(tmp_path, "--table", tmp_path / f"t.{form}"), table)
        names = json.loads(attnscope("weights", "--table", tmp_path / f"t.{form}", "--json").stdout)["tokens"]
        assert names == json.loads(attnscope("weights", "--recording", file, *one, "--json").stdout)["tokens"]


def test_csv_that_numpy_writes_is_read(tmp_path):
    table = softmax(4, 3).astype(np.float32)
    np.savetxt(tmp_path / "t.csv", table, delimiter=",")
    assert np.array_equal(all_weights(tmp_path, "--table", tmp_path / "t.csv"), table)


def test_tokens_name_rows_and_columns(tmp_path):
    np.save(tmp_path / "t.npy", softmax(3, 3))
    base = ["weights", "--table", tmp_path / "t.npy", "--json"]
    result = json.loads(attnscope(*base, "--tokens", "I love AI").stdout)
    assert result["tokens"] == result["keys"] == ["I", "love", "AI"]
    np.save(tmp_path / "t.npy", softmax(2, 3))
    result = json.loads(attnscope(*base, "--tokens", "x y", "--key-tokens", "a b c").stdout)
    assert result["tokens"] == ["x", "y"] and result["keys"] == ["a", "b", "c"]
    assert "3 tokens for 2 rows" in refused(2, *base, "--tokens", "a b c")


def test_rows_that_do_not_sum_to_1_get_a_note(tmp_path):
    table = softmax(2, 3, 4)
    np.save(tmp_path / "t.npy", table)
    assert attnscope("weights", "--table", tmp_path / "t.npy", "--json").stderr == ""
    table[1, 2] *= 1.5
    np.save(tmp_path / "t.npy", table)
    done = attnscope("weights", "--table", tmp_path / "t.npy", "--json")
    assert done.stderr == f"note: {tmp_path / 't.npy'}: layer 0, head 1, row 2: the weights sum to 1.5, not 1\n"
    assert np.array_equal(np.float32(json.loads(done.stdout)["weights"][0]), np.float32(table))


def test_tables_that_are_not_numeric_are_errors(tmp_path):
    table = softmax(2, 3, 4)
    table[1, 2, 3] = np.nan
    np.save(tmp_path / "t.npy", table)
    assert "head 1, row 2, column 3 (from 0) is not a number" in refused(
        1, "weights", "--table", tmp_path / "t.npy", "--json"
    )
    (tmp_path / "t.csv").write_text("a,b\n1,inf\n")
    assert "line 2, column 2: 'inf' is not finite" in refused(1, "weights", "--table", tmp_path / "t.csv")
    np.save(tmp_path / "t.npy", softmax(2, 3, 4).astype(">f4"))
    assert "'>f4'" in refused(1, "weights", "--table", tmp_path / "t.npy", "--json")
    np.save(tmp_path / "t.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "'|O'" in refused(1, "weights", "--table", tmp_path / "t.npy", "--json")
