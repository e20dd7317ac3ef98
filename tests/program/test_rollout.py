"""attnscope rollout, against a numpy form of Abnar & Zuidema (2020) on the tables that transformers gives."""

import json

import numpy as np
import pytest
from conftest import attnscope, model_folder, refused
from transformers_says import run, with_residual

TEXT = "The quick brown fox jumps over the lazy dog."
FAMILIES = ["bert", "distilbert", "roberta", "gpt2", "llama", "qwen2-window", "t5", "bart"]
BERT = ["--model", model_folder("bert"), "--text", TEXT]


def rolled_out(tables):
    out = np.eye(tables.shape[-1])
    for layer in with_residual(tables):
        out = layer @ out
    return out


def rollout(*arguments):
    return json.loads(attnscope("rollout", *arguments, "--json").stdout)


@pytest.mark.parametrize("name", FAMILIES)
def test_rollout_is_the_product_of_the_papers_tables(name):
    target = "Was it asleep?" if name in ("t5", "bart") else None
    source = ["--model", model_folder(name), "--text", TEXT] + (["--target", target] if target else [])
    tables = run(name, TEXT, target)["self"]
    whole = rollout(*source)
    expected = rolled_out(tables)
    assert whole["layer"] == len(tables) - 1 and len(whole["tokens"]) == len(expected)
    assert whole["queries"] == list(range(len(expected)))
    np.testing.assert_allclose(whole["rollout"], expected, atol=1e-6)
    assert np.abs(np.sum(whole["rollout"], axis=-1) - 1).max() < 1e-6
    one = rollout(*source, "--layer", 0, "--token", 3)
    np.testing.assert_allclose(one["rollout"], [with_residual(tables)[0][3]], atol=1e-6)


def test_a_token_is_chosen_by_text_or_number_and_all_matches_are_shown(tmp_path):
    table = np.random.default_rng(1).dirichlet(np.ones(5), (3, 2, 5)).astype(np.float32)
    np.save(tmp_path / "w.npy", table)
    whole = rolled_out(table.astype(float))
    for names, queries in ((["a"], [0, 3]), (["4"], [4]), (["c", "0"], [2, 0]), (["A", "3"], [0, 3])):
        chosen = [argument for name in names for argument in ("--token", name)]
        result = rollout("--table", tmp_path / "w.npy", "--tokens", "a b c a d", *chosen)
        assert result["queries"] == queries
        np.testing.assert_allclose(result["rollout"], whole[queries], atol=1e-6)


def test_a_long_text_is_followed_token_by_token():
    text = " ".join(TEXT.split() * 22)
    expected = rolled_out(run("llama", text)["self"])
    assert len(expected) > 600
    result = rollout("--model", model_folder("llama"), "--text", text, "--token", len(expected) - 1, "--token", 300)
    np.testing.assert_allclose(result["rollout"], expected[[-1, 300]], atol=1e-6)


def test_the_whole_table_of_a_long_text_is_refused(tmp_path):
    np.save(tmp_path / "w.npy", np.full((513, 513), 1 / 513, np.float32))
    said = refused(1, "rollout", "--table", tmp_path / "w.npy")
    assert "512" in said and "513" in said


def test_the_list_names_the_largest_first():
    lines = attnscope("rollout", *BERT, "--token", 4, "--top", 3).stdout.splitlines()
    row = rollout(*BERT, "--token", 4)["rollout"][0]
    order = sorted(range(len(row)), key=lambda j: -row[j])[:3]
    assert [int(line.split()[0]) for line in lines[1:4]] == order
    assert [line.split()[2] for line in lines[1:4]] == [f"{row[j]:.4f}" for j in order]
    assert f"{len(row) - 3} more tokens" in lines[4]


@pytest.mark.parametrize("end, begins", [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures_of_all_tokens_of_one_and_of_several(end, begins, tmp_path):
    for number, chosen in enumerate(([], ["--token", 2], ["--token", 2, "--token", 5])):
        file = tmp_path / f"{number}.{end}"
        assert attnscope("rollout", *BERT, *chosen, "-o", file).stdout == ""
        assert begins in file.read_bytes()[:200]


def test_missing_tokens_and_layers_are_named(tmp_path):
    assert "'elephant'" in refused(2, "rollout", *BERT, "--token", "elephant")
    assert "layer 9" in refused(2, "rollout", *BERT, "--layer", 9)
    assert "token '99'" in refused(2, "rollout", *BERT, "--token", 99)
    np.save(tmp_path / "w.npy", np.full((2, 3), 1 / 3))
    assert "2 queries and 3 keys" in refused(2, "rollout", "--table", tmp_path / "w.npy")
