"""Runs models on attnscope where transformers compiles or exports them."""

import copy

import pytest
from attnscope._hf.masks import mask_function
from hf_models import batch, family, torch, transformers


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_generate_compiles_with_a_static_cache(name):
    model = family(name)
    inputs = batch(model, "left" if name == "llama" else "none").inputs
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad():
        wanted = model.generate(**inputs, **options)
        model.set_attn_implementation("attnscope")
        compiled = transformers.CompileConfig(backend="eager", fullgraph=True)
        compiled._compile_all_devices = True
        got = model.generate(**inputs, **options, cache_implementation="static", compile_config=compiled)
    assert torch.equal(got, wanted)


def test_a_copy_of_a_rule_is_the_table():
    padding = torch.tensor([[False, True, True], [True, True, True]])
    rule = mask_function(2, 3, 3, attention_mask=padding)
    table = copy.deepcopy(rule)
    assert type(table) is torch.Tensor and torch.equal(table, rule.rule.tensor())
    assert copy.deepcopy({"attention_mask": rule})["attention_mask"].shape == (2, 1, 3, 3)


def test_exporters_may_copy_what_a_model_gets():
    utils = pytest.importorskip("transformers.exporters.utils")
    model = family("llama")
    model.set_attn_implementation("attnscope")
    model.generation_config.update(cache_implementation="static")  # with it generate() makes the mask, not the model
    parts = utils.decompose_prefill_decode(model, dict(batch(model, "none").inputs))
    assert set(parts) == {"prefill", "decode"}
