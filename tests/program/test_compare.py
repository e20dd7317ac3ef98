"""attnscope compare, against numpy on the tables that transformers gives."""

import json
import shutil

import numpy as np
import pytest
from conftest import attnscope, model_folder, refused
from transformers_says import run

A = "The quick brown fox jumps over the lazy dog."
B = "The very quick fox jumped over a lazy old dog!"


def compare(*arguments):
    return json.loads(attnscope("compare", *arguments, "--json").stdout)


def longest(a, b):
    """Length of the longest common subsequence."""
    lengths = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            lengths[i + 1, j + 1] = lengths[i, j] + 1 if x == y else max(lengths[i, j + 1], lengths[i + 1, j])
    return lengths[-1, -1]


def divergence(p, q):
    """Jensen-Shannon, base 2."""
    m = (p + q) / 2
    kl = lambda x: np.sum(np.where(x > 0, x * np.log2(np.where(x > 0, x, 1) / np.where(m > 0, m, 1)), 0), -1)  # noqa: E731
    return (kl(p) + kl(q)) / 2


def binned(table, rows, columns):
    """[H, rows, columns + 1]: the attention to keys that are not aligned comes last."""
    some = table[:, rows]
    return np.concatenate([some[..., columns], 1 - some[..., columns].sum(-1, keepdims=True)], -1).clip(0)


def entropy(table):
    return -(table * np.log(np.where(table > 0, table, 1))).sum(-1).mean(-1)


def check(result, tables_a, tables_b, tokens):
    assert [one["kind"] for one in result["aligned"]] == list(tables_a)
    heads = {(head["kind"], head["layer"], head["head"]): head for head in result["heads"]}
    assert len(heads) == sum(len(t) * t.shape[1] for t in tables_a.values())
    changes = [head["change"] for head in result["heads"]]
    assert changes == sorted(changes, reverse=True)
    for one in result["aligned"]:
        kind = one["kind"]
        for pairs, (a, b) in ((one["queries"], tokens[kind][0]), (one["keys"], tokens[kind][1])):
            assert [a[i] for i, _ in pairs] == [b[j] for _, j in pairs] and len(pairs) == longest(a, b)
            assert (np.diff(np.array(pairs), axis=0) > 0).all()
        (qa, qb), (ka, kb) = np.transpose(one["queries"]), np.transpose(one["keys"])
        for layer, (p, q) in enumerate(zip(tables_a[kind], tables_b[kind], strict=True)):
            expected = divergence(binned(p, qa, ka), binned(q, qb, kb)).mean(-1)
            mine = [heads[kind, layer, head] for head in range(len(p))]
            np.testing.assert_allclose([head["change"] for head in mine], expected, atol=2e-6, rtol=1e-3)
            np.testing.assert_allclose([head["entropy_a"] for head in mine], entropy(p), atol=3e-5)
            np.testing.assert_allclose([head["entropy_b"] for head in mine], entropy(q), atol=3e-5)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "qwen2-window"])
def test_changes_between_two_texts_are_those_of_numpy(name):
    result = compare("--model", model_folder(name), A, B)
    pair = result["a"]["tokens"], result["b"]["tokens"]
    assert 2 < len(result["aligned"][0]["queries"]) < min(map(len, pair))
    check(result, run(name, A), run(name, B), {"self": (pair, pair)})


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_has_all_three_kinds(name):
    target = "Was it asleep?"
    result = compare("--model", model_folder(name), A, B, "--target", target)
    text, given, written = ((result["a"][what], result["b"][what]) for what in ("tokens", "target", "written"))
    kinds = {"self": (text, text), "decoder": (given, given), "cross": (written, text)}
    check(result, run(name, A, target), run(name, B, target), kinds)


def test_two_models_read_one_text():
    result = compare(model_folder("llama"), model_folder("llama-linear"), "--text", A)
    pair = result["a"]["tokens"], result["b"]["tokens"]
    assert result["a"]["model"].endswith("llama") and result["b"]["model"].endswith("llama-linear")
    check(result, run("llama", A), run("llama-linear", A), {"self": (pair, pair)})


def test_recordings_compare_like_their_texts(tmp_path):
    for file, text in (("a", A), ("b", B)):
        attnscope("record", "--model", model_folder("bert"), "--text", text, "-o", tmp_path / f"{file}.attn")
    result = compare(tmp_path / "a.attn", tmp_path / "b.attn")
    direct = compare("--model", model_folder("bert"), A, B)
    assert result["heads"] == direct["heads"] and result["aligned"] == direct["aligned"]
    turned = compare(tmp_path / "b.attn", tmp_path / "a.attn")
    assert [h["change"] for h in turned["heads"]] == [h["change"] for h in result["heads"]]


def test_a_text_with_itself_is_the_same():
    result = compare("--model", model_folder("bert"), A, A)
    assert all(head["change"] == 0 for head in result["heads"])
    assert result["aligned"][0]["queries"] == [[i, i] for i in range(len(result["a"]["tokens"]))]


def test_the_table_names_the_most_changed_first_and_what_changed():
    result = compare("--model", model_folder("bert"), A, B)
    shown = attnscope("compare", "--model", model_folder("bert"), A, B, "--top", 2).stdout
    first = result["heads"][0]
    lines = shown.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("layer"))
    assert lines[at + 1].split()[:3] == [str(first["layer"]), str(first["head"]), f"{first['change']:.4f}"]
    assert f"{len(result['heads']) - 2} more heads" in shown
    assert len(result["aligned"][0]["queries"]) == int(shown.split()[0])


def test_the_figure_shows_the_most_changed_head_or_the_chosen_one(tmp_path):
    source = ["--model", model_folder("bert"), A, B]
    first = compare(*source)["heads"][0]
    attnscope("compare", *source, "-o", tmp_path / "d.svg")
    assert f"layer {first['layer']}, head {first['head']}" in (tmp_path / "d.svg").read_text()
    attnscope("compare", *source, "--layer", 0, "--head", 1, "-o", tmp_path / "e.svg")
    assert "layer 0, head 1" in (tmp_path / "e.svg").read_text()


def test_different_shapes_are_refused_with_both():
    said = refused(1, "compare", model_folder("bert"), model_folder("llama"), "--text", A)
    assert said.count("layers of") == 2


def test_the_meaning_of_a_and_b_is_never_guessed(tmp_path):
    attnscope("record", "--model", model_folder("bert"), "--text", A, "-o", tmp_path / "a.attn")
    shutil.copy(tmp_path / "a.attn", tmp_path / "b.attn")
    files = tmp_path / "a.attn", tmp_path / "b.attn"
    assert "not both" in refused(2, "compare", A, B, "--model", model_folder("bert"), "--text", A)
    assert "is a recording" in refused(2, "compare", *files, "--model", model_folder("bert"))
    assert "is a recording" in refused(2, "compare", *files, "--text", A)
    assert "not found" in refused(2, "compare", A, B)
    assert "does not apply" in refused(2, "compare", *files, "--target", A)
    assert "no token in common" in refused(1, "compare", "--model", model_folder("gpt2"), "aa", "zz 1")
