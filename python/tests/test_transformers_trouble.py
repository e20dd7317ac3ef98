"""Tests at.record() when something fails: the model is restored, and the error says why."""

import copy
import pickle

import attnscope as at
import numpy as np
import pytest
from hf_models import VOCABULARY, batch, family, random_model, record, run, torch, transformers


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_a_model_is_switched_back_also_after_an_exception(name):
    model = family(name)
    with pytest.raises(ZeroDivisionError):
        with at.record(model) as rec:
            model(input_ids=torch.tensor([[5, 6]]))
            assert model.config._attn_implementation == "attnscope"
            1 / 0
    assert model.config._attn_implementation == "eager"
    assert not model._forward_pre_hooks and not model._forward_hooks
    assert rec.tokens == ["#5", "#6"], "what was read before the exception is kept"
    model(input_ids=torch.tensor([[5, 6]]))
    assert record(model, {"input_ids": torch.tensor([[5, 6]])}).shape == (3, 4, 2, 2)


def test_a_block_that_ends_before_a_call_has_none():
    model = family("llama")
    rec = at.record(model)
    with pytest.raises(RuntimeError, match="there is no recording yet"):
        rec.weights(0, 0)
    with pytest.raises(KeyError, match="mine"), rec:
        raise KeyError("mine")
    with pytest.raises(RuntimeError, match="there is no recording: the block ended with KeyError: 'mine'"):
        rec.weights(0, 0)
    assert "nothing" in repr(rec) and not rec[:]


def test_a_forward_pass_that_fails_leaves_nothing_behind():
    model = family("llama")
    with at.record(model) as rec, torch.no_grad():
        with pytest.raises(IndexError):
            model(input_ids=torch.tensor([[5, VOCABULARY + 1]]))
        model(input_ids=torch.tensor([[5, 6, 7]]))
    assert len(rec) == 1 and rec.shape == (3, 4, 3, 3)


def test_what_cannot_be_recorded_says_why():
    model = family("llama")
    with pytest.raises(RuntimeError, match="LlamaForCausalLM was not called inside the block"):
        with at.record(model):
            pass
    with pytest.raises(TypeError, match="must be a transformers model, not str"):
        with at.record("bert"):
            pass
    with pytest.raises(TypeError, match="this Linear contains none"):
        with at.record(torch.nn.Linear(2, 2)):
            pass
    own = transformers.BloomConfig(hidden_size=32, n_layer=1, n_head=2, vocab_size=97)
    with pytest.raises(ValueError, match="BloomModel does not compute its attention through"):
        with at.record(transformers.AutoModel.from_config(own)):
            pass
    none = transformers.MambaConfig(hidden_size=32, num_hidden_layers=1, vocab_size=97)
    without = transformers.AutoModel.from_config(none).eval()
    with pytest.raises(RuntimeError, match="no attention of MambaModel went through"):
        with at.record(without), torch.no_grad():
            without(input_ids=torch.tensor([[5, 6]]))
    with pytest.raises(TypeError, match="tokenizer must be a transformers tokenizer, not str"):
        at.record(model, tokenizer="gpt2").__enter__()
    assert model.config._attn_implementation == "eager"
    rec = record(model, {"input_ids": torch.tensor([[5, 6]])})
    with pytest.raises(ValueError, match=r"at\.record\(model\) with a transformers model does not"):
        rec.value_weighted()
    with pytest.raises(RuntimeError, match="this recording is already made"):
        rec.__enter__()


def test_a_cache_that_cannot_be_followed_is_an_error():
    model = family("llama")
    ids = batch(model, "none").inputs["input_ids"]
    cache = run(model, "attnscope", {"input_ids": ids}, use_cache=True).past_key_values
    with pytest.raises(RuntimeError, match="continues a cache of 14 tokens that was filled earlier"):
        with at.record(model), torch.no_grad():
            model(input_ids=ids[:, :1], past_key_values=cache)
    with pytest.raises(RuntimeError, match="a modified cache cannot be followed"):
        with at.record(model), torch.no_grad():
            cache = model(input_ids=ids, use_cache=True).past_key_values
            cache.crop(-9)
            model(input_ids=ids[:, 5:6], past_key_values=cache)


def clip():
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.CLIPConfig(
        text_config={**sizes, "vocab_size": VOCABULARY, "max_position_embeddings": 20},
        vision_config={**sizes, "image_size": 16, "patch_size": 8},
    )
    model = random_model(config, kind=transformers.AutoModel)
    pixels = torch.randn(1, 3, 16, 16)
    return model, lambda: model(input_ids=torch.tensor([[5, 6, 7]]), pixel_values=pixels).logits_per_image


def writer(**how):
    model = family("llama")
    ids = batch(model, "none").inputs["input_ids"][: 3 if "num_beams" in how else 1]
    return model, lambda: model.generate(input_ids=ids, max_new_tokens=8, do_sample=False, **how)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: writer(num_beams=3), "changed places, as in beam search"),
        (lambda: writer(prompt_lookup_num_tokens=2), "assisted decoding discards tokens that it has read"),
        (lambda: writer(assistant_model=family("llama", seed=1)), "assisted decoding discards tokens that it has read"),
        (clip, "several stacks of self attention"),
    ],
    ids=["beams", "looked up", "assisted", "two towers"],
)
def test_errors_of_recording_do_not_interrupt_the_call(make, error):
    model, call = make()
    with torch.no_grad():
        wanted, got = call(), None
        with pytest.raises((RuntimeError, ValueError), match=error):
            with at.record(model) as rec:
                got = call()
        assert torch.allclose(got, wanted, atol=1e-4)
        with pytest.raises(RuntimeError, match=f"there is no recording: the block ended with .*{error}"):
            rec.weights(0, 0)
    assert model.config._attn_implementation == "eager" and not model._forward_hooks


def test_texts_are_named_by_numbers_and_slices():
    rec = record(family("llama"), {"input_ids": torch.tensor([[5, 6], [7, 8], [9, 10]])})
    assert [text.tokens for text in rec[1:]] == [["#7", "#8"], ["#9", "#10"]]
    assert rec[np.int64(1)] is rec[1]
    with pytest.raises(TypeError, match=r"texts are indexed by number, as in rec\[0\], not by str"):
        rec["the cat"]


def test_a_file_has_one_text(tmp_path):
    rec = record(family("llama"), {"input_ids": torch.tensor([[5, 6], [7, 8]])})
    with pytest.warns(UserWarning, match=r"only the first of 2 texts is written: rec\[1\].save\(...\)"):
        rec.save(tmp_path / "x.attn")
    assert at.open(tmp_path / "x.attn").tokens == ["#5", "#6"]
    rec[1].save(tmp_path / "y.attn")
    assert at.open(tmp_path / "y.attn").tokens == ["#7", "#8"]


def test_a_recording_is_copied_as_itself_and_not_pickled():
    rec = record(family("llama"), {"input_ids": torch.tensor([[5, 6]])})
    for one in (rec, rec[0]):
        assert copy.copy(one) is one and copy.deepcopy({"a": one})["a"] is one
        with pytest.raises(TypeError, match=r"use rec\.save\(path\) and"):
            pickle.dumps(one)


def test_a_compiled_model_is_recorded():
    model = family("llama")
    ids = batch(model, "left").inputs
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        compiled(**ids)
    rec, same = record(compiled, ids), record(model, ids)
    assert [text.tokens for text in rec] == [text.tokens for text in same]
    assert np.array_equal(rec[1].weights(), same[1].weights())
    graphs = []
    torch.compile(lambda x: x + 1, backend=lambda graph, _: graphs.append(graph) or graph)(torch.ones(2))
    assert graphs, "nothing is compiled any more"
