"""Compares transformers models on attnscope's kernels with eager attention."""

import attnscope as at
import pytest
from hf_models import (
    DECODERS,
    FAMILIES,
    OTHERS,
    PADDINGS,
    TOKENS,
    VOCABULARY,
    WRITERS,
    attentions,
    batch,
    family,
    random_model,
    result,
    run,
    torch,
    transformers,
)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_and_weights_match_eager(name, padding):
    model = family(name)
    texts = batch(model, padding)
    eager = run(model, "eager", texts.inputs, output_attentions=True)
    plain = run(model, "attnscope", texts.inputs)
    shown = run(model, "attnscope", texts.inputs, output_attentions=True)
    for ours in (plain, shown):
        off = (result(ours) - result(eager))[texts.shown].abs().max()
        assert off < 1e-4, f"{name}, {padding} padding: {off}"
    assert plain.get("attentions") is None and plain.get("encoder_attentions") is None
    for kind, tables in attentions(eager).items():
        rows = texts.real if kind == "self" else texts.shown
        for layer, (theirs, ours) in enumerate(zip(tables, attentions(shown)[kind])):
            assert ours.shape == theirs.shape
            off = (ours - theirs).transpose(1, 2)[rows].abs().max()
            assert off < 1e-5, f"{kind} layer {layer}: {off}"
            hidden = ~texts.real if kind != "decoder" else torch.zeros_like(texts.shown)
            assert (ours.permute(0, 3, 1, 2)[hidden] == 0).all(), "padding has weight"


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("name", FAMILIES)
def test_padding_has_no_influence_at_all(name, padding):
    model = family(name)
    texts = batch(model, padding)
    before = result(run(model, "attnscope", texts.inputs))[texts.shown]
    texts.inputs["input_ids"] = torch.where(texts.real, texts.inputs["input_ids"], 5)
    assert torch.equal(before, result(run(model, "attnscope", texts.inputs))[texts.shown])
    assert (texts.inputs["input_ids"][~texts.real] == 5).all()


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "top_k": 5}, {"num_beams": 3}], ids=str)
@pytest.mark.parametrize("name", WRITERS)
def test_generate_matches_eager(name, options):
    model = family(name)
    inputs = {key: batch(model, "left").inputs[key] for key in ("input_ids", "attention_mask")}
    written = []
    for implementation in ("eager", "attnscope"):
        model.set_attn_implementation(implementation)
        torch.manual_seed(5)
        written.append(model.generate(**inputs, max_new_tokens=6, **{"do_sample": False, **options}))
    assert torch.equal(*written)


@pytest.mark.parametrize("name", WRITERS)
def test_a_static_cache_gives_the_same(name):
    model = family(name)
    inputs = {key: batch(model, "left").inputs[key] for key in ("input_ids", "attention_mask")}
    options = {"max_new_tokens": 4, "do_sample": False}
    model.set_attn_implementation("eager")
    wanted = model.generate(**inputs, **options)
    model.set_attn_implementation("attnscope")
    assert torch.equal(wanted, model.generate(**inputs, **options, cache_implementation="static"))


@pytest.mark.parametrize("name", DECODERS)
def test_a_text_that_comes_in_pieces_gives_what_the_whole_gives(name):
    model = family(name)
    texts = batch(model, "left")
    ids, real = texts.inputs["input_ids"], texts.inputs["attention_mask"]
    places = (real.cumsum(1) - 1).clamp(min=0)
    whole = result(run(model, "eager", texts.inputs, position_ids=places))
    cache, begin = None, 0
    for end in (5, 6, 11, TOKENS):
        part = {"input_ids": ids[:, begin:end], "attention_mask": real[:, :end], "position_ids": places[:, begin:end]}
        out = run(model, "attnscope", part, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        off = (result(out) - whole[:, begin:end])[texts.real[:, begin:end]].abs().max()
        assert off < 1e-4, f"tokens {begin} to {end}: {off}"
        begin = end


def gradients(model, implementation, texts, weights_too):
    model.set_attn_implementation(implementation)
    model.zero_grad()
    out = model(**texts.inputs, output_attentions=weights_too, use_cache=False)
    loss = result(out)[texts.shown].square().mean()
    if weights_too:
        loss = loss + sum(table.transpose(1, 2)[texts.real].square().sum() for table in attentions(out)["self"])
    loss.backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def assert_gradients_agree(ours, theirs):
    assert ours.keys() == theirs.keys()
    largest = max(gradient.abs().max() for gradient in theirs.values())
    for name in theirs:
        off = (ours[name] - theirs[name]).abs().max() / largest
        assert off < 1e-4, f"{name}: {off}"


@pytest.mark.parametrize("weights_too", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_match_eager(name, weights_too):
    model = family(name).train()
    texts = batch(model, "right")
    wanted = gradients(model, "eager", texts, weights_too)
    assert_gradients_agree(gradients(model, "attnscope", texts, weights_too), wanted)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", ["bert", "t5", "llama", "gemma2"])
def test_gradient_checkpointing_gives_the_same_gradients(name, reentrant):
    model = family(name).train()
    texts = batch(model, "left")
    wanted = gradients(model, "eager", texts, False)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    assert_gradients_agree(gradients(model, "attnscope", texts, False), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_sixteen_bit_models_are_no_farther_from_the_truth_than_eager(name, dtype):
    model = family(name)
    texts = batch(model, "right")
    truth = result(run(model, "eager", texts.inputs))[texts.shown]
    model.to(dtype)
    eager, ours = (result(run(model, which, texts.inputs))[texts.shown] for which in ("eager", "attnscope"))
    assert ours.dtype is dtype
    far = (eager.float() - truth).abs().mean()
    assert (ours.float() - truth).abs().mean() < 1.25 * far + 1e-6


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "gemma2"])
def test_a_table_as_attention_mask_is_taken_as_it_is(name, floats):
    model = family(name)
    texts = batch(model, "left")
    table = torch.ones(TOKENS, TOKENS).tril().bool() & texts.real[:, None, None, :]
    table[..., 7:, 2] = False
    added = torch.where(table, 0.0, torch.finfo(torch.float32).min)
    ids = texts.inputs["input_ids"]
    wanted = result(run(model, "eager", {"input_ids": ids, "attention_mask": added}))
    ours = result(run(model, "attnscope", {"input_ids": ids, "attention_mask": added if floats else table}))
    assert (ours - wanted)[texts.shown].abs().max() < 1e-4


def test_numbers_in_a_table_are_added_to_the_scores():
    model = family("llama")
    texts = batch(model, "none")
    torch.manual_seed(3)
    table = torch.where(torch.ones(TOKENS, TOKENS).tril().bool(), torch.randn(3, 1, TOKENS, TOKENS), -torch.inf)
    inputs = {"input_ids": texts.inputs["input_ids"], "attention_mask": table}
    assert (result(run(model, "attnscope", inputs)) - result(run(model, "eager", inputs))).abs().max() < 1e-4


@pytest.mark.parametrize("never", [None, -torch.inf, torch.finfo(torch.float32).min], ids=str)
def test_weights_of_rows_that_see_nothing_are_zeros(never):
    """With gradients, as without."""
    model = family("llama")
    texts = batch(model, "left")
    if never is not None:
        table = torch.ones(TOKENS, TOKENS).tril().bool() & texts.real[:, None, None, :]
        texts.inputs["attention_mask"] = torch.where(table, 0.0, never)
    wanted = run(model, "attnscope", texts.inputs, output_attentions=True).attentions
    shown = model(**texts.inputs, output_attentions=True).attentions
    for theirs, ours in zip(wanted, shown):
        assert ours.requires_grad and (ours - theirs).abs().max() < 1e-5
        assert not ours[0, :, :4].any()
    sum(table.square().sum() for table in shown).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_a_mask_that_is_learned_has_a_gradient():
    model = family("llama").train()
    ids = batch(model, "none").inputs["input_ids"]
    forbidden = torch.full((TOKENS, TOKENS), -torch.inf).triu(1)
    found = []
    for implementation in ("eager", "attnscope"):
        torch.manual_seed(3)
        learned = torch.randn(3, 1, TOKENS, TOKENS, requires_grad=True)
        model.set_attn_implementation(implementation)
        result(model(input_ids=ids, attention_mask=learned + forbidden)).square().mean().backward()
        found.append(learned.grad)
    assert found[0].abs().max() > 1e-4
    assert (found[1] - found[0]).abs().max() < 1e-4 * found[0].abs().max()


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_texts_packed_into_one_do_not_see_each_other(name):
    model = family(name)
    ids = batch(model, "none").inputs["input_ids"][:1]
    places = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5]])
    inputs = {"input_ids": ids, "position_ids": places, "use_cache": False}
    packed = result(run(model, "attnscope", inputs))
    assert (packed - result(run(model, "eager", inputs))).abs().max() < 1e-4
    alone = result(run(model, "attnscope", {"input_ids": ids[:, 8:]}))
    assert (packed[:, 8:] - alone).abs().max() < 1e-4


def test_dropout_is_that_of_torchs_seed_and_gone_in_evaluation():
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4, vocab_size=VOCABULARY
    )
    model = random_model(config).train()
    model.set_attn_implementation("attnscope")
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.5
    ids = batch(model, "none").inputs["input_ids"]

    def logits(seed):
        torch.manual_seed(seed)
        return model(input_ids=ids).logits

    assert torch.equal(logits(1), logits(1))
    assert not torch.equal(logits(1), logits(2))
    model.eval()
    assert torch.equal(logits(1), logits(2))


@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma2", "mistral"])
def test_heads_that_share_keys_are_not_given_copies_of_them(name, monkeypatch):
    seen, attention = [], at.torch.attention

    def watch(q, k, v, **options):
        seen.append((q.shape[1], k.shape[1], v.shape[1]))
        return attention(q, k, v, **options)

    monkeypatch.setattr(at.torch, "attention", watch)
    model = family(name)
    run(model, "attnscope", batch(model, "none").inputs)
    assert seen == [(4, 2, 2)] * 3


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_rules_of_other_families_are_those_of_eager(name, padding):
    model = random_model(OTHERS[name](), kind=transformers.AutoModel)
    texts = batch(model, padding)
    eager = run(model, "eager", texts.inputs, output_attentions=True)
    ours = run(model, "attnscope", texts.inputs, output_attentions=True)
    assert (result(ours) - result(eager))[texts.shown].abs().max() < 1e-4
    for theirs, table in zip(attentions(eager)["self"], attentions(ours)["self"]):
        assert (table - theirs).transpose(1, 2)[texts.real].abs().max() < 1e-5


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "t5"])
def test_a_model_is_compiled_as_one_graph(name):
    config = FAMILIES[name]()
    config.num_hidden_layers = config.num_decoder_layers = 1
    model = random_model(config, spread=0.08)
    texts = batch(model, "left")
    learned = [p for p in model.parameters() if p.requires_grad]
    wanted = result(run(model, "eager", texts.inputs))
    model.set_attn_implementation("attnscope")
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    found = [result(call(**texts.inputs))[texts.shown] for call in (compiled, model)]
    assert (found[0] - wanted[texts.shown]).abs().max() < 1e-4
    gradients = [torch.autograd.grad(out.sin().sum(), learned, materialize_grads=True) for out in found]
    for ours, same in zip(*gradients):
        assert (ours - same).abs().max() < 1e-4 * max(1.0, float(same.abs().max()))


def test_registering_twice_is_registering_once():
    at.transformers.register()
    at.transformers.register()
    config = FAMILIES["llama"]()
    model = transformers.AutoModel.from_config(config, attn_implementation="attnscope")
    assert model.config._attn_implementation == "attnscope"
