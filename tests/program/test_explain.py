"""explain, against means and words of transformers."""

import json

import numpy as np
import pytest
from by_transformers import Reference
from conftest import attnscope, model_folder, refused

TEXT = "The animal didn't cross the street because it was unbelievably tired, and it slept."


def merged(table, words):
    """[..., N, N] between words: mean over the tokens of a query, sum over those of a key."""
    count = max(words) + 1
    member = np.zeros((count, len(words)))
    member[words, np.arange(len(words))] = 1
    return (member / member.sum(1, keepdims=True)) @ table @ member.T


def words_of(encoding):
    """Word number of each token, from Hugging Face's word ids; each special token is a word of its own."""
    numbers, last = [], object()
    for word in encoding.word_ids:
        numbers.append(numbers[-1] + 1 if numbers and (word is None or word != last) else numbers[-1] if numbers else 0)
        last = word
    return numbers


def texts_of(encoding, numbers, text):
    out = {}
    for number, (start, end), token, special in zip(
        numbers, encoding.offsets, encoding.tokens, encoding.special_tokens_mask, strict=True
    ):
        begin, _ = out.get(number, (start, end))
        out[number] = (token, None) if special else (begin, end)
    return [begin if end is None else text[begin:end].strip() for begin, end in out.values()]


def explain(name, *options, text=TEXT):
    return json.loads(attnscope("explain", text, "--model", model_folder(name), *options, "--json").stdout)


def compare(result, row, special, top):
    """Compares one row of the output with the same row by numpy."""
    aside = [j for j in range(len(row)) if special[j]]
    rest = sorted((j for j in range(len(row)) if not special[j] and row[j] > 0), key=lambda j: -row[j])
    assert len(result["most"]) == min(top, len(rest))
    for one in result["most"]:
        assert abs(one["weight"] - row[one["key"]]) < 2e-5
    shown = [one["weight"] for one in result["most"]]
    assert shown == sorted(shown, reverse=True)
    assert np.abs(np.array(shown) - row[rest[: len(shown)]]).max(initial=0) < 2e-5
    assert abs(result["special"] - row[aside].sum()) < 2e-5
    assert abs(result["rest"] - row[rest[top:]].sum()) < 2e-5
    assert abs(result["special"] + result["rest"] + sum(shown) - row.sum()) < 1e-5


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2"])
def test_words_and_means_are_those_of_transformers(name):
    reference = Reference(name, TEXT)
    numbers = words_of(reference.encoding)
    table = merged(reference.attentions("self").mean((0, 1)), numbers)
    special = [bool(reference.encoding.special_tokens_mask[numbers.index(w)]) for w in range(len(table))]
    result = explain(name)
    assert result["words"] == result["keys"] == texts_of(reference.encoding, numbers, TEXT)
    assert len(result["words"]) < len(numbers)
    assert [row["word"] for row in result["rows"]] == [w for w in range(len(table)) if not special[w]]
    for row in result["rows"]:
        assert row["text"] == result["words"][row["word"]]
        compare(row, table[row["word"]], special, 3)
    every = explain(name, "--special", "--top", 5)
    assert len(every["rows"]) == len(table)
    for row in every["rows"]:
        compare(row, table[row["word"]], [False] * len(table), 5)


def test_a_layer_and_a_head_alone():
    reference = Reference("bert", TEXT)
    numbers = words_of(reference.encoding)
    tables = merged(reference.attentions("self"), numbers)
    special = [bool(reference.encoding.special_tokens_mask[numbers.index(w)]) for w in range(tables.shape[-1])]
    for options, table in (
        (["--layer", 1], tables[1].mean(0)),
        (["--head", 2], tables[:, 2].mean(0)),
        (["--layer", 2, "--head", 3], tables[2, 3]),
    ):
        for row in explain("bert", *options)["rows"]:
            compare(row, table[row["word"]], special, 3)


def test_one_word_over_all_heads():
    reference = Reference("bert", TEXT)
    numbers = words_of(reference.encoding)
    tables = merged(reference.attentions("self"), numbers)
    special = [bool(reference.encoding.special_tokens_mask[numbers.index(w)]) for w in range(tables.shape[-1])]
    result = explain("bert", "--word", "it")
    places = [w for w, text in enumerate(result["words"]) if text == "it"]
    assert len(places) == 2 and [row["word"] for row in result["rows"]] == places
    for row in result["rows"]:
        assert len(row["heads"]) == tables.shape[0] * tables.shape[1]
        for head in row["heads"]:
            compare(head, tables[head["layer"], head["head"], row["word"]], special, 3)
    second = explain("bert", "--word", "it", "--occurrence", 2)["rows"]
    assert second == result["rows"][1:]
    assert explain("bert", "--word", places[1])["rows"] == second
    assert [row["word"] for row in explain("bert", "--word", "IT")["rows"]] == places
    shown = attnscope("explain", TEXT, "--model", model_folder("bert"), "--word", "it").stdout
    assert shown.count("\n0 ") == shown.count("\n2 ") == 2 and "not why" in shown


def test_cross_attention_goes_from_output_words_to_source_words():
    reference = Reference("t5", "the cat sat", "the dog was")
    result = explain("t5", "--kind", "cross", "--target", "the dog was", "--special", text="the cat sat")
    assert result["words"] == ["the", "dog", "was", "</s>"] and result["keys"] == ["the", "cat", "sat", "</s>"]
    mean = reference.attentions("cross").mean((0, 1))
    groups = [0]
    for piece in reference.encoding.tokens[1:]:
        groups.append(groups[-1] + (piece.startswith("\u2581") or piece == "</s>"))
    by_key = np.stack([mean[:, [g == w for g in groups]].sum(1) for w in range(max(groups) + 1)], 1)
    compare(result["rows"][-1], by_key[-1], [False] * 4, 3)  # the end is one token


def test_text_shows_words_bars_and_the_remainder():
    shown = attnscope("explain", TEXT, "--model", model_folder("bert"))
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("The ") and "█" in shown.stdout
    assert "on [CLS], [SEP]" in shown.stdout and "mean over 3 x 4 heads" in lines[-1]
    assert "\x1b" not in shown.stdout
    for width in (40, 60, 80):
        for more in ([], ["--word", "cat"]):
            out = attnscope(
                "explain",
                "the cat sat on the mat",
                "--model",
                model_folder("bert"),
                *more,
                env={"COLUMNS": str(width), "PATH": "/usr/bin:/bin"},
            ).stdout
            rows = out.splitlines()
            assert len(rows) > 6 and max(map(len, rows)) <= width


def test_a_recording_gives_the_same_result(tmp_path):
    file = tmp_path / "x.attn"
    attnscope("record", "--model", model_folder("gpt2"), "--text", TEXT, "-o", file)
    assert json.loads(attnscope("explain", "--recording", file, "--json").stdout) == explain("gpt2")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--word", "tyred"], "'tired'"),
        (["--word", "999"], "0 to"),
        (["--word", "it", "--occurrence", 3], "1 to 2"),
        (["--occurrence", 1], "--word"),
        (["--layer", 3], "0 to 2"),
        (["--head", -1], "0 to 3"),
        (["--kind", "cross"], "self"),
        (["--top", 0], "--top"),
    ],
)
def test_wrong_usage_prints_one_line_and_exits_with_2(arguments, says):
    assert says in refused(2, "explain", TEXT, "--model", model_folder("bert"), *arguments)


def test_a_text_without_words_is_refused():
    assert "the text is empty" in refused(2, "explain", "", "--model", model_folder("bert"))


def test_nan_weights_are_an_error(broken_model):
    read = ["--model", broken_model, "--text", "the dog"]
    assert "weights are broken" in refused(1, "explain", *read)
    assert "weights are broken" in refused(1, "explain", *read, "--word", "dog")
    assert "weights are broken" in refused(1, "trace", *read, "--layer", 0, "--head", 0, "--query", 0)
    assert "weights are broken" in refused(1, "ablate", *read, "--head", "0.0")
    assert "weights are broken" in refused(1, "ablate", *read, "--all")


def test_without_a_text_there_is_an_error():
    assert "--file" in refused(2, "explain", "--model", model_folder("bert"))
