"""tokenize, weights, fill, generate and models, against transformers (golden/make_program.py)."""

import csv
import io
import json
import os
import subprocess

import numpy as np
import pytest
from conftest import GOLDEN, PROGRAM, attnscope, model_folder, refused

TEXT = "The quick brown fox jumps over the lazy dog."


def weights_arguments(case):
    arguments = ["weights", "--model", model_folder(case["model"]), "--text", case["text"]]
    if case["pair"]:
        arguments += ["--pair", case["pair"]]
    return [*arguments, "--layer", case["layer"], "--head", case["head"], "--kind", case["kind"]]


def test_weights_are_those_of_transformers(golden):
    for case in golden["weights"]:
        result = json.loads(attnscope(*weights_arguments(case), "--json").stdout)
        assert np.abs(np.array(result["weights"]) - np.array(case["weights"])).max() < 2e-5, case["model"]
        assert (result["layer"], result["head"], result["kind"]) == (case["layer"], case["head"], case["kind"])
        assert (len(result["tokens"]), len(result["keys"])) == np.array(case["weights"]).shape


def test_tokens_are_those_of_transformers(golden):
    for case in golden["weights"]:
        if case["pair"]:
            continue
        result = json.loads(
            attnscope("tokenize", "--model", model_folder(case["model"]), "--text", case["text"], "--json").stdout
        )
        assert result["ids"] == case["ids"], case["model"]
        assert result["offsets"] == case["offsets"], case["model"]
        assert len(result["tokens"]) == len(result["pieces"]) == len(result["special"]) == len(result["ids"])


def test_json_csv_and_npy_hold_the_same_numbers(golden, tmp_path):
    case = golden["weights"][0]
    arguments = weights_arguments(case)
    from_json = json.loads(attnscope(*arguments, "--json").stdout)
    rows = list(csv.reader(io.StringIO(attnscope(*arguments, "--csv").stdout)))
    assert rows[0][1:] == from_json["keys"] and [row[0] for row in rows[1:]] == from_json["tokens"]
    attnscope(*arguments, "--npy", tmp_path / "w.npy", "--csv", tmp_path / "w.csv")
    table = np.load(tmp_path / "w.npy")
    assert table.dtype == np.float32
    assert (np.float32(from_json["weights"]) == table).all()
    assert (np.float32([row[1:] for row in rows[1:]]) == table).all()
    assert (tmp_path / "w.csv").read_text() == attnscope(*arguments, "--csv").stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.csv", "w.npy"]


def test_without_head_or_layer_all_are_written(tmp_path):
    base = ["weights", "--model", model_folder("bert"), "--text", TEXT]
    attnscope(*base, "--npy", tmp_path / "all.npy")
    attnscope(*base, "--layer", 1, "--npy", tmp_path / "layer.npy")
    attnscope(*base, "--layer", 1, "--head", 2, "--npy", tmp_path / "one.npy")
    every, layer, one = (np.load(tmp_path / f"{name}.npy") for name in ("all", "layer", "one"))
    assert every.ndim == 4 and (every[1] == layer).all() and (layer[2] == one).all()
    assert np.abs(every.sum(-1) - 1).max() < 1e-5
    result = json.loads(attnscope(*base, "--json").stdout)
    assert (np.float32(result["weights"]) == every).all()


def test_table_in_the_terminal_shows_the_weights(golden):
    case = golden["weights"][0]
    lines = attnscope(*weights_arguments(case)).stdout.splitlines()
    assert "[CLS]" in lines[0]
    first = [float(x) for x in lines[1].split()[1:]]
    assert np.abs(np.array(first) - np.array(case["weights"][0][: len(first)])).max() < 6e-4


def test_fill_gives_the_words_of_transformers(golden):
    for case in golden["fill"]:
        result = json.loads(
            attnscope(
                "fill", "--model", model_folder(case["model"]), "--text", case["text"], "--top", 3, "--json"
            ).stdout
        )
        assert [mask["token"] for mask in result["masks"]] == [mask["token"] for mask in case["masks"]]
        for ours, theirs in zip(result["masks"], case["masks"], strict=True):
            assert [word["id"] for word in ours["words"]] == [word["id"] for word in theirs["words"]]
            for a, b in zip(ours["words"], theirs["words"], strict=True):
                assert abs(a["probability"] - b["probability"]) < 1e-4


def with_rules(model, rules, folder):
    """The model with a generation_config.json of these settings."""
    if not rules:
        return model_folder(model)
    folder.mkdir()
    for file in (GOLDEN / "models" / model).iterdir():
        if file.name != "generation_config.json":
            (folder / file.name).symlink_to(file)
    (folder / "generation_config.json").write_text(json.dumps(rules))
    return folder


def test_greedy_text_is_that_of_transformers(golden, tmp_path):
    for number, case in enumerate(golden["generate"]):
        folder = with_rules(case["model"], case["rules"], tmp_path / str(number))
        arguments = ["generate", "--model", folder, "--prompt", case["prompt"], "--tokens", case["tokens"]]
        result = json.loads(attnscope(*arguments, "--json").stdout)
        assert result["ids"] == case["ids"], case["model"]
        assert result["text"] == case["text"], case["model"]
        plain = attnscope(*arguments)
        assert plain.stdout == case["text"] + "\n"
        assert "per second" in plain.stderr


def test_the_same_seed_gives_the_same_text_and_another_does_not():
    arguments = ["generate", "--model", model_folder("gpt2"), "--prompt", TEXT, "--tokens", 12, "--temperature", 1.5]
    texts = [
        attnscope(*arguments, "--seed", seed, "--threads", threads).stdout for seed, threads in ((1, 1), (1, 2), (2, 1))
    ]
    assert texts[0] == texts[1] != texts[2]


def test_models_describes_a_folder():
    result = json.loads(attnscope("models", model_folder("llama"), model_folder("t5"), "--json").stdout)["models"]
    config = json.loads((GOLDEN / "models" / "llama" / "config.json").read_text())
    assert result[0]["type"] == "llama" and result[0]["form"] == "decoder"
    assert (result[0]["layers"], result[0]["heads"]) == (config["num_hidden_layers"], config["num_attention_heads"])
    assert result[1]["form"] == "encoder-decoder" and result[1]["decoder_layers"] >= 1
    assert "llama" in attnscope("models", model_folder("llama")).stdout


def test_models_lists_the_cache(tmp_path):
    snapshot = tmp_path / "hub" / "models--someone--tiny" / "snapshots" / ("a" * 40)
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(model_folder("bert"))
    refs = snapshot.parents[1] / "refs"
    refs.mkdir()
    (refs / "main").write_text("a" * 40)
    environment = {"env": {"HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}}
    result = json.loads(attnscope("models", "--json", **environment).stdout)["models"]
    assert [(m["name"], m["type"]) for m in result if not m["built_in"]] == [("someone/tiny", "bert")]
    found = attnscope("tokenize", "--model", "someone/tiny", "--text", "the", "--json", **environment)
    assert len(json.loads(found.stdout)["ids"]) >= 3


def test_text_comes_from_a_file_or_standard_input(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    base = ["tokenize", "--model", model_folder("bert"), "--json"]
    by_text = attnscope(*base, "--text", TEXT).stdout
    assert attnscope(*base, "--file", tmp_path / "text.txt").stdout == by_text
    assert attnscope(*base, "--file", "-", input=TEXT.encode()).stdout == by_text


# ---- errors ----

BERT = ["--model", model_folder("bert")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["weights", *BERT, "--text", "a", "--layer", 9, "--head", 0], "0 to 2"),
        (["weights", *BERT, "--text", "a", "--layer", 0, "--head", 4], "0 to 3"),
        (["weights", *BERT, "--text", "a", "--layer", -1, "--head", 0], "0 to 2"),
        (["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--kind", "cross"], "self"),
        (["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--kind", "other"], "--kind"),
        (["weights", *BERT, "--text", "a"], "--layer"),
        (["tokenize", *BERT], "--text"),
        (["fill", *BERT, "--text", "nothing is missing"], "[MASK]"),
        (["fill", *BERT, "--text", "[MASK]", "--top", 0], "--top"),
        (["generate", "--model", model_folder("gpt2"), "--prompt", "a", "--temperature", -1], "--temperature"),
        (["generate", "--model", model_folder("gpt2"), "--prompt", "a", "--top-p", 2], "--top-p"),
        (["generate", "--model", model_folder("gpt2"), "--prompt", "a", "--tokens", 0], "--tokens"),
        (["tokenize", *BERT, "--text", "a", "--threads", 0], "--threads"),
        (["--threads", "2x"], "--threads"),
        (["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--npy", "-"], "--npy"),
        (["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--json", "--csv"], "both"),
        (["generate", "--model", model_folder("gpt2"), "--prompt", "a", "--temperature", "nan"], "temperature"),
        (["--bogus"], "--bogus"),
        (["bogus"], "bogus"),
    ],
)
def test_wrong_usage_prints_one_line_and_exits_with_2(arguments, says):
    assert says in refused(2, *arguments)


def test_failures_print_one_line_and_exit_with_1(tmp_path):
    assert "pull" in refused(1, "tokenize", "--model", "no/such-model", "--text", "a")
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    assert "known: bart, bert" in refused(1, "fill", "--model", tmp_path, "--text", "[MASK]")
    (tmp_path / "config.json").write_text('{"model_type": ')
    assert "config.json" in refused(1, "fill", "--model", tmp_path, "--text", "[MASK]")
    assert "at most 80" in refused(1, "fill", *BERT, "--text", "[MASK]" + " word" * 600)
    assert "byte 2" in refused(1, "tokenize", *BERT, "--text", b"ab\xff".decode("utf-8", "surrogateescape"))
    assert "cannot be read" in refused(1, "tokenize", *BERT, "--file", tmp_path / "none.txt")
    assert "folder" in refused(1, "tokenize", *BERT, "--file", tmp_path)
    assert "encoder" in refused(1, "generate", *BERT, "--prompt", "a")
    assert "gaps" in refused(1, "fill", "--model", model_folder("gpt2"), "--text", "[MASK]")


def test_a_file_that_cannot_be_written_is_a_failure_and_leaves_nothing(tmp_path):
    base = ["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--npy"]
    assert "none" in refused(1, *base, tmp_path / "none" / "w.npy")
    assert list(tmp_path.iterdir()) == []


def test_links_pipes_and_permissions_stay_what_they_are(tmp_path):
    base = ["weights", *BERT, "--text", "a", "--layer", 0, "--head", 0, "--csv"]
    expected = attnscope(*base).stdout
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    attnscope(*base, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").read_text() == expected
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    attnscope(*base, tmp_path / "pipe")
    assert reader.communicate(timeout=10)[0].decode() == expected
    assert (tmp_path / "pipe").is_fifo()
    assert attnscope(*base, "-").stdout == expected
    assert "folder" in refused(1, *base, tmp_path)


def test_nan_weights_are_an_error(tmp_path, broken_model):
    for form in ([], ["--json"], ["--npy", tmp_path / "w.npy"]):
        said = refused(1, "weights", "--model", broken_model, "--text", "the dog", "--layer", 0, "--head", 0, *form)
        assert "not numbers" in said
    assert not (tmp_path / "w.npy").exists()


def test_a_long_table_is_rebuilt_in_parts(tmp_path):
    text = "the quick brown dog " * 700
    base = ["weights", "--model", model_folder("llama"), "--text", text, "--layer", 1, "--head", 5]
    attnscope(*base, "--npy", tmp_path / "w.npy")
    table = np.load(tmp_path / "w.npy")
    assert (
        table.shape[0] > 2100
        and np.abs(table.sum(-1) - 1).max() < 1e-4
        and not table[np.triu_indices_from(table, 1)].any()
    )
    shown = attnscope(*base)
    assert "more rows" in shown.stdout and shown.stdout.count("\n") < 210
    assert "was trained on at most" in shown.stderr


def test_ignored_generation_settings_are_named(tmp_path):
    folder = with_rules("gpt2", {"repetition_penalty": 1.3, "num_beams": 4}, tmp_path / "m")
    assert (
        "ignoring settings of the model: repetition_penalty, num_beams"
        in attnscope("generate", "--model", folder, "--prompt", "a", "--tokens", 2).stderr
    )


def test_pytorch_weights_are_refused_with_how_to_convert(tmp_path):
    (tmp_path / "config.json").write_text((GOLDEN / "models" / "bert" / "config.json").read_text())
    (tmp_path / "tokenizer.json").write_text((GOLDEN / "models" / "bert" / "tokenizer.json").read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    assert "save_pretrained" in refused(1, "fill", "--model", tmp_path, "--text", "[MASK]")


def test_full_disk_is_a_failure():
    for arguments in (["tokenize", *BERT, "--text", "a"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 1 and b"could not be written" in done.stderr


def test_threads_in_the_environment_are_checked():
    for threads in ("abc", "0", "99999"):
        environment = {**os.environ, "ATTNSCOPE_THREADS": threads}
        assert threads in refused(2, "fill", *BERT, "--text", "[MASK]", env=environment)


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_the_output_of_an_encoder_decoder_keeps_its_tokens(name):
    """Text decoded from tokens may tokenize differently; the rows must be the tokens that were generated."""
    folder = model_folder(name)
    said = json.loads(attnscope("generate", "--model", folder, "--prompt", "The cat sat", "-n", 64, "--json").stdout)
    result = json.loads(
        attnscope(
            "weights",
            "--model",
            folder,
            "--text",
            "The cat sat",
            "--kind",
            "cross",
            "--layer",
            0,
            "--head",
            0,
            "--json",
        ).stdout
    )
    assert len(result["tokens"]) == len(said["ids"])
