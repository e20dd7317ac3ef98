"""trace: every number behind one weight, against transformers' modules."""

import json

import numpy as np
import pytest
import torch
from by_transformers import Reference
from conftest import attnscope, model_folder, refused
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

TEXT = "The quick brown fox jumps over it"
TARGET = "the lazy dog was"


def near(result, expected):
    result, expected = (torch.as_tensor(numbers, dtype=torch.float64).numpy() for numbers in (result, expected))
    assert result.shape == expected.shape
    assert np.abs(result - expected).max() < 1e-4 * max(1, np.abs(expected).max())


def trace(name, kind, layer, head, query, *more):
    target = ["--target", TARGET] if name in ("t5", "bart") else []
    arguments = ["--layer", layer, "--head", head, "--query", query, "--kind", kind]
    return json.loads(
        attnscope("trace", "--model", model_folder(name), "--text", TEXT, *target, *arguments, *more, "--json").stdout
    )


class Expected:
    """The numbers of one head by torch."""

    def __init__(self, name, kind, layer, head):
        self.reference = reference = Reference(name, TEXT, TARGET if name in ("t5", "bart") else None)
        config = reference.config
        heads = reference.head_count(kind)
        x, q, k, v = reference.projected(kind, layer)
        d = q.shape[-1] // heads
        self.key_head = head // (heads // (k.shape[-1] // d))
        q, k, v = (t.view(len(t), -1, d).transpose(0, 1) for t in (q, k, v))
        if config.model_type == "llama":
            cos, sin = reference.model.model.rotary_emb(x.float()[None], torch.arange(len(x))[None])
            q, k = (t[0] for t in apply_rotary_pos_emb(q[None], k[None], cos.double(), sin.double()))
        self.x, self.q, self.k, self.v = x, q[head], k[self.key_head], v[self.key_head]
        self.scale = 1.0 if config.model_type == "t5" else d**-0.5
        self.bias = None
        if config.model_type == "t5" and kind != "cross":
            stack = reference.model.encoder if kind == "self" else reference.model.decoder
            with torch.inference_mode():
                bias = stack.block[0].layer[0].SelfAttention.compute_bias(len(x), self.k.shape[0])
            self.bias = bias[0, head].double()
        self.weights = reference.attentions(kind)[layer, head]
        scores = self.scale * self.q @ self.k.T + (0 if self.bias is None else self.bias)
        self.causal = kind == "decoder" or config.model_type in ("gpt2", "llama")
        if self.causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
        self.scores, self.lse = scores, scores.logsumexp(-1)
        self.w_o = reference.output_weights(kind, layer)[head * d : (head + 1) * d]


CASES = [
    ("bert", "self", 1, 2),
    ("gpt2", "self", 0, 1),
    ("llama", "self", 1, 5),
    ("llama", "self", 0, 1),
    ("t5", "self", 1, 2),
    ("t5", "decoder", 1, 0),
    ("t5", "cross", 0, 1),
    ("bart", "cross", 1, 0),
]


@pytest.mark.parametrize(("name", "kind", "layer", "head"), CASES)
def test_every_number_is_that_of_transformers(name, kind, layer, head):
    e = Expected(name, kind, layer, head)
    for i, j in ((0, 0), (2, 1), (3, 0), (len(e.x) - 1, len(e.k) - 1)):
        t = trace(name, kind, layer, head, i, "--key", j)
        assert (t["kind"], t["layer"], t["head"], t["key_head"]) == (kind, layer, head, e.key_head)
        assert (t["query"]["token"], t["key"]["token"]) == (i, j)
        near(t["x"], e.x[i])
        near(t["q"], e.q[i])
        near(t["k"], e.k[j])
        near(t["v"], e.v[j])
        near(t["products"], e.q[i] * e.k[j])
        near(t["dot"], e.q[i] @ e.k[j])
        near(t["scale"], e.scale)
        if e.bias is None:
            assert t["bias"] is None and t["bucket"] is None
        else:
            near(t["bias"], e.bias[i, j])
        assert t["mask"] == ("causal" if e.causal else "everything") and t["allowed"]
        near(t["score"], e.scores[i, j])
        near(t["lse"], e.lse[i])
        near(t["weight"], e.weights[i, j])
        contribution = e.weights[i, j] * e.v[j] @ e.w_o
        whole = torch.tensor(e.weights[i]) @ e.v @ e.w_o
        near(t["contribution"], contribution)
        near(t["contribution_norm"], contribution.norm())
        near(t["head_output"], whole)
        near(t["head_output_norm"], whole.norm())
        near(t["share"], contribution @ whole / (whole @ whole))
        # The printed numbers follow from one another.
        near(sum(t["products"]), t["dot"])
        near(t["dot"] * t["scale"] + (t["bias"] or 0), t["score"])
        near(np.exp(t["score"] - t["lse"]), t["weight"])


def test_without_a_key_the_largest_weight_is_taken():
    e = Expected("bert", "self", 1, 2)
    for i in range(len(e.x)):
        assert trace("bert", "self", 1, 2, i)["key"]["token"] == e.weights[i].argmax()


def test_a_masked_key_has_weight_zero():
    t = trace("llama", "self", 0, 1, 1, "--key", 3)
    assert not t["allowed"] and t["score"] is None and t["weight"] == 0 and not any(t["contribution"])
    assert t["share"] == 0


def test_tokens_are_chosen_by_their_text():
    base = ["trace", "--model", model_folder("bert"), "--text", "the it the", "--layer", 0, "--head", 0]
    t = json.loads(attnscope(*base, "--query", "it", "--key", "[SEP]", "--json").stdout)
    assert t["query"] == {"token": 2, "text": "it"} and t["key"]["text"] == "[SEP]"
    assert "1, 3" in refused(2, *base, "--query", "the")
    assert "no token 'bird'" in refused(2, *base, "--query", "bird")
    assert "0 to 4" in refused(2, *base, "--query", "5")
    assert "0 to 4" in refused(2, *base, "--query", "0", "--key", "-1")
    assert "--query" in refused(2, *base)


def test_text_shows_the_identities():
    base = ["trace", "--model", model_folder("t5"), "--text", TEXT, "--target", TARGET, "--layer", 0, "--head", 0]
    shown = attnscope(*base, "--query", 2, "--kind", "decoder").stdout
    for name in ("x ", "q ", "k ", "products", "dot", "scale", "bias", "mask", "score", "lse", "weight", "v ", "share"):
        assert any(line.startswith(name) for line in shown.splitlines()), name
    assert "\x1b" not in shown and max(map(len, shown.splitlines())) <= 80
    result = json.loads(attnscope(*base, "--query", 2, "--kind", "decoder", "--json").stdout)
    assert f"{result['weight']:.6f}" in shown and f"{result['lse']:.4f}" in shown


def test_a_recording_shows_what_it_has(tmp_path):
    arguments = ["--layer", 1, "--head", 2, "--query", 3, "--json"]
    whole = trace("bert", "self", 1, 2, 3)
    for more, has in (([], False), (["--all"], True)):
        file = tmp_path / f"{has}.attn"
        attnscope("record", "--model", model_folder("bert"), "--text", TEXT, "-o", file, *more)
        t = json.loads(attnscope("trace", "--recording", file, *arguments).stdout)
        assert t["q"] == whole["q"] and t["weight"] == whole["weight"]
        assert (t["x"] == whole["x"] and t["v"] == whole["v"]) if has else (t["x"] is None and t["v"] is None)
        assert t["contribution"] is None
        said = attnscope("trace", "--recording", file, *arguments[:-1]).stdout
        assert "not in the recording" in said and ("--all" in said) != has
