#!/usr/bin/env python3
"""Makes models/: small random models of every family, and what transformers says about them.

    python tests/golden/make_models.py [name ...]        (needs torch and transformers; writes beside itself)

A folder is a model in the Hugging Face layout. Where two models share weights or a tokenizer, the second one is a link.
expected.safetensors holds cases, by names in which "a" is the case:

    a/ids a/types         [N]            what the model reads (types only where it has them)
    a/rows                [R]            which tokens are written down below: all, or a choice of a long sequence
    a/self                [L, H, R, N]   attention weights
    a/hidden              [L+1, R, width]
    a/pooled              [width]
    a/logits_rows         [K]
    a/logits              [K, vocabulary]
    a/decoder_ids a/decoder_rows a/decoder a/cross a/decoder_hidden: the decoder of an encoder-decoder; logits are its
    g/prompt g/greedy                    a prompt, and how greedy generation goes on, end of sequence included

Numbers come from a float64 run, stored as float32. The script itself checks that the eager float32 run is near it, that
one right-padded batch gives what each sequence gives alone, and that greedy generation is never a close call.
"""
import copy
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import safetensors.torch
import torch
import transformers as tf
from safetensors.numpy import save_file

from reference import NEW_TOKENS, everything_in_float64, greedy, greedy_cases, run_cases

HERE = pathlib.Path(__file__).resolve().parent
LENGTHS, FEWER = [1, 5, 17, 80], [5, 80]
TARGET = {1: 1, 5: 4, 17: 11, 80: 67}  # what the decoder reads while the encoder reads so much
LONG_ROWS = [1, 11, 12, 64, -1]


# ---- making weights ----


def randomise(model, score_scale, embedding_scale):
    """Attention that is not uniform, and biases and norms that are not neutral; activations stay near 1."""
    done = set()
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if p.data_ptr() in done or not p.is_floating_point() or "inv_freq" in name:
            continue
        done.add(p.data_ptr())
        with torch.no_grad():
            if name.endswith("final_logits_bias") or name.endswith("bias") and p.ndim == 1:
                p.normal_(0, 0.3)
            elif p.ndim == 1:
                p.normal_(1, 0.2)
            elif "relative_attention_bias" in name:
                p.normal_(0, 1)
            elif "embed" in name or "shared" in name or "wte" in name or "wpe" in name:
                p.normal_(0, 1 if "position" in name or "wpe" in name else embedding_scale)
            else:
                conv1d = "c_attn" in name or "c_proj" in name or "c_fc" in name
                p.normal_(0, (p.shape[0] if conv1d else p.shape[1]) ** -0.5)
            if "c_attn" in name and p.ndim == 2:
                p[:, : 2 * p.shape[1] // 3] *= score_scale
            elif p.ndim == 2 and any(f".{part}." in name for part in
                                     ("query", "key", "q_lin", "k_lin", "q_proj", "k_proj", "q", "k")):
                p *= score_scale
    return model


def special_ids(tokenizer):
    """Ids by role, from tokenizer.json, and the number of ids."""
    file = json.loads((HERE / "tokenizers" / tokenizer / "tokenizer.json").read_text())
    vocabulary = file["model"]["vocab"]
    ids = dict(vocabulary) if isinstance(vocabulary, dict) else {v[0]: i for i, v in enumerate(vocabulary)}
    ids |= {t["content"]: t["id"] for t in file["added_tokens"]}
    roles = dict(pad=("[PAD]", "<pad>"), bos=("[CLS]", "<s>", "<|endoftext|>"), eos=("[SEP]", "</s>", "<|endoftext|>"))
    found = {role: next((ids[n] for n in names if n in ids), None) for role, names in roles.items()}
    return found, max(ids.values()) + 1


# ---- writing ----


def link(folder, name, target):
    path = folder / name
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, folder))


def write_expected(folder, cases, results, generated):
    store = {}
    for n, (case, result) in enumerate(zip(cases, results)):
        for key in ("ids", "types", "decoder_ids"):
            if key in case:
                store[f"case{n}/{key}"] = np.array(case[key], np.int32)
        rows = {}
        for key, ids in (("rows", "ids"), ("decoder_rows", "decoder_ids")):
            if ids in case:
                length = len(case[ids])
                every = range(length) if length <= 20 else sorted({r % length for r in LONG_ROWS})
                rows[key] = np.array(every, np.int32)
                store[f"case{n}/{key}"] = rows[key]
        for key, table in result.items():
            table = table.numpy().astype(np.float32)
            if key == "logits":
                length = table.shape[0]
                some = np.array(sorted({0, length // 2, length - 1}), np.int32)
                store[f"case{n}/logits_rows"], table = some, table[some]
            elif key in ("self", "hidden"):
                table = table[..., rows["rows"], :]
            elif key != "pooled":
                table = table[..., rows["decoder_rows"], :]
            store[f"case{n}/{key}"] = np.ascontiguousarray(table)
    for n, (prompt, ids) in enumerate(generated):
        store[f"greedy{n}/prompt"], store[f"greedy{n}/greedy"] = np.array(prompt, np.int32), np.array(ids, np.int32)
    save_file(store, folder / "expected.safetensors")


def edit_json(file, changes):
    """Changes of keys; None takes one away."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({k: v for k, v in content.items() if v is not None}, indent=2) + "\n")


def edit_tensors(folder, change):
    file = folder / "model.safetensors"
    safetensors.torch.save_file({k: v.contiguous() for k, v in change(safetensors.torch.load_file(file)).items()}, file,
                                metadata={"format": "pt"})


class Recipe:
    """One model. `weights_of` names the model whose weights are used with another configuration."""

    def __init__(self, name, kind, tokenizer, config, **options):
        self.name, self.kind, self.tokenizer, self.config = name, kind, tokenizer, config
        self.options = dict(score_scale=1.7, embedding_scale=1.0, dtype=torch.float32, shards=None, weights_of=None,
                            edit=None, json={}, lengths=LENGTHS, types=False, same_in_batch=True, stop=False,
                            prompts=(3, 9)) | options

    def make_folder(self, folder):
        o = self.options
        roles, vocabulary = special_ids(self.tokenizer)
        config_class = self.kind.config_class
        config = config_class(**{"vocab_size": vocabulary, "pad_token_id": roles["pad"] or 0,
                                 "bos_token_id": roles["bos"], "eos_token_id": roles["eos"]} | self.config)
        shutil.rmtree(folder, ignore_errors=True)
        model = randomise(self.kind(config).eval(), o["score_scale"], o["embedding_scale"]).to(o["dtype"])
        model.save_pretrained(folder, **({"max_shard_size": o["shards"]} if o["shards"] else {}))
        if o["weights_of"]:
            link(folder, "model.safetensors", HERE / "models" / o["weights_of"] / "model.safetensors")
        if o["edit"]:
            edit_tensors(folder, o["edit"])
        edit_json(folder / "config.json", {"transformers_version": None} | o["json"])
        generation = folder / "generation_config.json"
        if generation.exists():
            edit_json(generation, {"transformers_version": None})
        for file in (HERE / "tokenizers" / self.tokenizer).iterdir():
            if file.name in ("tokenizer.json", "tokenizer_config.json"):
                link(folder, file.name, file)

    def load(self, folder):
        model, info = self.kind.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        assert not info["missing_keys"], info
        return model.eval()

    def draw(self, length, model, rng):
        forbidden = set(special_ids(self.tokenizer)[0].values()) - {None}
        allowed = [i for i in range(model.config.vocab_size) if i not in forbidden]
        return [int(i) for i in rng.choice(allowed, length)]

    def make_cases(self, model, rng):
        cases = []
        for length in self.options["lengths"]:
            case = {"ids": self.draw(length, model, rng)}
            if self.options["types"]:
                first = length if length < 6 else length // 3
                case["types"] = [0] * first + [1] * (length - first)
            if model.config.is_encoder_decoder:
                case["decoder_ids"] = [model.config.decoder_start_token_id] + self.draw(TARGET[length] - 1, model, rng)
            cases.append(case)
        return cases

    def make_stop(self, folder, prompt, ids):
        """The last token that had not come before ends the sequence from now on."""
        at = max(n for n in range(len(ids) - 1) if ids[n] not in ids[:n])
        roles = special_ids(self.tokenizer)[0]
        edit_json(folder / "generation_config.json", {"eos_token_id": [roles["eos"], ids[at]]})

    def make(self, seed):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        folder = HERE / "models" / self.name
        self.make_folder(folder)
        model = self.load(folder)
        draw = lambda length: self.draw(length, model, rng)
        generated = []
        cases = self.make_cases(model, rng)
        results = run_cases(self.name, model, cases, model.config.pad_token_id or 0, self.options["same_in_batch"])
        if model.can_generate() and "bert" not in self.name:
            generated = greedy_cases(model, self.options["prompts"], draw)
            if self.options["stop"]:
                self.make_stop(folder, *generated[0])
                model = self.load(folder)
                generated = [(prompt, greedy(model, prompt)[0]) for prompt, _ in generated]
                assert len(generated[0][1]) < NEW_TOKENS
            exact_model = copy.deepcopy(model).double()
            with everything_in_float64():
                assert [greedy(exact_model, prompt)[0] for prompt, _ in generated] == [ids for _, ids in generated]
        write_expected(folder, cases, results, generated)
        return folder


# ---- the models ----


def old_bert_names(state):
    """As the first BERT files call their norms."""
    return {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
            for k, v in state.items()}


def first_gpt2_names(state):
    """As the first GPT-2 file has them: no prefix, and the causal mask of every layer stored."""
    state = {k.removeprefix("transformer."): v for k, v in state.items() if k != "lm_head.weight"}
    layers = sum(k.endswith("ln_1.weight") for k in state)
    positions = state["wpe.weight"].shape[0]
    return state | {f"h.{n}.attn.bias": torch.ones(1, 1, positions, positions).tril() for n in range(layers)}


BERT = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=4, intermediate_size=72,
            max_position_embeddings=80)
GPT2 = dict(n_embd=36, n_layer=2, n_head=3, n_positions=80)
T5 = dict(d_model=32, d_kv=12, d_ff=48, num_heads=3, num_layers=2)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2,
            encoder_ffn_dim=56, decoder_ffn_dim=48, max_position_embeddings=80, forced_eos_token_id=None)
LLAMA = dict(hidden_size=40, intermediate_size=64, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
             head_dim=8, max_position_embeddings=96, tie_word_embeddings=False, rms_norm_eps=1e-5)
QWEN = dict(hidden_size=36, intermediate_size=56, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=3,
            max_position_embeddings=96, tie_word_embeddings=True)


def rope(name, parameters, max_tokens=96, **options):
    """Llama's weights with other rotary positions, as files of different ages write them."""
    changes = {"rope_parameters": None, "rope_theta": 10000.0, "rope_scaling": parameters,
               "max_position_embeddings": max_tokens}
    return Recipe(name, tf.LlamaForCausalLM, "spbpe", LLAMA, weights_of="llama", json=changes, lengths=FEWER, **options)


def recipes():
    ids = lambda tokenizer: special_ids(tokenizer)[0]
    start = {"decoder_start_token_id": ids("unigram")["pad"]}
    yield Recipe("bert", tf.BertForPreTraining, "wordpiece", BERT, types=True)
    yield Recipe("bert-half", tf.BertModel, "wordpiece",
                 dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                      max_position_embeddings=40, hidden_act="gelu_new"),
                 dtype=torch.float16, edit=old_bert_names, lengths=[1, 5, 17, 40], types=True)
    yield Recipe("distilbert", tf.DistilBertForMaskedLM, "wordpiece",
                 dict(dim=32, n_layers=2, n_heads=4, hidden_dim=56, max_position_embeddings=80))
    roberta = BERT | dict(num_hidden_layers=2, max_position_embeddings=80 + 1 + ids("roberta")["pad"],
                          type_vocab_size=1)
    yield Recipe("roberta", tf.RobertaForMaskedLM, "roberta", roberta)
    yield Recipe("xlm-roberta", tf.XLMRobertaForMaskedLM, "roberta", roberta, weights_of="roberta", lengths=FEWER)
    yield Recipe("gpt2", tf.GPT2LMHeadModel, "bytebpe", GPT2, embedding_scale=0.4)
    yield Recipe("gpt2-bare", tf.GPT2LMHeadModel, "bytebpe",
                 dict(n_embd=24, n_layer=1, n_head=2, n_positions=24, activation_function="gelu"),
                 edit=first_gpt2_names, embedding_scale=0.4, lengths=[1, 5, 17, 24])
    yield Recipe("t5", tf.T5ForConditionalGeneration, "unigram",
                 T5 | start | dict(relative_attention_num_buckets=8, relative_attention_max_distance=20),
                 score_scale=0.85, embedding_scale=0.4, stop=True)
    yield Recipe("t5-gated", tf.T5ForConditionalGeneration, "unigram",
                 T5 | start | dict(num_decoder_layers=1, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
                 score_scale=0.85, embedding_scale=0.4, edit=untied,
                 json={"tie_word_embeddings": False, "scale_decoder_outputs": None})
    yield Recipe("mt5", tf.MT5ForConditionalGeneration, "unigram",
                 T5 | start | dict(num_decoder_layers=1, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
                 weights_of="t5-gated", lengths=FEWER,
                 json={"tie_word_embeddings": False, "scale_decoder_outputs": None})
    bart = BART | dict(decoder_start_token_id=ids("roberta")["eos"])
    yield Recipe("bart", tf.BartForConditionalGeneration, "roberta", bart | dict(scale_embedding=True),
                 embedding_scale=0.1)
    yield Recipe("bart-unscaled", tf.BartForConditionalGeneration, "roberta", bart | dict(activation_function="relu"),
                 weights_of="bart", lengths=FEWER)
    yield Recipe("llama", tf.LlamaForCausalLM, "spbpe", LLAMA)
    yield rope("llama-linear", {"type": "linear", "factor": 4.0}, max_tokens=24)
    yield rope("llama-dynamic", {"type": "dynamic", "factor": 4.0}, max_tokens=24, same_in_batch=False, prompts=(3, 18))
    yield rope("llama-llama3", {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 40})
    yield rope("llama-yarn", {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24})
    yield rope("llama-longrope", {"rope_type": "longrope", "original_max_position_embeddings": 24,
                                  "short_factor": [1.0, 1.1, 1.3, 1.5], "long_factor": [1.0, 1.5, 2.5, 4.0]},
               same_in_batch=False, prompts=(3, 18))
    yield Recipe("llama-shards", tf.LlamaForCausalLM, "spbpe",
                 LLAMA | dict(num_attention_heads=4, num_key_value_heads=4, head_dim=None, attention_bias=True,
                              mlp_bias=True,
                              rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
                 dtype=torch.bfloat16, shards="30KB")
    yield Recipe("mistral", tf.MistralForCausalLM, "spbpe",
                 LLAMA | dict(hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=1,
                              head_dim=12, sliding_window=6), stop=True)
    yield Recipe("qwen2", tf.Qwen2ForCausalLM, "bytebpe", QWEN, embedding_scale=0.4)
    yield Recipe("qwen2-window", tf.Qwen2ForCausalLM, "bytebpe",
                 QWEN | dict(use_sliding_window=True, sliding_window=9, max_window_layers=1), embedding_scale=0.4,
                 weights_of="qwen2", json={"layer_types": None}, lengths=FEWER)


def untied(state):
    """T5 1.1 has an output matrix of its own."""
    torch.manual_seed(1)
    head = torch.randn_like(state["shared.weight"]) * state["shared.weight"].shape[1] ** -0.5
    return state | {"lm_head.weight": head}


def main():
    torch.set_num_threads(1)
    tf.logging.set_verbosity_error()
    tf.logging.disable_progress_bar()
    wanted = set(sys.argv[1:])
    for seed, recipe in enumerate(recipes()):
        if not wanted or recipe.name in wanted:
            folder = recipe.make(100 + seed)
            size = {f.name: f.stat().st_size // 1024 for f in folder.iterdir() if not f.is_symlink()}
            print("   ", {k: v for k, v in sorted(size.items()) if v > 1}, "KB")


if __name__ == "__main__":
    main()
