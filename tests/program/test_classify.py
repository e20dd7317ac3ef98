"""classify, against transformers: labels, and what the first token attends to."""

import csv
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from conftest import PROGRAM, attnscope, model_folder, refused

TEXT = "The quick brown fox jumps over the lazy dog, but unbelievable things happen."
LABELS = ["negative", "so so", "positive"]


def make(folder, family, **more):
    """A random classifier of this family, with the tokenizer of the golden model of the same name."""
    golden = pathlib.Path(model_folder(family))
    kind = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta"}[family]
    config = getattr(transformers, kind + "Config").from_pretrained(golden)
    config.architectures = None
    config.id2label = dict(enumerate(more.pop("labels", LABELS)))
    config.label2id = {name: id for id, name in config.id2label.items()}
    config.problem_type = more.pop("problem_type", None)
    torch.manual_seed(len(family))
    model = (
        getattr(transformers, kind + "ForSequenceClassification")
        ._from_config(config, attn_implementation="eager")
        .eval()
    )
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(1.0 if "orm" in name and name.endswith("weight") else 0.0, 0.2)
    model.to(more.pop("dtype", torch.float32)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(golden / name, folder / name)
    return model.double()


def encode(folder, text, pair=None):
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, pair)


def theirs(model, folder, text, pair=None):
    encoding = encode(folder, text, pair)
    inputs = {"input_ids": torch.tensor([encoding.ids])}
    if model.config.model_type == "bert":
        inputs["token_type_ids"] = torch.tensor([encoding.type_ids])
    with torch.inference_mode():
        out = model(**inputs, output_attentions=True)
    return encoding, out.logits[0].numpy(), torch.stack(out.attentions)[:, 0].numpy()


def ours(folder, *arguments):
    return json.loads(attnscope("classify", "--model", folder, *arguments, "--json").stdout)


def by_word(encoding, row):
    """A row of weights, with the pieces of each word added: (text, weight), special tokens by themselves."""
    words = []
    for token, word, weight in zip(encoding.tokens, encoding.word_ids, row, strict=True):
        if word is not None and words and words[-1][0] == (word,):
            words[-1][1] += weight
        else:
            words.append([(word,) if word is not None else token, weight])
    return [weight for _, weight in words]


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])
def test_labels_are_those_of_transformers(tmp_path, family):
    model = make(tmp_path, family)
    _, logits, _ = theirs(model, tmp_path, TEXT)
    result = ours(tmp_path, "--text", TEXT)
    got = {score["label"]: score for score in result["scores"]}
    assert set(got) == set(LABELS)
    assert np.abs([got[name]["logit"] for name in LABELS] - logits).max() < 1e-5
    probabilities = torch.softmax(torch.tensor(logits, dtype=torch.float64), 0).numpy()
    assert np.abs([got[name]["probability"] for name in LABELS] - probabilities).max() < 1e-5
    assert result["label"] == result["scores"][0]["label"] == LABELS[int(logits.argmax())]


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_weights_of_words_are_those_of_the_first_token(tmp_path, family):
    model = make(tmp_path, family)
    encoding, _, attentions = theirs(model, tmp_path, TEXT)
    layers, heads = attentions.shape[:2]
    for layer, head in [(None, None), (0, None), (None, 1), (1, 2)]:
        result = ours(
            tmp_path,
            "--text",
            TEXT,
            *(["--layer", layer] if layer is not None else []),
            *(["--head", head] if head is not None else []),
        )
        rows = attentions[layers - 1 if layer is None else layer, :, 0]
        expected = by_word(encoding, rows.mean(axis=0) if head is None else rows[head])
        assert np.abs(np.array([word["weight"] for word in result["words"]]) - expected).max() < 1e-5
        assert result["layer"] == (layers - 1 if layer is None else layer) and result["head"] == head
    words = [word for word in result["words"] if not word["special"]]
    assert [TEXT[word["span"][0] : word["span"][1]] for word in words] == [word["word"] for word in words]
    assert abs(sum(word["weight"] for word in result["words"]) - 1) < 1e-5


def test_pairs_and_float16_weights(tmp_path):
    model = make(tmp_path, "bert", dtype=torch.float16)
    _, logits, _ = theirs(model, tmp_path, TEXT, "A dog sleeps.")
    result = ours(tmp_path, "--text", TEXT, "--pair", "A dog sleeps.")
    got = {score["label"]: score["logit"] for score in result["scores"]}
    assert np.abs([got[name] for name in LABELS] - logits).max() < 1e-4


def test_multi_label_models_use_sigmoids(tmp_path):
    model = make(tmp_path, "bert", problem_type="multi_label_classification")
    _, logits, _ = theirs(model, tmp_path, TEXT)
    got = {score["label"]: score["probability"] for score in ours(tmp_path, "--text", TEXT)["scores"]}
    assert np.abs([got[name] for name in LABELS] - 1 / (1 + np.exp(-logits.astype(float)))).max() < 1e-5


def test_a_long_text_is_cut_to_the_model_length(tmp_path):
    model = make(tmp_path, "bert")
    text = " ".join(["the dog"] * 100)
    encoding = encode(tmp_path, text)
    kept = encoding.ids[:79] + encoding.ids[-1:]
    with torch.inference_mode():
        logits = model(torch.tensor([kept])).logits[0].numpy()
    result = ours(tmp_path, "--text", text)
    assert (result["tokens"], result["read"]) == (len(encoding.ids), 80)
    got = {score["label"]: score["logit"] for score in result["scores"]}
    assert np.abs([got[name] for name in LABELS] - logits).max() < 1e-5
    assert "Read the first 80 of" in attnscope("classify", "--model", tmp_path, "--text", text).stdout


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A classifier, texts of many lengths, and transformers' logits for each, computed one at a time."""
    folder = tmp_path_factory.mktemp("model")
    model = make(folder, "bert")
    random = np.random.default_rng(5)
    vocabulary = "the dog fox bad good quick 4 lazy, 'quoted' movie".split(" ")
    texts = [" ".join(random.choice(vocabulary, random.integers(1, 20))) for _ in range(150)]
    logits = np.array([theirs(model, folder, text)[1] for text in texts])
    return folder, texts, logits


def test_many_texts_get_the_labels_of_transformers(data, tmp_path):
    folder, texts, logits = data
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    result = ours(folder, "--data", tmp_path / "texts.txt")
    probabilities = torch.softmax(torch.tensor(logits).double(), 1).numpy()
    assert np.abs(np.array([answer["probabilities"] for answer in result["answers"]]) - probabilities).max() < 1e-5
    assert [answer["label"] for answer in result["answers"]] == [LABELS[i] for i in logits.argmax(1)]
    assert result["found"] == np.bincount(logits.argmax(1), minlength=3).tolist() and result["texts"] == 150
    assert "accuracy" not in result and "given" not in result["answers"][0]
    one = attnscope("--threads", 1, "classify", "--model", folder, "--data", tmp_path / "texts.txt", "--json").stdout
    assert (
        one
        == attnscope("--threads", 2, "classify", "--model", folder, "--data", tmp_path / "texts.txt", "--json").stdout
    )


@pytest.mark.parametrize("name", [str, str.upper, lambda label: str(LABELS.index(label))])
def test_accuracy_and_confusion_are_counted(data, tmp_path, name):
    folder, texts, logits = data
    given = np.random.default_rng(7).integers(0, 3, len(texts))
    with open(tmp_path / "texts.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "verdict"])
        writer.writerows([text, name(LABELS[label])] for text, label in zip(texts, given, strict=True))
    result = ours(folder, "--data", tmp_path / "texts.csv", "--label-column", "verdict")
    found = logits.argmax(1)
    confusion = np.zeros((3, 3), int)
    np.add.at(confusion, (given, found), 1)
    assert result["confusion"] == confusion.tolist() and result["right"] == int((given == found).sum())
    assert abs(result["accuracy"] - (given == found).mean()) < 1e-6
    assert [answer["given"] for answer in result["answers"]] == [LABELS[i] for i in given]
    shown = attnscope(
        "classify", "--model", folder, "--data", tmp_path / "texts.csv", "--label-column", "verdict"
    ).stdout
    assert f"accuracy {(given == found).mean():.4f}" in shown
    numbers = [[int(x) for x in re.findall(r"\d+", line)] for line in shown.splitlines()[3:6]]
    assert numbers == confusion.tolist()


def test_limit_and_held_out_select_texts(data, tmp_path):
    folder, texts, _ = data
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    base = ["--data", tmp_path / "texts.txt"]
    every = ours(folder, *base)["answers"]
    assert ours(folder, *base, "--limit", 7)["answers"] == every[:7]
    part = ours(folder, *base, "--held-out", 0.3)["texts"]
    assert 0 < part < 150 and ours(folder, *base, "--held-out", 1)["texts"] == 150


def test_wrong_data_is_refused(data, tmp_path):
    folder, _, _ = data
    base = ["classify", "--model", folder, "--data"]
    (tmp_path / "a.csv").write_text("text,label\nfine,excellent\n")
    assert "the model has no label 'excellent'; its labels are negative, so so, positive" in refused(
        1, *base, tmp_path / "a.csv", "--labels"
    )
    (tmp_path / "b.csv").write_text("text,label\nfine,7\n")
    assert "no label '7'" in refused(1, *base, tmp_path / "b.csv", "--labels")
    assert "nowhere" in refused(1, *base, tmp_path / "b.csv", "--label-column", "nowhere")
    assert refused(1, *base, tmp_path / "none.csv")
    refused(2, *base, tmp_path / "a.csv", "--text", "both")
    refused(2, "classify", "--model", folder, "--text", "a", "--labels")


def test_models_without_labels_and_wrong_places_are_refused(tmp_path):
    make(tmp_path, "bert")
    base = ["classify", "--model", tmp_path]
    assert "gives no labels" in refused(1, "classify", "--model", model_folder("bert"), "--text", "a")
    assert "gives no labels" in refused(1, "classify", "--model", model_folder("gpt2"), "--text", "a")
    assert "--text or --file" in refused(2, *base)
    assert "the text is empty" in refused(2, *base, "--text", " ")
    assert "0 to 2" in refused(2, *base, "--text", "a", "--layer", 9)
    assert "0 to 3" in refused(2, *base, "--text", "a", "--head", 4)
    one = tmp_path / "one"
    one.mkdir()
    make(one, "bert", labels=["stars"])
    assert "a single number" in refused(1, "classify", "--model", one, "--text", "a")


def in_terminal(*arguments, **environment):
    """Output of the program on a terminal."""
    ours, its = pty.openpty()
    command = [PROGRAM, *map(str, arguments)]
    program = subprocess.Popen(command, stdout=its, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    os.close(its)
    said = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        said += part
    program.wait(timeout=60)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_shows_the_text_with_shaded_words(tmp_path):
    make(tmp_path, "bert")
    text = "The quick  brown fox, who isn't (really) lazy."
    arguments = ["classify", "--model", tmp_path, "--text", text]
    colours = in_terminal(*arguments, TERM="xterm-256color", COLORTERM="truecolor", NO_COLOR="", COLUMNS="80")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", colours)
    assert "The quick brown fox, who isn't (really) lazy." in plain and "\x1b[48;2;" in colours
    without = in_terminal(*arguments, TERM="xterm-256color", NO_COLOR="1")
    assert "\x1b" not in without and text.split()[-1] not in without and "0." in without
    piped = attnscope(*arguments).stdout
    assert piped == without
