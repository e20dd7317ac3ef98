"""Every command names rows of cross-attention by the token that they write."""

import csv
import io
import json
import xml.etree.ElementTree

import numpy as np
import pytest
import torch
import transformers
from conftest import ROOT, attnscope, model_folder
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

TEXT, TARGET = "The quick brown fox jumps.", "It was asleep."
HEAD = ["--kind", "cross", "--layer", 0, "--head", 0]
TRANSLATE = ["--model", ROOT / "models" / "tiny-translate", "--text", "I love you"]


def result_of(*arguments):
    return json.loads(attnscope(*arguments, "--json").stdout)


def seq2seq(folder):
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def recorded(file, *source):
    """The recording's own description."""
    attnscope("record", *source, "-o", file)
    with safe_open(file, "np") as opened:
        return json.loads(opened.metadata()["recording"])


def ids_of(tokens):
    return [token["id"] for token in tokens]


@pytest.fixture(params=["t5", "mt5", "bart"])
def source(request):
    return ["--model", model_folder(request.param), "--text", TEXT, "--target", TARGET]


@pytest.fixture
def labels(source):
    """The target's ids, as transformers wants them for training."""
    return transformers.AutoTokenizer.from_pretrained(source[1])(TARGET)["input_ids"]


def test_rows_write_the_labels_and_read_the_shifted_ids_of_transformers(source, labels, tmp_path):
    given = seq2seq(source[1]).prepare_decoder_input_ids_from_labels(torch.tensor([labels]))[0].tolist()
    contents = recorded(tmp_path / "a.attn", *source)
    assert ids_of(contents["written_tokens"]) == labels
    assert ids_of(contents["target_tokens"]) == given and given[1:] == labels[:-1]


def test_every_command_names_the_rows_of_cross_attention_by_what_they_write(source, labels, tmp_path):
    written = [token["text"] for token in recorded(tmp_path / "a.attn", *source)["written_tokens"]]
    assert len(written) == len(labels)
    for where in (source, ["--recording", tmp_path / "a.attn"]):
        weights = result_of("weights", *where, *HEAD)
        assert weights["tokens"] == written and len(weights["weights"]) == len(written)
        assert result_of("heatmap", *where, *HEAD)["tokens"] == written
        assert result_of("heads", *where, *HEAD[:4])["tokens"] == written
        assert result_of("headview", *where, *HEAD[:4])["tokens"] == written
        assert result_of("overview", *where, *HEAD[:2])["tokens"] == written
        assert result_of("analyze", *where)["written"] == written
        for row in (0, len(written) - 1):
            assert result_of("trace", *where, *HEAD, "--query", row)["query"] == {"token": row, "text": written[row]}
        rows = list(csv.reader(io.StringIO(attnscope("weights", *where, *HEAD, "--csv").stdout)))
        assert [row[0] for row in rows[1:]] == written
    assert result_of("record", *source, "-o", tmp_path / "b.attn")["written"] == written


def test_rows_of_decoder_self_attention_are_named_by_their_input(source):
    shown = result_of("weights", *source, "--kind", "decoder", *HEAD[2:])
    written = result_of("weights", *source, *HEAD)["tokens"]
    assert shown["tokens"] == shown["keys"] and shown["tokens"][1:] == written[:-1]
    assert result_of("analyze", *source)["target"] == shown["tokens"]


def test_a_query_is_looked_up_among_written_tokens():
    source = ["--model", model_folder("t5"), "--text", "the cat", "--target", "the dog"]
    end = result_of("trace", *source, *HEAD, "--query", "</s>")
    rows = result_of("weights", *source, *HEAD)
    assert end["query"]["token"] == len(rows["tokens"]) - 1
    assert end["weight"] == pytest.approx(max(rows["weights"][-1]))
    assert "being written" in attnscope("trace", *source, *HEAD, "--query", "</s>").stdout


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_rows_write_the_generated_tokens_including_the_end(name, tmp_path):
    source = ["--model", model_folder(name)]
    said = result_of("generate", *source, "--prompt", "The cat sat", "-n", 64)["ids"]
    contents = recorded(tmp_path / "a.attn", *source, "--text", "The cat sat")
    assert ids_of(contents["written_tokens"]) == said
    assert ids_of(contents["target_tokens"])[1:] == said[:-1]


def test_a_decoder_with_an_empty_target_writes_its_end(tmp_path):
    config = json.loads((ROOT / "tests" / "golden" / "models" / "t5" / "config.json").read_text())
    contents = recorded(tmp_path / "a.attn", "--model", model_folder("t5"), "--text", TEXT, "--target", "")
    assert ids_of(contents["written_tokens"]) == [config["eos_token_id"]]
    assert ids_of(contents["target_tokens"]) == [config["decoder_start_token_id"]]


def test_the_last_row_of_an_older_recording_is_a_question_mark(source, tmp_path):
    file = tmp_path / "a.attn"
    contents = recorded(file, *source)
    written = [token["text"] for token in contents.pop("written_tokens")]
    facts = {
        "format": "attnscope-recording",
        "format_version": "1",
        "written_by": "",
        "recording": json.dumps(contents),
    }
    save_file(load_file(file), file, facts)
    shown = result_of("weights", "--recording", file, *HEAD)
    assert shown["tokens"] == [*written[:-1], "?"]
    assert shown["weights"] == result_of("weights", *source, *HEAD)["weights"]
    rows = result_of("explain", "--recording", file, "--kind", "cross")["rows"]  # without special tokens, as the end is
    assert rows and "?" not in [row["text"] for row in rows]


def texts_in(picture):
    tree = xml.etree.ElementTree.parse(picture)
    return ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]


def test_figures_label_rows_and_columns(tmp_path):
    source, file = ["--model", model_folder("t5"), "--text", TEXT, "--target", TARGET], tmp_path / "a.svg"
    for command in (["heatmap", *HEAD], ["heads", *HEAD[:4]], ["headview", *HEAD[:4]]):
        attnscope(*command, *source, "-o", file)
        assert {"Written token", "Source token"} <= set(texts_in(file))
    attnscope("heatmap", *HEAD, *source, "--ylabel", "Mine", "-o", file)
    assert {"Mine", "Source token"} <= set(texts_in(file))
    attnscope("heatmap", *source, "--kind", "decoder", *HEAD[2:], "-o", file)
    assert {"Query", "Key"} <= set(texts_in(file))
    assert "largest weights of each written token" in attnscope("headview", *source, *HEAD[:4]).stdout


# ---- a trained translation model ----


def test_a_translation_looks_at_the_word_that_it_translates():
    shown = result_of("weights", *TRANSLATE, "--kind", "cross", "--layer", 1, "--head", 0)
    largest = {row: shown["keys"][int(np.argmax(weights))] for row, weights in zip(shown["tokens"], shown["weights"])}
    assert {row: key.strip() for row, key in largest.items() if row in "我爱你"} == {
        "我": "I",
        "爱": "love",
        "你": "you",
    }


def test_a_translation_is_written_as_transformers_generates_it(tmp_path):
    contents = recorded(tmp_path / "a.attn", *TRANSLATE)
    ids = torch.tensor([ids_of(contents["tokens"])])
    with torch.inference_mode():
        made = seq2seq(TRANSLATE[1]).generate(ids, max_new_tokens=20, do_sample=False, num_beams=1)[0].tolist()
    assert made[1:] == ids_of(contents["written_tokens"]) and made[:-1] == ids_of(contents["target_tokens"])
    assert contents["written_tokens"][-1]["special"]
