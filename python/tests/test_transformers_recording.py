"""Tests that recordings by at.record() have the weights of eager attention."""

import os
import pathlib
import subprocess
import sys
import threading

import attnscope as at
import numpy as np
import pytest
from hf_models import (
    DECODERS,
    FAMILIES,
    OTHERS,
    PADDINGS,
    TOKENS,
    WRITERS,
    attentions,
    batch,
    family,
    random_model,
    record,
    run,
    torch,
    transformers,
)


def assert_weights(rec, tables, rows):
    """rows: the tokens of each text, by kind rows and columns."""
    for b, text in enumerate(rec):
        assert text.kinds == list(tables)
        for kind, layers in tables.items():
            down, across = rows(kind, b)
            for layer, table in enumerate(layers):
                wanted = table[b].numpy()[:, down][:, :, across]
                off = np.abs(text.weights(layer=layer, kind=kind) - wanted).max()
                assert off < 1e-5, f"text {b}, {kind} layer {layer}: {off}"


def rows_of(texts):
    everything = np.arange(texts.shown.shape[1])

    def rows(kind, b):
        own = texts.rows(b)
        return {"self": (own, own), "decoder": (everything, everything), "cross": (everything, own)}[kind]

    return rows


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_match_eager_and_padding_is_removed(name, padding):
    model = family(name)
    texts = batch(model, padding)
    wanted = attentions(run(model, "eager", texts.inputs, output_attentions=True))
    rec = record(model, texts.inputs)
    assert model.config._attn_implementation == "eager", "not switched back"
    assert len(rec) == 3 and rec.shape == rec[0].shape
    assert [text.shape[2] for text in rec] == [len(texts.rows(b)) for b in range(3)]
    assert [text.tokens for text in rec] == [
        [f"#{i}" for i in texts.inputs["input_ids"][b][texts.real[b]].tolist()] for b in range(3)
    ]
    assert_weights(rec, wanted, rows_of(texts))


@pytest.mark.parametrize("name", WRITERS)
def test_what_generate_wrote_is_recorded_as_one_text(name):
    model = family(name)
    texts = batch(model, "left")
    ids, real = texts.inputs["input_ids"], texts.inputs["attention_mask"]
    with at.record(model) as rec:
        written = model.generate(input_ids=ids, attention_mask=real, max_new_tokens=7, do_sample=False)
    read, paired = written[:, :-1], model.config.is_encoder_decoder
    if paired:
        again = {"input_ids": ids, "attention_mask": real, "decoder_input_ids": read}
        texts.shown = torch.ones_like(read, dtype=torch.bool)
    else:
        texts.real = torch.cat((real, torch.ones(3, 6, dtype=real.dtype)), dim=1).bool()
        texts.shown = texts.real
        again = {"input_ids": read, "attention_mask": texts.real.long()}
        again["position_ids"] = (texts.real.long().cumsum(1) - 1).clamp(min=0)
    assert len(rec) == 3
    assert_weights(rec, attentions(run(model, "eager", again, output_attentions=True)), rows_of(texts))
    assert rec[1].queries("decoder" if paired else "self")[-1] == f"#{read[1, -1]}"


@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_a_static_cache_is_recorded_too(name):
    model = family(name)
    texts = batch(model, "left")
    inputs = {key: texts.inputs[key] for key in ("input_ids", "attention_mask")}
    recordings = []
    for cache in ({}, {"cache_implementation": "static"}):
        with at.record(model) as rec:
            model.generate(**inputs, max_new_tokens=5, do_sample=False, **cache)
        recordings.append(rec)
    for text, same in zip(*recordings):
        assert text.shape == same.shape and text.tokens == same.tokens
        assert np.abs(text.weights() - same.weights()).max() < 1e-5


@pytest.mark.parametrize("name", ["bert", "gpt2", "mistral"])
def test_padding_between_tokens_is_taken_out_as_well(name):
    model = family(name)
    texts = batch(model, "none")
    texts.real[0, 5:7] = False
    inputs = {"input_ids": texts.inputs["input_ids"], "attention_mask": texts.real.long()}
    wanted = attentions(run(model, "eager", inputs, output_attentions=True))
    assert_weights(record(model, inputs), wanted, rows_of(texts))


MASKS = {
    "modernbert": {"everything", "window(3)"},
    "gpt_oss": {"causal", "causal & window(4,0)"},
    "albert": {"everything"},
    "deepseek_v3": {"causal"},
    "gemma2": {"causal", "causal & window(4,0)"},
    "t5": {"everything"},
}


@pytest.mark.parametrize("name", [*OTHERS, "gemma2", "t5"])
def test_a_recording_comes_back_from_its_file(name, tmp_path):
    model = random_model(OTHERS[name](), kind=transformers.AutoModel) if name in OTHERS else family(name)
    texts = batch(model, "left")
    wanted = attentions(run(model, "eager", texts.inputs, output_attentions=True))
    rec = record(model, texts.inputs)
    assert_weights(rec, wanted, rows_of(texts))
    rec[0].save(tmp_path / "x.attn")
    again = at.open(tmp_path / "x.attn")
    assert again.tokens == rec.tokens and again.kinds == rec.kinds
    for kind in rec.kinds:
        assert np.array_equal(again.weights(kind=kind), rec.weights(kind=kind))
    if name in MASKS:
        found = {rec.trace(layer, 0, 0, 0)["mask"] for layer in range(rec.layers)}
        assert found == MASKS[name]
    assert rec.statistics() is not None


def test_the_trace_of_gemma_2_has_the_numbers_of_its_layers():
    """Against scores that are computed here from what transformers' own modules give."""
    model = family("gemma2")
    texts = batch(model, "none")
    rec = record(model, texts.inputs)
    attention, caught = model.model.layers[1].self_attn, {}
    hook = attention.register_forward_pre_hook(lambda _, args, kwargs: caught.update(kwargs), with_kwargs=True)
    run(model, "eager", texts.inputs)
    hook.remove()
    with torch.no_grad():
        x = caught["hidden_states"][:1]
        q = attention.q_proj(x).view(1, TOKENS, 4, 16).transpose(1, 2)
        k = attention.k_proj(x).view(1, TOKENS, 2, 16).transpose(1, 2)
        turn = transformers.models.gemma2.modeling_gemma2.apply_rotary_pos_emb
        cosine, sine = (part[:1] for part in caught["position_embeddings"])
        q, k = turn(q, k, cosine, sine)
    trace = rec.trace(layer=1, head=3, query=9, key=4)
    dot = float(q[0, 3, 9] @ k[0, 1, 4])
    assert trace["dot"] == pytest.approx(dot, abs=1e-4)
    assert trace["softcap"] == 2.0 and trace["scale"] == pytest.approx(16**-0.5)
    assert trace["score"] == pytest.approx(2.0 * np.tanh(dot * 16**-0.5 / 2.0), abs=1e-5)
    assert trace["weight"] == pytest.approx(float(rec.weights(1, 3)[9, 4]), abs=1e-6)


def test_t5s_trace_has_its_bias():
    model = family("t5")
    rec = record(model, batch(model, "none").inputs)
    attention = model.encoder.block[0].layer[0].SelfAttention
    wanted = attention.compute_bias(TOKENS, TOKENS)[0, 2, 9, 4].item()
    assert rec.trace(layer=1, head=2, query=9, key=4)["bias"] == pytest.approx(wanted, abs=1e-6)


def test_values_are_kept_on_request():
    model = family("llama")
    with at.record(model, values=True) as rec, torch.no_grad():
        model(**batch(model, "left").inputs)
    assert len(rec.trace(layer=2, head=1, query=5)["v"]) == 16
    assert record(model, batch(model, "left").inputs).trace(layer=2, head=1, query=5)["v"] is None


def test_texts_of_several_calls_follow_one_another():
    model = family("llama")
    calls = [torch.tensor([[5, 6, 7]]), torch.tensor([[8, 9], [10, 11]]), torch.tensor([[12, 13, 14, 15]])]
    with at.record(model) as rec, torch.no_grad():
        for ids in calls:
            model(input_ids=ids)
    assert [text.tokens for text in rec] == [
        ["#5", "#6", "#7"], ["#8", "#9"], ["#10", "#11"], ["#12", "#13", "#14", "#15"]
    ]  # fmt: skip
    wanted = run(model, "eager", {"input_ids": calls[2]}, output_attentions=True).attentions[2][0].numpy()
    assert np.abs(rec[3].weights(layer=2) - wanted).max() < 1e-5
    assert np.abs(rec[-1].weights(layer=2) - wanted).max() < 1e-5
    with pytest.raises(IndexError, match="there is no text 4: 4 were recorded"):
        rec[4]


@pytest.mark.parametrize(("name", "mask"), [("llama", "causal & document("), ("mistral", "table(")])
def test_texts_packed_into_one_are_recorded_as_such(name, mask):
    model = family(name)
    ids = batch(model, "none").inputs["input_ids"][:2]
    places = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
    inputs = {"input_ids": ids, "position_ids": places, "use_cache": False}
    wanted = run(model, "eager", inputs, output_attentions=True).attentions
    rec = record(model, inputs)
    for b in range(2):
        for layer, table in enumerate(wanted):
            assert np.abs(rec[b].weights(layer=layer) - table[b].numpy()).max() < 1e-5
        assert rec[b].trace(0, 0, 5, 1)["mask"].startswith(mask)
    assert rec.weights(layer=0)[:, 8:, :8].max() == 0


def test_two_models_are_recorded_side_by_side():
    one, other = family("llama"), family("bert")
    with at.record(one) as first, at.record(other) as second, torch.no_grad():
        one(input_ids=torch.tensor([[5, 6, 7]]))
        other(input_ids=torch.tensor([[5, 6]]))
    assert first.tokens == ["#5", "#6", "#7"] and second.tokens == ["#5", "#6"]
    assert first.shape == (3, 4, 3, 3) and second.shape == (3, 4, 2, 2)


def test_a_model_may_write_in_another_thread():
    model = family("llama")
    inputs = {"input_ids": torch.tensor([[5, 6, 7]]), "max_new_tokens": 4, "do_sample": False}
    with at.record(model) as rec:
        writer = threading.Thread(target=model.generate, kwargs=inputs)
        writer.start()
        writer.join()
    assert len(rec) == 1 and rec.shape == (3, 4, 6, 6)


def test_several_targets_may_share_a_source():
    model = family("t5")
    texts = batch(model, "right")
    ids, real = texts.inputs["input_ids"][:1], texts.inputs["attention_mask"][:1]
    options = {"max_new_tokens": 5, "do_sample": True, "num_return_sequences": 2}
    torch.manual_seed(4)
    with at.record(model) as rec:
        written = model.generate(input_ids=ids, attention_mask=real, **options)
    assert len(rec) == 2
    for b, text in enumerate(rec):
        again = {"input_ids": ids, "attention_mask": real, "decoder_input_ids": written[b : b + 1, :-1]}
        wanted = attentions(run(model, "eager", again, output_attentions=True))
        own = texts.rows(0)
        assert np.abs(text.weights(kind="cross") - np.stack([t[0][:, :, own] for t in wanted["cross"]])).max() < 1e-5
        assert np.abs(text.weights(kind="decoder") - np.stack([t[0] for t in wanted["decoder"]])).max() < 1e-5


def test_rows_of_a_decoder_are_called_by_what_they_write():
    model = family("t5")
    ids = batch(model, "none").inputs["input_ids"]
    labels = ids[:, :6].clone()
    rec = record(model, {"input_ids": ids, "labels": labels})
    assert rec[1].queries("cross") == [f"#{i}" for i in labels[1].tolist()]
    assert rec[1].queries("decoder") == ["#0", *(f"#{i}" for i in labels[1, :-1].tolist())]
    rec = record(model, {"input_ids": ids, "decoder_input_ids": ids[:, :3]})
    assert rec.queries("cross") == [*(f"#{i}" for i in ids[0, 1:3].tolist()), "?"]


def test_a_model_may_be_given_no_ids():
    model = family("llama")
    rec = record(model, {"inputs_embeds": torch.randn(1, 5, 64)})
    assert rec.tokens == ["0", "1", "2", "3", "4"]


def test_a_table_as_mask_is_recorded_unless_it_adds_to_the_scores():
    model = family("llama")
    ids = batch(model, "none").inputs["input_ids"]
    table = torch.ones(TOKENS, TOKENS).tril().bool().expand(3, 1, TOKENS, TOKENS).clone()
    assert record(model, {"input_ids": ids, "attention_mask": table}).trace(0, 0, 5, 1)["mask"] == "causal"
    table[1, :, 8:, 2] = False
    inputs = {"input_ids": ids, "attention_mask": torch.where(table, 0.0, torch.finfo(torch.float32).min)}
    wanted = run(model, "eager", inputs, output_attentions=True).attentions
    rec = record(model, {"input_ids": ids, "attention_mask": table})
    assert np.abs(rec[1].weights(layer=1) - wanted[1][1].numpy()).max() < 1e-5
    with pytest.raises(ValueError, match="adds numbers to the scores"):
        record(model, {"input_ids": ids, "attention_mask": inputs["attention_mask"] + 0.5 * table})


def test_training_with_gradient_checkpointing_is_recorded_once():
    model = family("llama").train()
    texts = batch(model, "none")
    wanted = run(model, "eager", texts.inputs, output_attentions=True).attentions
    model.gradient_checkpointing_enable({"use_reentrant": False})
    with at.record(model) as rec:
        model(**texts.inputs, use_cache=False).logits.square().mean().backward()
    assert len(rec) == 3 and rec.layers == 3
    assert np.abs(rec[2].weights(layer=1) - wanted[1][2].numpy()).max() < 1e-5


def small_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "play", "##ing", "sat", ".", "on", "mat"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def test_a_tokenizer_names_the_tokens_and_knows_words():
    tokenizer, model = small_tokenizer(), family("bert")
    inputs = tokenizer(["the cat playing .", "the cat"], return_tensors="pt", padding=True)
    with at.record(model, tokenizer) as rec, torch.no_grad():
        model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    assert rec.tokens == ["[CLS]", "the", "cat", "play", "##ing", ".", "[SEP]"]
    assert rec[1].tokens == ["[CLS]", "the", "cat", "[SEP]"]
    assert rec.words().tokens == ["[CLS]", "the", "cat", "playing", ".", "[SEP]"]
    assert "cat" in rec.text


def test_one_of_two_stacks_is_recorded_by_its_own_name():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.CLIPConfig(
        text_config={**sizes, "vocab_size": 97, "max_position_embeddings": 20},
        vision_config={**sizes, "image_size": 16, "patch_size": 8},
    )
    model = random_model(config, kind=transformers.AutoModel)
    inputs = {"input_ids": torch.tensor([[5, 6, 7]]), "pixel_values": torch.randn(1, 3, 16, 16)}
    with pytest.raises(ValueError, match="several stacks of self attention"):
        record(model, inputs)
    wanted = run(model, "eager", inputs, output_attentions=True)
    for part, shown in (("text_model", "text_model_output"), ("vision_model", "vision_model_output")):
        with at.record(getattr(model, part)) as rec, torch.no_grad():
            model(**inputs)
        assert np.abs(rec.weights(layer=1) - wanted[shown].attentions[1][0].numpy()).max() < 1e-5


MEMORY = """
import re, torch, transformers, attnscope as at
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
config = transformers.BertConfig(hidden_size=96, intermediate_size=96, num_hidden_layers=12, num_attention_heads=12,
                                 vocab_size=97, max_position_embeddings=2048)
model = transformers.AutoModel.from_config(config).eval()
with at.record(model), torch.inference_mode():
    model(input_ids=torch.ones(1, 8, dtype=torch.long))
before = peak()
with at.record(model) as rec, torch.inference_mode():
    model(input_ids=torch.arange(2048)[None] % 97)
print(*rec.shape, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_with_the_text_and_not_with_its_square():
    """12 x 12 heads of 2,048 tokens are 2,304 MB as tables."""
    folder = str(pathlib.Path(at.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *shape, megabytes = done.stdout.split()
    assert shape == ["12", "12", "2048", "2048"]
    assert float(megabytes) < 100


@pytest.mark.parametrize("name", DECODERS)
def test_a_text_that_comes_in_pieces_is_one_text(name):
    model = family(name)
    ids = batch(model, "none").inputs["input_ids"][:1]
    wanted = run(model, "eager", {"input_ids": ids}, output_attentions=True).attentions
    with at.record(model) as rec, torch.no_grad():
        cache = model(input_ids=ids[:, :5], use_cache=True).past_key_values
        cache = model(input_ids=ids[:, 5:6], past_key_values=cache, use_cache=True).past_key_values
        model(input_ids=ids[:, 6:], past_key_values=cache, use_cache=True)
    assert len(rec) == 1 and rec.shape[2] == TOKENS
    for layer, table in enumerate(wanted):
        assert np.abs(rec.weights(layer=layer) - table[0].numpy()).max() < 1e-5
