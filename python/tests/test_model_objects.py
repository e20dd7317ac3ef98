"""Tests models against transformers, which loads the same folders."""

import pathlib
import pickle

import attnscope as at
import numpy as np
import pytest

FOLDERS = pathlib.Path(__file__).resolve().parents[2] / "models"
ENGLISH = "The film was great and the actors were wonderful, but the ending was weak."


def theirs(name, kind="AutoModel"):
    """The same model, run by transformers."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDERS / name)
    model = getattr(transformers, kind).from_pretrained(FOLDERS / name, attn_implementation="eager").float().eval()
    return tokenizer, model


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt", "imdb-sentiment"])
def test_weights_match_transformers(name, torch):
    tokenizer, model = theirs(name)
    with torch.no_grad():
        wanted = model(**tokenizer(ENGLISH, return_tensors="pt"), output_attentions=True)
    rec = at.load(name).record(ENGLISH, hidden=True)
    got = rec.weights()
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, np.stack([layer[0].numpy() for layer in wanted.attentions]), atol=2e-5)
    np.testing.assert_allclose(rec.hidden(-1), wanted.last_hidden_state[0].numpy(), atol=2e-3)


def test_all_kinds_of_an_encoder_decoder_match_transformers(torch):
    tokenizer, model = theirs("tiny-translate", "AutoModelForSeq2SeqLM")
    rec = at.load("tiny-translate").record("I love you")
    said = model.generate(**tokenizer("I love you", return_tensors="pt"), max_new_tokens=20)
    assert rec.target == tokenizer.decode(said[0], skip_special_tokens=True).replace(" ", "")
    with torch.no_grad():
        wanted = model(
            **tokenizer("I love you", return_tensors="pt"), decoder_input_ids=said[:, :-1], output_attentions=True
        )
    for kind, tables in (
        ("self", wanted.encoder_attentions),
        ("decoder", wanted.decoder_attentions),
        ("cross", wanted.cross_attentions),
    ):
        np.testing.assert_allclose(rec.weights(kind=kind), np.stack([t[0].numpy() for t in tables]), atol=2e-5)
    assert rec.keys("cross") == rec.tokens
    assert rec.queries("cross")[:-1] == rec.queries("decoder")[1:]


def test_facts_match_the_config(torch):
    _, model = theirs("tiny-bert", "AutoModelForMaskedLM")
    ours = at.load("tiny-bert")
    assert (ours.layers, ours.heads, ours.width, ours.vocabulary, ours.max_tokens, ours.type) == (
        model.config.num_hidden_layers,
        model.config.num_attention_heads,
        model.config.hidden_size,
        model.config.vocab_size,
        model.config.max_position_embeddings,
        model.config.model_type,
    )
    assert ours.parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("pair", [None, "It was dull."])
def test_tokens_match_transformers(pair):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDERS / "tiny-bert")
    wanted = tokenizer(ENGLISH, pair, return_offsets_mapping=True)
    ours = at.load("tiny-bert").tokenize(ENGLISH, pair)
    assert [token.id for token in ours] == wanted["input_ids"]
    assert [token.piece for token in ours] == tokenizer.convert_ids_to_tokens(wanted["input_ids"])
    assert [token.span for token in ours] == [tuple(span) for span in wanted["offset_mapping"]]
    assert [token.sequence for token in ours] == wanted["token_type_ids"]
    assert [token.special for token in ours] == [word is None for word in wanted.word_ids()]
    bare = at.load("tiny-bert").tokenize(ENGLISH, bare=True)
    assert [token.id for token in bare] == tokenizer(ENGLISH, add_special_tokens=False)["input_ids"]


def test_filled_gaps_match_transformers(torch):
    tokenizer, model = theirs("tiny-bert", "AutoModelForMaskedLM")
    text = "The [MASK] was great and the [MASK] were wonderful."
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    places = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    filled = at.load("tiny-bert").fill(text, top=4)
    assert [mask["token"] for mask in filled["masks"]] == places
    for mask, place in zip(filled["masks"], places):
        best = logits[place].double().softmax(-1).topk(4)
        assert [word["id"] for word in mask["words"]] == best.indices.tolist()
        assert [word["probability"] for word in mask["words"]] == pytest.approx(best.values.tolist(), abs=1e-4)
        assert [word["word"] for word in mask["words"]] == [tokenizer.decode([i]) for i in best.indices.tolist()]


def test_labels_match_transformers_and_words_are_the_first_tokens_attention(torch):
    tokenizer, model = theirs("imdb-sentiment", "AutoModelForSequenceClassification")
    with torch.no_grad():
        wanted = model(**tokenizer(ENGLISH, return_tensors="pt"), output_attentions=True)
    found = at.load("imdb-sentiment").classify(ENGLISH)
    scores = {score["label"]: score for score in found["scores"]}
    for number, label in model.config.id2label.items():
        assert scores[label]["logit"] == pytest.approx(wanted.logits[0, number].item(), abs=1e-3)
        assert scores[label]["probability"] == pytest.approx(wanted.logits[0].softmax(-1)[number].item(), abs=1e-4)
    assert found["label"] == model.config.id2label[wanted.logits[0].argmax().item()]
    seen = wanted.attentions[-1][0].mean(0)[0].numpy()
    assert sum(word["weight"] for word in found["words"]) == pytest.approx(1, abs=1e-5)
    assert found["words"][0]["weight"] == pytest.approx(float(seen[0]), abs=1e-5)
    one = at.load("imdb-sentiment").classify(ENGLISH, layer=0, head=1)
    assert one["words"][0]["weight"] == pytest.approx(float(wanted.attentions[0][0, 1, 0, 0]), abs=1e-5)
    assert (one["layer"], one["head"]) == (0, 1)


def test_a_text_that_is_too_long_to_classify_is_cut_and_says_so():
    model = at.load("imdb-sentiment")
    found = model.classify("good " * 1000)
    assert found["read"] == model.max_tokens < found["tokens"] == 1002


def test_generated_text_matches_transformers(torch):
    tokenizer, model = theirs("tiny-gpt", "AutoModelForCausalLM")
    inputs = tokenizer("The film was", return_tensors="pt")
    wanted = model.generate(**inputs, max_new_tokens=20, do_sample=False)[0]
    pieces = []
    found = at.load("tiny-gpt").generate("The film was", max_tokens=20, on_text=pieces.append)
    assert found["prompt_ids"] + found["ids"] == wanted.tolist()
    assert found["text"] == tokenizer.decode(wanted)
    assert "The film was" + "".join(pieces) == found["text"]


def test_a_seed_gives_the_same_text_again():
    model = at.load("tiny-gpt")
    one, two, other = (model.generate("The", 12, temperature=1.0, seed=seed)["ids"] for seed in (7, 7, 8))
    assert one == two != other


def test_an_exception_in_a_callback_stops_generation():
    def stop(piece):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        at.load("tiny-gpt").generate("The film", on_text=stop)


def test_a_folder_is_a_model_too_and_a_model_can_be_pickled():
    model = at.load(FOLDERS / "tiny-bert")
    assert np.array_equal(model.record(ENGLISH).weights(), at.load("tiny-bert").record(ENGLISH).weights())
    again = pickle.loads(pickle.dumps(model))
    assert (again.name, again.parameters) == (model.name, model.parameters)


def test_a_list_of_texts_gives_a_list_of_recordings():
    model = at.load("tiny-bert")
    texts = ["The cat sat.", "It was raining."]
    for rec, text in zip(model.record(texts), texts, strict=True):
        assert rec.text == text
        assert np.array_equal(rec.weights(), model.record(text).weights())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: at.load("tiny-brt"), at.Error, "no such folder.*built-in models: .*tiny-bert"),
        (lambda m: at.load(3), TypeError, "expected str"),
        (lambda m: m.record(""), ValueError, "the text is empty"),
        (lambda m: m.record("word " * 600), ValueError, "512"),
        (lambda m: m.record("a", target="b"), ValueError, "target"),
        (lambda m: m.record(["a"], pair="b"), TypeError, "one by one"),
        (lambda m: m.record(3), TypeError, "text must be a str, not int"),
        (lambda m: m.record([b"a"]), TypeError, "text must be a str, not bytes"),
        (lambda m: m.record("a", pair=3), TypeError, "pair must be a str, not int"),
        (lambda m: m.tokenize(None), TypeError, "text must be a str, not NoneType"),
        (lambda m: m.fill("a [MASK]", top="5"), TypeError, "top must be a whole number, not str"),
        (lambda m: at.load("tiny-gpt").generate("a", temperature="hot"), TypeError, "temperature must be a number"),
        (lambda m: at.load("tiny-gpt").generate("a", seed=-1), ValueError, "seed is -1"),
        (lambda m: m.fill("no gap"), ValueError, r"write \[MASK\]"),
        (lambda m: m.fill("a [MASK]", top=0), ValueError, "at least 1"),
        (lambda m: m.generate("a"), ValueError, "encoder"),
        (lambda m: m.classify("a"), ValueError, "gives no labels"),
        (lambda m: m.classify("a", layer=9), IndexError, "layers count from 0 to 3"),
        (lambda m: at.load("tiny-gpt").generate("a", 0), ValueError, "max_tokens is 0"),
        (lambda m: at.load("tiny-gpt").generate("a", temperature=-1.0), ValueError, "temperature"),
        (lambda m: at.load("tiny-gpt").fill("a [MASK]"), ValueError, "cannot fill gaps"),
    ],
)
def test_invalid_calls_raise_clear_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(at.load("tiny-bert"))


def test_a_folder_without_a_model_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="config.json"):
        at.load(tmp_path)


def test_predictions_without_a_head_match_transformers(torch):
    tokenizer, model = theirs("tiny-bert", "AutoModelForMaskedLM")
    inputs = tokenizer("The cat sat on the [MASK].", return_tensors="pt")
    width = model.config.hidden_size // model.config.num_attention_heads
    off = [(1, 1), (1, 2), (2, 0)]

    def predictions(without):
        hooks = []
        for layer, head in without:

            def zero(module, args, part=slice(head * width, (head + 1) * width)):
                args[0][..., part] = 0

            output = model.bert.encoder.layer[layer].attention.output.dense
            hooks.append(output.register_forward_pre_hook(zero))
        with torch.no_grad():
            logits = model(**inputs).logits[0, 6].double()
        for hook in hooks:
            hook.remove()
        return logits.log_softmax(-1)

    before = predictions([])
    rec = at.load("tiny-bert").record("The cat sat on the [MASK].")
    found = rec.ablate(off, top=4)
    after = predictions(off)
    best = after.exp().topk(4)
    moved = found["positions"][0]
    assert (moved["token"], moved["text"]) == (6, "[MASK]")
    assert [word["id"] for word in moved["before"]] == before.topk(4).indices.tolist()
    assert [word["id"] for word in moved["after"]] == best.indices.tolist()
    assert [word["probability"] for word in moved["after"]] == pytest.approx(best.values.tolist(), abs=1e-4)
    assert found["kl"] == moved["kl"] == pytest.approx((before.exp() * (before - after)).sum().item(), rel=1e-2)
    assert found["off"] == [{"kind": "self", "layer": layer, "head": head} for layer, head in off]

    ranked = rec.ablate()["heads"]
    assert [head["kl"] for head in ranked] == sorted((head["kl"] for head in ranked), reverse=True)
    first = ranked[0]
    alone = predictions([(first["layer"], first["head"])])
    assert first["kl"] == pytest.approx((before.exp() * (before - alone)).sum().item(), rel=1e-2)
    assert first["likeliest"][0]["id"] == alone.argmax().item()


@pytest.mark.parametrize(
    ("heads", "options", "error", "words"),
    [
        ([(4, 0)], {}, IndexError, "there is no layer 4"),
        ([(0,)], {}, ValueError, r"\(layer, head\)"),
        ([("cross", 0, 0)], {}, ValueError, "only: self"),
        ([], {}, ValueError, "heads is empty"),
        (None, {"at": 99}, IndexError, "there is no token 99"),
        ([(0, 0)], {"top": 0}, ValueError, "top is 0"),
    ],
)
def test_missing_heads_cannot_be_switched_off(heads, options, error, words):
    with pytest.raises(error, match=words):
        at.load("tiny-bert").record("The cat sat.").ablate(heads, **options)


def test_tables_cannot_be_ablated():
    with pytest.raises(ValueError, match=r"a recording that Model.record\(\) made"):
        at.Recording.from_tables(np.eye(3)).ablate()


def test_the_whole_output_of_an_encoder_decoder_is_compared_without_a_head():
    said = at.load("tiny-translate").record("I love you").ablate([("cross", 1, 0)])
    assert [each["text"] for each in said["positions"]][-3:] == list("我爱你")
