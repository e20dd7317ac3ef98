"""Tests masks of transformers as rules: the same pairs as its own tables, without their memory, and never lost."""

import attnscope as at
import numpy as np
import pytest
from attnscope._hf import masks
from hf_models import FAMILIES, batch, family, random_model, result, run, torch, transformers
from transformers import masking_utils


def both(*functions):
    return masking_utils.and_masks(*functions)


def blocks(batch, keys):
    return torch.arange(keys).div(3, rounding_mode="floor").expand(batch, keys)


FUNCTIONS = {
    "causal": lambda b, m: masking_utils.causal_mask_function,
    "everything": lambda b, m: masking_utils.bidirectional_mask_function,
    "window": lambda b, m: masking_utils.sliding_window_causal_mask_function(4),
    "window to both sides": lambda b, m: masking_utils.sliding_window_bidirectional_mask_function(3),
    "window without causal": lambda b, m: masking_utils.sliding_window_overlay(4),
    "two windows": lambda b, m: both(
        masking_utils.sliding_window_overlay(6), masking_utils.sliding_window_causal_mask_function(3)
    ),
    "packed": lambda b, m: both(
        masking_utils.causal_mask_function, masking_utils.packed_sequence_mask_function(blocks(b, 64))
    ),
    "chunks": lambda b, m: masking_utils.chunked_causal_mask_function(5, torch.arange(b)),
    "blocks": lambda b, m: masking_utils.or_masks(
        masking_utils.causal_mask_function, masking_utils.blockwise_overlay(blocks(b, 64))
    ),
    "a user's own": lambda b, m: lambda batch, head, q, k: (q * k) % 3 != batch,
    "a user's own by a known name": lambda b, m: named("causal_mask_function", lambda batch, head, q, k: k < q),
}
KNOWN = ("causal", "everything", "window", "window to both sides", "window without causal", "two windows")


def named(name, function):
    function.__name__ = function.__qualname__ = name
    function.__module__ = masking_utils.__name__
    return function


def random_problem(function, seed):
    rng = np.random.default_rng(seed)
    batch_size, queries = int(rng.integers(1, 4)), int(rng.integers(1, 20))
    first = int(rng.integers(0, 2) * rng.integers(0, 20))
    first_key = int(rng.integers(0, first + 1)) if rng.random() < 0.5 else 0
    keys = first - first_key + queries + int(rng.integers(0, 2) * rng.integers(0, 9))
    seen = int(rng.integers(first + queries, first_key + keys + 1))
    padding = None if rng.random() < 0.3 else torch.from_numpy(rng.random((batch_size, seen)) < 0.8)
    return {
        "batch_size": batch_size,
        "q_length": queries,
        "kv_length": keys,
        "q_offset": first,
        "kv_offset": first_key,
        "attention_mask": padding,
        "mask_function": FUNCTIONS[function](batch_size, keys),
    }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_rule_allows_what_transformers_own_table_allows(function, seed):
    problem = random_problem(function, seed)
    wanted = masking_utils.sdpa_mask(**problem, allow_is_causal_skip=False)
    mask = masks.mask_function(**problem)
    assert isinstance(mask, masks.RuleTensor) and mask.shape == wanted.shape
    assert torch.equal(mask & True, wanted)
    if function in KNOWN:
        assert mask.rule.table is None, "a table was made of a mask that has a rule"


def test_a_function_that_is_traced_through_vmap_is_evaluated():
    problem = {"batch_size": 2, "q_length": 5, "kv_length": 7, "q_offset": 2, "use_vmap": True}
    problem["mask_function"] = lambda b, h, q, k: (k <= q) | (k == 6)
    wanted = masking_utils.sdpa_mask(**problem, allow_is_causal_skip=False)
    assert torch.equal(masks.mask_function(**problem) & True, wanted)


def test_a_window_of_transformers_is_one_shorter_than_its_number():
    mask = masks.mask_function(1, 9, 9, mask_function=masking_utils.sliding_window_causal_mask_function(4)).rule.mask
    assert (mask.table(9, 9) == (at.causal() & at.window(3, 0)).table(9, 9)).all()


def test_what_needs_no_mask_gets_none():
    options = {"mask_function": masking_utils.bidirectional_mask_function, "allow_is_bidirectional_skip": True}
    assert masks.mask_function(2, 5, 5, **options) is None
    assert masks.mask_function(2, 5, 5, attention_mask=torch.ones(2, 5, dtype=torch.bool), **options) is None
    padded = torch.ones(2, 5, dtype=torch.bool)
    padded[0, 3:] = False
    assert masks.mask_function(2, 5, 5, attention_mask=padded, **options) is not None


def test_a_mask_takes_no_memory():
    mask = masks.mask_function(2, 3000, 3000)
    with torch._C.DisableTorchFunctionSubclass():
        assert mask.untyped_storage().nbytes() == 1
    assert mask.shape == (2, 1, 3000, 3000) and mask.dtype is torch.bool and mask.device.type == "cpu"
    assert repr(mask) == "RuleTensor('causal', shape=[2, 1, 3000, 3000])"
    for same in (mask.detach(), mask.contiguous(), mask.to("cpu"), mask.to(torch.bool), mask.to(mask)):
        assert same.rule is mask.rule


def test_operations_on_a_mask_use_the_table():
    mask = masks.mask_function(1, 4, 4)
    table = torch.ones(4, 4).tril().bool()
    assert torch.equal(~mask, ~table[None, None])
    assert torch.equal(mask[0, 0, 1:, :3], table[1:, :3])
    assert torch.equal(torch.where(mask, 1.5, -1.0)[0, 0], torch.where(table, 1.5, -1.0))
    assert torch.equal(mask.expand(2, 3, 4, 4)[1, 2], table)
    assert mask.all().item() is False


@pytest.mark.parametrize(
    "use",
    [
        lambda mask: mask + torch.zeros(4, 4),
        lambda mask: torch.zeros(4, 4) + mask,
        lambda mask: mask * -1e9,
        lambda mask: mask.to(torch.float32),
        lambda mask: mask[:, :, :, :3] + torch.zeros(4, 3),
    ],
)
def test_a_mask_cannot_be_used_as_a_number(use):
    with pytest.raises(RuntimeError, match="as with numbers"):
        use(masks.mask_function(1, 4, 4))


def test_a_mask_that_lost_its_rule_is_an_error():
    model = family("llama")
    model.set_attn_implementation("attnscope")
    texts = batch(model, "none")
    mask = masks.mask_function(3, 14, 14)
    with torch._C.DisableTorchFunctionSubclass():
        lost = mask.as_subclass(torch.Tensor).view(mask.shape)
    with pytest.raises(RuntimeError, match="lost its rule"):
        model(input_ids=texts.inputs["input_ids"], attention_mask=lost)


def test_a_mask_for_other_sizes_is_an_error():
    model = family("llama")
    model.set_attn_implementation("attnscope")
    ids = batch(model, "none").inputs["input_ids"]
    with pytest.raises(ValueError, match="3 sequences of 14 queries and 15 keys, but there are 3 of 14 and 14"):
        model(input_ids=ids, attention_mask=masks.mask_function(3, 14, 15, q_offset=1))
    with pytest.raises(ValueError, match="attention_mask has the shape"):
        model(input_ids=ids, attention_mask=torch.ones(3, 1, 13, 14, dtype=torch.bool))


@pytest.mark.parametrize(("name", "rules"), [("llama", 1), ("gemma2", 2), ("t5", 3)])
def test_a_mask_is_compiled_once_per_pass_and_not_per_layer(name, rules, monkeypatch):
    made, plan = [], masks._masks.plan

    def count(*arguments):
        made.append(arguments[1:])
        return plan(*arguments)

    monkeypatch.setattr(masks._masks, "plan", count)
    model = family(name)
    run(model, "attnscope", batch(model, "left").inputs)
    assert len(made) == rules


def test_t5s_bias_is_read_once_per_pass_and_by_distance(monkeypatch):
    made, by_distance = [], at.transformers.by_distance

    def count(bias):
        made.append(by_distance(bias))
        return made[-1]

    monkeypatch.setattr(at.transformers, "by_distance", count)
    model = family("t5")
    run(model, "attnscope", batch(model, "none").inputs)
    tables = [bias for bias in made if bias is not None]
    assert len(made) == 3, "encoder, decoder and the zeros of cross-attention"
    assert sorted(tuple(bias.table.shape) for bias in tables) == [(4, 17), (4, 27)]


def test_a_bias_that_is_not_by_distance_is_added_as_it_is():
    bias = torch.randn(1, 2, 5, 6)
    assert torch.equal(at.transformers.by_distance(bias), bias)
    steps = torch.arange(6.0) - torch.arange(5.0)[:, None]
    assert at.transformers.by_distance(steps[None, None]).table.tolist() == [list(range(-4, 6))]


OWN_ATTENTION = {
    "mpnet": lambda: transformers.MPNetConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=97
    ),
    "bloom": lambda: transformers.BloomConfig(hidden_size=32, n_layer=1, n_head=2, vocab_size=97),
    "mpt": lambda: transformers.MptConfig(d_model=32, n_heads=2, n_layers=1, vocab_size=97),
}


@pytest.mark.parametrize("name", OWN_ATTENTION)
def test_a_model_with_its_own_attention_is_rejected(name):
    config = OWN_ATTENTION[name]()
    model = transformers.AutoModel.from_config(config, attn_implementation="attnscope").eval()
    real = torch.tensor([[1, 1, 1, 0]])
    with pytest.raises(ValueError, match="does not compute its attention through transformers' AttentionInterface"):
        model(input_ids=torch.tensor([[5, 6, 7, 8]]), attention_mask=real)


def test_a_model_that_does_not_say_causal_itself_is_asked():
    """Where a model passes no mask, is_causal decides, as with sdpa."""
    q = torch.randn(1, 2, 6, 8, generator=torch.Generator().manual_seed(0))
    out, _ = at.transformers.attention_forward(torch.nn.Identity(), q, q, q, None, is_causal=True)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2)
    assert (out - wanted).abs().max() < 1e-5
    out, _ = at.transformers.attention_forward(torch.nn.Identity(), q, q, q, None, is_causal=False)
    assert (out - torch.nn.functional.scaled_dot_product_attention(q, q, q).transpose(1, 2)).abs().max() < 1e-5


def test_unsupported_arguments_are_rejected():
    q = torch.randn(1, 2, 6, 8)
    with pytest.raises(NotImplementedError, match="Identity passes block_indices"):
        at.transformers.attention_forward(torch.nn.Identity(), q, q, q, None, block_indices=torch.ones(1))


def test_torch_compile_of_a_model_gives_the_same():
    model = random_model(FAMILIES["llama"]())
    texts = batch(model, "left")
    wanted = result(run(model, "eager", texts.inputs))
    model.set_attn_implementation("attnscope")
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        ours = result(compiled(**texts.inputs))
    assert (ours - wanted)[texts.shown].abs().max() < 1e-4
