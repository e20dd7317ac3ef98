"""ablate, against transformers with the same heads' columns set to zero."""

import json

import numpy as np
import pytest
import torch
from by_transformers import Reference
from conftest import attnscope, model_folder, refused

TEXT = "The quick brown fox jumps over it"
TARGET = "the lazy dog was"
GAPS = "the [MASK] was a [MASK] dog"


def ablate(name, text, *options):
    target = ["--target", TARGET] if name in ("t5", "bart") else []
    return json.loads(
        attnscope("ablate", "--model", model_folder(name), "--text", text, *target, *options, "--json").stdout
    )


def reference(name, text=TEXT):
    return Reference(name, text, TARGET if name in ("t5", "bart") else None)


def kl(before, after):
    p, q = torch.log_softmax(before, -1), torch.log_softmax(after, -1)
    return (p.exp() * (p - q)).sum(-1).numpy()


def same_choices(result, logits):
    probabilities = torch.softmax(logits, -1)
    top = probabilities.topk(len(result))
    assert [one["id"] for one in result] == top.indices.tolist()
    assert np.abs(np.array([one["probability"] for one in result]) - top.values.numpy()).max() < 1e-4


CASES = [
    ("bert", GAPS, [("self", 1, 2)]),
    ("bert", GAPS, [("self", 0, 0), ("self", 2, 3)]),
    ("gpt2", TEXT, [("self", 1, 0)]),
    ("llama", TEXT, [("self", 0, 5), ("self", 1, 2)]),
    ("t5", TEXT, [("self", 1, 1)]),
    ("t5", TEXT, [("decoder", 0, 2)]),
    ("t5", TEXT, [("cross", 1, 0), ("self", 0, 0)]),
    ("bart", TEXT, [("cross", 0, 1)]),
]


@pytest.mark.parametrize(("name", "text", "heads"), CASES)
def test_predictions_move_as_in_transformers(name, text, heads):
    model = reference(name, text)
    before, after = model.logits(), model.logits_without(heads)
    result = ablate(name, text, "--head", *(f"{kind}:{layer}.{head}" for kind, layer, head in heads))
    assert [(h["kind"], h["layer"], h["head"]) for h in result["off"]] == heads
    gaps = [i for i, token in enumerate(model.encoding.tokens) if token == "[MASK]"]
    expected = gaps or ([len(before) - 1] if name in ("gpt2", "llama") else list(range(len(before))))
    assert [one["token"] for one in result["positions"]] == expected
    for one in result["positions"]:
        i = one["token"]
        assert len(one["before"]) == len(one["after"]) == 10
        same_choices(one["before"], before[i])
        same_choices(one["after"], after[i])
        assert abs(one["kl"] - kl(before[i], after[i])) < 1e-4
    assert abs(result["kl"] - np.mean([one["kl"] for one in result["positions"]])) < 1e-6
    assert result["kl"] > 0


def test_kind_self_needs_no_name_and_at_chooses_the_place():
    model = reference("gpt2")
    result = ablate("gpt2", TEXT, "--head", "1.0", "--at", 2, 0)
    assert [one["token"] for one in result["positions"]] == [2, 0]
    before, after = model.logits(), model.logits_without([("self", 1, 0)])
    for one in result["positions"]:
        assert abs(one["kl"] - kl(before[one["token"]], after[one["token"]])) < 1e-4


def test_an_encoder_without_a_mask_predicts_every_token():
    result = ablate("bert", TEXT, "--head", "0.1")
    model = reference("bert")
    divergence = kl(model.logits(), model.logits_without([("self", 0, 1)]))
    ordinary = [i for i, special in enumerate(model.encoding.special_tokens_mask) if not special]
    assert [one["token"] for one in result["positions"]] == ordinary
    assert np.abs(np.array([one["kl"] for one in result["positions"]]) - divergence[ordinary]).max() < 1e-4


@pytest.mark.parametrize(("name", "text"), [("bert", GAPS), ("llama", TEXT), ("t5", TEXT)])
def test_all_ranks_every_head(name, text):
    model = reference(name, text)
    result = ablate(name, text, "--all")
    heads = [(h["kind"], h["layer"], h["head"]) for h in result["heads"]]
    assert len(set(heads)) == len(heads)
    kinds = {"self", "decoder", "cross"} if name == "t5" else {"self"}
    assert {kind for kind, _, _ in heads} == kinds
    places = [one["token"] for one in result["positions"]]
    before = model.logits()
    effects = [h["kl"] for h in result["heads"]]
    assert effects == sorted(effects, reverse=True)
    for one in result["heads"]:
        after = model.logits_without([(one["kind"], one["layer"], one["head"])])
        assert abs(one["kl"] - kl(before, after)[places].mean()) < 1e-4
        assert [word["id"] for word in one["likeliest"]] == after[places].argmax(-1).tolist()
    shown = attnscope("ablate", "--model", model_folder(name), "--text", text, "--all").stdout
    assert "switched off alone" in shown and "\x1b" not in shown


def test_text_shows_both_lists_and_what_follows():
    shown = attnscope("ablate", "--model", model_folder("bert"), "--text", GAPS, "--head", "1.2").stdout
    assert shown.count("before") >= 2 and "KL" in shown and "may do the same work" in shown
    assert max(map(len, shown.splitlines())) <= 80
    many = attnscope("ablate", "--model", model_folder("bert"), "--text", TEXT, "--head", "1.2").stdout
    assert "each token itself" in many and max(map(len, many.splitlines())) <= 80


BERT = ["ablate", "--model", model_folder("bert"), "--text", GAPS]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*BERT], "--head"),
        ([*BERT, "--all", "--head", "0.0"], "--all"),
        ([*BERT, "--head", "7"], "LAYER.HEAD"),
        ([*BERT, "--head", "x:0.0"], "LAYER.HEAD"),
        ([*BERT, "--head", "0.x"], "LAYER.HEAD"),
        ([*BERT, "--head", "3.0"], "0 to 2"),
        ([*BERT, "--head", "0.4"], "0 to 3"),
        ([*BERT, "--head", "cross:0.0"], "only self"),
        ([*BERT, "--head", "0.0", "--top", 0], "--top"),
    ],
)
def test_wrong_usage_prints_one_line_and_exits_with_2(arguments, says):
    assert says in refused(2, *arguments)


def test_a_model_without_a_language_model_head_is_refused():
    said = refused(1, "ablate", "--model", model_folder("bert-half"), "--text", "a", "--head", "0.0")
    assert "no language-model head" in said


def test_a_missing_token_is_named():
    assert "no token 99" in refused(1, *BERT, "--head", "0.0", "--at", 99)
