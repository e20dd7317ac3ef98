"""Texts that the page records under a mask, without heads, or continued, against transformers doing the same."""

import json

import numpy as np
import pytest
import torch
from by_transformers import Reference
from conftest import attnscope, model_folder, refused
from served import Served

TEXT = "The quick brown fox jumps over it"
GAPS = "the [MASK] was a [MASK] dog"
MASKS = {
    "window(2)": lambda i, j: abs(i - j) <= 2,
    "~window(1) | causal": lambda i, j: abs(i - j) > 1 or j <= i,
    "block(3) | global(1)": lambda i, j: i // 3 == j // 3 or i < 1 or j < 1,
}


@pytest.fixture(scope="module")
def page():
    models = ",".join(model_folder(name) for name in ("bert", "gpt2", "llama", "t5"))
    with Served("--with", models, "--text", "a") as served:
        yield served


def made(page, **body):
    status, _, answer = page.post("api/recordings", body)
    assert status == 200, answer
    return json.loads(answer)["id"]


def asked(page, ident, what="", **query):
    status, _, answer = page.get(f"api/recordings/{ident}{what}", **query)
    assert status == 200, answer
    return answer


def under(reference, allowed):
    """Attention and logits of the model under an extra mask."""
    n = reference.inputs["input_ids"].shape[1]
    causal = reference.config.model_type in ("gpt2", "llama")
    seen = torch.tensor([[allowed(i, j) and not (causal and j > i) for j in range(n)] for i in range(n)])
    mask = torch.zeros(1, 1, n, n).masked_fill(~seen, torch.finfo(torch.float32).min)
    with torch.inference_mode():
        out = reference.model(**reference.inputs, attention_mask=mask, output_attentions=True)
    logits = out.prediction_logits if "prediction_logits" in out else out.logits
    return torch.stack(out.attentions)[:, 0].numpy(), logits[0].double(), seen.numpy()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("name", "text"), [("bert", GAPS), ("gpt2", TEXT), ("llama", TEXT)])
def test_a_text_under_a_mask_is_read_as_transformers_reads_it(page, name, text, mask):
    tables, logits, seen = under(Reference(name, text), MASKS[mask])
    ident = made(page, model=name, text=text, mask=mask)
    layers, heads, n, _ = tables.shape
    for layer in range(layers):
        for head in range(heads):
            rows = [
                np.frombuffer(asked(page, ident, "/row", layer=layer, head=head, row=row), "<f4") for row in range(n)
            ]
            assert np.abs(np.stack(rows) - tables[layer, head]).max() < 2e-5
            assert (np.stack(rows)[~seen] == 0).all()
    for place in json.loads(asked(page, ident, "/predictions", top=5))["places"]:
        expected = torch.softmax(logits[place["token"]], -1)
        result = np.array([choice["probability"] for choice in place["choices"]])
        assert [choice["id"] for choice in place["choices"]] == expected.topk(5).indices.tolist()
        assert np.abs(result - expected.topk(5).values.numpy()).max() < 1e-4
        entropy = -(expected * expected.log()).sum().item()
        assert place["entropy"] == pytest.approx(entropy, abs=1e-3)


def test_a_recording_keeps_its_mask(page, tmp_path):
    ident = made(page, model="bert", text=TEXT, mask="window(2)")
    status, _, answer = page.get(f"api/recordings/{ident}/recording")
    assert status == 200
    file = tmp_path / "window.attn"
    file.write_bytes(answer)
    result = json.loads(attnscope("weights", "--recording", file, "--layer", 1, "--head", 0, "--json").stdout)
    row = np.frombuffer(asked(page, ident, "/row", layer=1, head=0, row=3), "<f4")
    assert (
        np.abs(np.array(result["weights"][3] if "weights" in result else result["heads"][0]["weights"][3]) - row).max()
        < 1e-6
    )
    assert row[0] == 0 and row[6] == 0
    with Served("--with", model_folder("bert"), "--recording", file) as again:
        facts = again.facts()
        assert facts["live"] and facts["origin"]["mask"] == "window(2)"


def kl(before, after):
    p, q = torch.log_softmax(before, -1), torch.log_softmax(after, -1)
    return (p.exp() * (p - q)).sum(-1)


@pytest.mark.parametrize(
    ("name", "text", "heads"),
    [("bert", GAPS, [("self", 1, 2), ("self", 0, 0)]), ("llama", TEXT, [("self", 1, 2)])],
)
def test_heads_that_are_off_move_predictions_as_in_transformers(page, name, text, heads):
    reference = Reference(name, text)
    before, after = reference.logits(), reference.logits_without(heads)
    whole = made(page, model=name, text=text)
    off = made(page, model=name, text=text, off=[dict(zip(("kind", "layer", "head"), h)) for h in heads])
    result = json.loads(asked(page, off, "/predictions", against=whole, top=8))
    moved = []
    for place in result["places"]:
        old, new = (torch.softmax(logits[place["token"]], -1) for logits in (before, after))
        for choice in place["choices"]:
            assert choice["probability"] == pytest.approx(new[choice["id"]].item(), abs=1e-4)
            assert choice["before"] == pytest.approx(old[choice["id"]].item(), abs=1e-4)
        moved.append(kl(before[place["token"]], after[place["token"]]).item())
        assert place["kl"] == pytest.approx(moved[-1], abs=1e-4)
    assert result["kl"] == pytest.approx(np.mean(moved), abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_text_is_continued_as_transformers_continues_it(page, name):
    reference = Reference(name, TEXT)
    ids = reference.inputs["input_ids"]
    ident = made(page, model=name, text=TEXT, generate={"tokens": 6, "temperature": 0})
    generated = json.loads(asked(page, ident))["generated"]
    assert generated["from"] == ids.shape[1]
    for step in generated["steps"]:
        with torch.inference_mode():
            expected = torch.softmax(reference.model(ids).logits[0, -1].double(), -1)
        assert step["id"] == expected.argmax().item()
        assert step["probability"] == pytest.approx(expected.max().item(), abs=1e-4)
        assert [choice["id"] for choice in step["choices"]] == expected.topk(5).indices.tolist()
        assert step["entropy"] == pytest.approx(-(expected * expected.log()).sum().item(), abs=1e-3)
        ids = torch.cat([ids, torch.tensor([[step["id"]]])], 1)


def test_the_first_recording_is_like_any_other(page):
    facts = page.facts()
    assert facts["live"] and facts["origin"]["text"] == "a"
    assert made(page, model=facts["origin"]["model"], text="a") == "1"
    models = {one["name"]: one for one in json.loads(page.get("api/models")[2])["models"]}
    assert {"bert", "gpt2", "llama", "t5", facts["origin"]["model"]} <= set(models)
    assert models["bert"]["given"] and models["t5"]["form"] == "encoder-decoder"


def test_a_missing_model_is_refused_before_serving(tmp_path):
    assert "nothing-here" in refused(1, "view", "--no-open", "--port", 0, "--with", tmp_path / "nothing-here")
