"""heatmap --measure value, against a numpy form of Kobayashi et al. (2020): the norm of alpha[i,j] f(x_j), where
f(x) = (x W_V + b_V) W_O with a head's own columns of W_V and rows of W_O. Weights and inputs are those of transformers."""

import json

import numpy as np
import pytest
from conftest import attnscope, model_folder, refused
from transformers_says import load, run

TEXT = "The quick brown fox jumps over the lazy dog."
TARGET = "Was it asleep?"


def modules(model, name, kind, layer):
    """The projections of values and of outputs."""
    if name == "bert":
        attention = model.encoder.layer[layer].attention
        return attention.self.value, attention.output.dense
    if name == "gpt2":
        return model.h[layer].attn.c_attn, model.h[layer].attn.c_proj
    if name in ("llama", "qwen2"):
        return model.layers[layer].self_attn.v_proj, model.layers[layer].self_attn.o_proj
    stack = model.encoder if kind == "self" else model.decoder
    if name == "t5":
        block = stack.block[layer].layer
        attention = block[1].EncDecAttention if kind == "cross" else block[0].SelfAttention
        return attention.v, attention.o
    attention = stack.layers[layer].encoder_attn if kind == "cross" else stack.layers[layer].self_attn
    return attention.v_proj, attention.out_proj


def as_matrix(module):
    """[in, out] and [out] of a Linear or a Conv1D."""
    weight = module.weight.detach().numpy()
    weight = weight if type(module).__name__ == "Conv1D" else weight.T
    bias = getattr(module, "bias", None)
    return weight, bias.detach().numpy() if bias is not None else np.zeros(weight.shape[1])


def norms(name, kind, layer, text, target):
    """[H, N, M]: |alpha[i,j] f(x_j)|."""
    model = load(name)
    values, outputs = modules(model, name, kind, layer)
    seen = []
    hook = values.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0].numpy()))
    alpha = run(name, text, target)[kind][layer]
    hook.remove()
    w_v, b_v = as_matrix(values)
    if name == "gpt2":  # queries, keys and values side by side
        w_v, b_v = np.split(w_v, 3, axis=1)[2], np.split(b_v, 3)[2]
    w_o, _ = as_matrix(outputs)
    heads = alpha.shape[0]
    width = w_o.shape[0] // heads
    group = heads // (w_v.shape[1] // width)  # heads that share values
    out = []
    for head in range(heads):
        mine = slice(head // group * width, (head // group + 1) * width)
        f = (seen[0] @ w_v[:, mine] + b_v[mine]) @ w_o[head * width : (head + 1) * width]
        out.append(np.linalg.norm(alpha[head][:, :, None] * f[None], axis=-1))
    return np.array(out)


CASES = [("bert", "self"), ("gpt2", "self"), ("llama", "self"), ("qwen2", "self")]
CASES += [(name, kind) for name in ("t5", "bart") for kind in ("self", "decoder", "cross")]


@pytest.mark.parametrize("name, kind", CASES)
def test_weights_by_value_are_those_of_the_paper(name, kind):
    target = TARGET if name in ("t5", "bart") else None
    arguments = ["heatmap", "--model", model_folder(name), "--text", TEXT, "--kind", kind, "--layer", 1, "--json"]
    arguments += ["--target", target] if target else []
    expected = norms(name, kind, 1, TEXT, target)
    for head in range(len(expected)):
        result = json.loads(attnscope(*arguments, "--head", head, "--measure", "value").stdout)
        np.testing.assert_allclose(result["weights"], expected[head], atol=2e-5 * max(1, expected.max()), rtol=1e-4)


def test_values_change_the_table():
    arguments = ["heatmap", "--model", model_folder("bert"), "--text", TEXT, "--layer", 1, "--head", 0, "--json"]
    raw, by_value = (
        np.array(json.loads(attnscope(*arguments, "--measure", m).stdout)["weights"]) for m in ("raw", "value")
    )
    assert np.abs(raw.sum(-1) - 1).max() < 1e-5 < np.abs(by_value.sum(-1) - 1).max()
    shares = by_value / raw
    np.testing.assert_allclose(
        shares, shares[:1].repeat(len(shares), 0), rtol=1e-4
    )  # one norm per key, the same for all queries


def test_a_table_has_no_values(tmp_path):
    np.save(tmp_path / "w.npy", np.full((3, 3), 1 / 3))
    assert "needs a model" in refused(2, "heatmap", "--table", tmp_path / "w.npy", "--measure", "value")
