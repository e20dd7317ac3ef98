"""at.record() where something goes wrong: the model is as it was, and the error says why."""

import pytest
from hf_models import VOCABULARY, batch, family, record, run, torch, transformers

import attnscope as at


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
    with pytest.raises(RuntimeError, match="there is no recording yet"):
        rec.weights(0, 0)
    model(input_ids=torch.tensor([[5, 6]]))
    assert record(model, {"input_ids": torch.tensor([[5, 6]])}).shape == (3, 4, 2, 2)


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
    with pytest.raises(TypeError, match="must be a model of transformers, not str"):
        with at.record("bert"):
            pass
    with pytest.raises(TypeError, match="there is none in this Linear"):
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
    rec = record(model, {"input_ids": torch.tensor([[5, 6]])})
    with pytest.raises(RuntimeError, match="a recording is made once"):
        rec.__enter__()


def test_a_cache_that_cannot_be_followed_is_an_error():
    model = family("llama")
    ids = batch(model, "none").inputs["input_ids"]
    cache = run(model, "attnscope", {"input_ids": ids}, use_cache=True).past_key_values
    with pytest.raises(RuntimeError, match="continues a cache of 14 tokens that was filled before"):
        with at.record(model), torch.no_grad():
            model(input_ids=ids[:, :1], past_key_values=cache)
    with pytest.raises(RuntimeError, match="changed places, as in beam search"):
        with at.record(model):
            model.generate(input_ids=ids, max_new_tokens=8, num_beams=3, do_sample=False)
    with pytest.raises(RuntimeError, match="a cache that was changed cannot be followed"):
        with at.record(model), torch.no_grad():
            cache = model(input_ids=ids, use_cache=True).past_key_values
            cache.crop(-9)
            model(input_ids=ids[:, 5:6], past_key_values=cache)
