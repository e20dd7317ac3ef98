#!/usr/bin/env python3
"""Makes program.json: what transformers answers to the questions that tests/program asks the program.

    python tests/golden/make_program.py        (needs torch and transformers; writes beside itself)

The models are those of models/ (make_models.py).
"""
import json
import pathlib

import torch
import transformers as tf

HERE = pathlib.Path(__file__).resolve().parent
TEXT = "The quick brown fox jumps over the lazy dog."
PAIR = "Was it asleep?"
GAP = "The quick brown {} jumps over the {} dog."
NEW_TOKENS = 12
STOP = 0  # set below: a token that the llama says early


def load(kind, name):
    folder = HERE / "models" / name
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    return model, tf.AutoTokenizer.from_pretrained(folder)


def rounded(table):
    return [[round(float(x), 7) for x in row] for row in table]


def tokens(tokenizer, *texts):
    told = tokenizer(*texts, return_offsets_mapping=True)
    return {"ids": told["input_ids"], "offsets": told["offset_mapping"]}


def weights(kind, name, layer, head, pair=None):
    model, tokenizer = load(kind, name)
    batch = tokenizer(TEXT, pair, return_tensors="pt")
    table = model(**batch, output_attentions=True).attentions[layer][0, head]
    return {"model": name, "text": TEXT, "pair": pair, "layer": layer, "head": head, "kind": "self",
            **tokens(tokenizer, TEXT, pair), "weights": rounded(table)}


def cross(name, layer, head, kind):
    """The decoder is given its start token and the target's tokens but the last, as in training."""
    model, tokenizer = load(tf.AutoModelForSeq2SeqLM, name)
    batch = tokenizer(TEXT, return_tensors="pt")
    target = tokenizer(PAIR)["input_ids"]
    given = torch.tensor([[model.config.decoder_start_token_id] + target[:-1]])
    out = model(**batch, decoder_input_ids=given, output_attentions=True)
    tables = {"self": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}[kind]
    return {"model": name, "text": TEXT, "pair": PAIR, "layer": layer, "head": head, "kind": kind,
            **tokens(tokenizer, TEXT), "weights": rounded(tables[layer][0, head])}


def fill(name):
    model, tokenizer = load(tf.AutoModelForMaskedLM, name)
    batch = tokenizer(GAP.format(*[tokenizer.mask_token] * 2), return_tensors="pt")
    places = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0]
    masks = []
    for place in places.tolist():
        best = model(**batch).logits[0, place].softmax(-1).topk(3)
        words = [{"id": i, "probability": p} for i, p in zip(best.indices.tolist(), best.values.tolist())]
        masks.append({"token": place, "words": words})
    return {"model": name, "text": GAP.format("[MASK]", "[MASK]"), "masks": masks}


def generate(kind, name, prompt, **rules):
    model, tokenizer = load(kind, name)
    batch = tokenizer(prompt, return_tensors="pt")
    out = model.generate(**batch, max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=1, pad_token_id=0, **rules)[0].tolist()
    whole = kind is tf.AutoModelForCausalLM
    fresh = out[batch["input_ids"].shape[1]:] if whole else out[1:]
    shown = tokenizer.backend_tokenizer.decode(out if whole else fresh, skip_special_tokens=True)
    return {"model": name, "prompt": prompt, "tokens": NEW_TOKENS, "rules": rules, "ids": fresh, "text": shown}


def main():
    global STOP
    STOP = generate(tf.AutoModelForCausalLM, "llama", TEXT)["ids"][2]
    answers = {
        "weights": [
            weights(tf.AutoModelForMaskedLM, "bert", 1, 2), weights(tf.AutoModelForMaskedLM, "bert", 0, 3, PAIR),
            weights(tf.AutoModelForMaskedLM, "distilbert", 1, 0), weights(tf.AutoModelForMaskedLM, "roberta", 1, 1),
            weights(tf.AutoModelForCausalLM, "gpt2", 1, 1), weights(tf.AutoModelForCausalLM, "llama", 1, 5),
            weights(tf.AutoModelForCausalLM, "mistral", 1, 1), weights(tf.AutoModelForCausalLM, "qwen2", 1, 1),
            *[cross(name, 1, 1, kind) for name in ("t5", "bart") for kind in ("self", "decoder", "cross")],
        ],
        "fill": [fill(name) for name in ("bert", "distilbert", "roberta")],
        "generate": [
            *[generate(tf.AutoModelForCausalLM, name, TEXT) for name in ("gpt2", "llama", "mistral", "qwen2")],
            *[generate(tf.AutoModelForSeq2SeqLM, name, TEXT) for name in ("t5", "bart")],
            generate(tf.AutoModelForSeq2SeqLM, "bart", TEXT, forced_bos_token_id=5, forced_eos_token_id=2, no_repeat_ngram_size=2),
            generate(tf.AutoModelForCausalLM, "gpt2", TEXT, no_repeat_ngram_size=1, forced_eos_token_id=7),
            generate(tf.AutoModelForCausalLM, "llama", TEXT, eos_token_id=STOP, min_length=0),
            generate(tf.AutoModelForCausalLM, "llama", TEXT, eos_token_id=STOP, min_length=200),
            generate(tf.AutoModelForCausalLM, "llama", TEXT, eos_token_id=STOP, min_new_tokens=5),
            generate(tf.AutoModelForSeq2SeqLM, "t5", TEXT, decoder_start_token_id=5),
        ],
    }
    (HERE / "program.json").write_text(json.dumps(answers, ensure_ascii=False, separators=(",", ":")) + "\n")


with torch.inference_mode():
    main()
