#!/usr/bin/env python3
"""Makes real/: what transformers says about real models, a few numbers of each; the models themselves are not kept.

    python tests/golden/make_real.py FOLDER [name ...]     (FOLDER holds bert-base-uncased, minilm, ...)

A file holds cases, by names in which "a" is the case; where they have texts, its metadata holds them (a/text, a/pair).

    a/ids a/types               [N]
    a/rows a/columns a/hidden   [R] [C] [L+1, R, C]   every hidden state at these rows and columns
    a/picks a/keys a/weights    [P, 3] [K] [P, K]     attention of (layer, head, row) to these keys
    a/pooled                    [C]
    a/logits_rows a/logits_ids a/logits [R] [I] [R, I]
    greedy/prompt greedy/greedy                        100 tokens of greedy generation, its text in the metadata

Numbers come from a float64 run, stored as float32.
"""
import copy
import pathlib
import sys

import numpy as np
import tokenizers
import torch
import transformers as tf
from safetensors.numpy import save_file

from reference import everything_in_float64

HERE = pathlib.Path(__file__).resolve().parent
PARAGRAPH = ("The harbour lies quiet before the morning. Two fishermen mend a net that the storm tore, and a child "
             "counts the boats: seven, eight, nine. \"One is missing,\" she says. Her grandfather looks up, smiles, "
             "and points beyond the breakwater, where a small light moves slowly towards the town. ")


def spread(count, most):
    """At most `most` of `count` places, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int32))


def picks_of(layers, heads, length):
    """Some (layer, head, row): every layer, heads and rows in turn."""
    rows = spread(length, 5)
    return np.array([(n % layers, (5 * n + 1) % heads, rows[n % len(rows)]) for n in range(2 * layers)], np.int32)


def case_of(model, case):
    ids = torch.tensor([case["ids"]])
    call = {"input_ids": ids} | ({"token_type_ids": torch.tensor([case["types"]])} if "types" in case else {})
    with torch.no_grad(), everything_in_float64():
        out = model(**call, output_attentions=True, output_hidden_states=True)
    length, width = ids.shape[1], out.hidden_states[-1].shape[-1]
    attentions = torch.stack(out.attentions)[:, 0].numpy()  # [L, H, N, N]
    rows, columns, keys = spread(length, 3), spread(width, 12), spread(length, 40)
    picks = picks_of(attentions.shape[0], attentions.shape[1], length)
    store = {"ids": np.array(case["ids"], np.int32), "rows": rows, "columns": columns, "picks": picks, "keys": keys,
             "hidden": torch.stack(out.hidden_states)[:, 0].numpy()[:, rows][..., columns],
             "weights": np.stack([attentions[layer, head, row][keys] for layer, head, row in picks])}
    if "types" in case:
        store["types"] = np.array(case["types"], np.int32)
    pooler = getattr(getattr(model, "bert", model), "pooler", None)
    if pooler is not None:
        store["pooled"] = pooler(out.hidden_states[-1]).detach().numpy()[0, columns]
    for name in ("logits", "prediction_logits"):
        if name in out:
            logits = out[name][0].numpy()
            where = np.array(sorted({length - 1, case.get("mask", length // 2)}), np.int32)
            some = np.union1d(spread(logits.shape[1], 8), logits[where].argmax(-1)).astype(np.int32)
            store |= {"logits_rows": where, "logits_ids": some, "logits": logits[where][:, some]}
    return {k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in store.items()}


def encode(tokenizer, text, pair=None):
    encoding = tokenizer.encode(text, pair)
    case = {"ids": encoding.ids, "types": encoding.type_ids, "text": text}
    if pair:
        case["pair"] = pair
    if "[MASK]" in encoding.tokens:
        case["mask"] = encoding.tokens.index("[MASK]")
    return case


def full_length(tokenizer, most):
    """As many tokens as the model takes; of a text that is too long, so that only ids are kept."""
    ids = tokenizer.encode(PARAGRAPH * 12).ids
    return {"ids": ids[: most - 1] + [ids[-1]], "types": [0] * most}


def bert_cases(tokenizer):
    return [encode(tokenizer, "The capital of France is [MASK]."),
            encode(tokenizer, "Who opened the letter?", "A neighbour did, before the rain; the café was closed."),
            full_length(tokenizer, 512)]


def chinese_cases(tokenizer):
    return [encode(tokenizer, "北京是中国的首都,那封信在老师的桌子上。"), encode(tokenizer, "天气怎么样?", "今天下雨了。")]


def story_cases(tokenizer):
    case = encode(tokenizer, "Once upon a time, a small boat wanted to see the world.")
    del case["types"]
    return [case]


MODELS = {
    "bert-base-uncased": (tf.BertForPreTraining, {}, bert_cases),
    "minilm": (tf.BertModel, {}, bert_cases),
    "bge-small-zh": (tf.BertModel, {"add_pooling_layer": False}, chinese_cases),
    "stories15M": (tf.LlamaForCausalLM, {}, story_cases),
}


def greedy(model, tokenizer, text):
    """By the cache and in float32, as people run it; the script insists that float64 says the same."""
    prompt = torch.tensor([tokenizer.encode(text).ids])
    run = lambda m: m.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=100, do_sample=False,
                               pad_token_id=0)[0, prompt.shape[1]:].tolist()
    ids = run(model)
    with everything_in_float64():
        assert run(copy.deepcopy(model).double()) == ids
    print(tokenizer.decode(ids))
    return {"greedy/prompt": prompt[0].numpy().astype(np.int32), "greedy/greedy": np.array(ids, np.int32)}


def make(folder, name):
    kind, options, cases_of = MODELS[name]
    model, info = kind.from_pretrained(folder / name, dtype=torch.float32, attn_implementation="eager",
                                       output_loading_info=True, **options)
    assert all("seq_relationship" in key for key in info["missing_keys"]), info
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / name / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    store, texts = {}, {}
    if model.can_generate() and "Llama" in kind.__name__:
        texts["greedy/text"] = "Once upon a time"
        store |= greedy(model.eval(), tokenizer, texts["greedy/text"])
    model = model.eval().double()
    for n, case in enumerate(cases_of(tokenizer)):
        store |= {f"case{n}/{key}": np.ascontiguousarray(value) for key, value in case_of(model, case).items()}
        texts |= {f"case{n}/{key}": case[key] for key in ("text", "pair") if key in case}
    file = HERE / "real" / f"{name}.safetensors"
    file.parent.mkdir(exist_ok=True)
    save_file(store, file, metadata=texts)
    print(name, file.stat().st_size // 1024, "KB")


def main():
    tf.logging.set_verbosity_error()
    tf.logging.disable_progress_bar()
    for name in sys.argv[2:] or MODELS:
        make(pathlib.Path(sys.argv[1]), name)


if __name__ == "__main__":
    main()
