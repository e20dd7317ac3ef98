#!/usr/bin/env python3
"""Makes recordings/version0.attn: a recording as the first version of the format had it.

    python tests/golden/make_recordings.py        (needs torch and transformers; writes beside itself)

The numbers are those of transformers' own run of models/bert, caught on their way; version0.expected.safetensors holds
the attentions that transformers gives for it. Version 0 knows Q, K and lse alone, and tokens as plain texts.
"""
import json
import math
import pathlib

import torch
import transformers as tf
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent
TEXT = "The lazy dog jumps."


def main():
    folder = HERE / "models" / "bert"
    model = tf.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    caught = {}
    for layer, block in enumerate(model.encoder.layer):
        for part in ("query", "key"):
            module = getattr(block.attention.self, part)
            module.register_forward_hook(lambda _, __, out, at=(layer, part): caught.update({at: out[0].detach()}))
    batch = tokenizer(TEXT, return_tensors="pt")
    attentions = model(**batch, output_attentions=True).attentions

    heads = model.config.num_attention_heads
    width = model.config.hidden_size // heads
    count = batch["input_ids"].shape[1]
    tensors, described = {}, []
    for layer in range(len(attentions)):
        q, k = caught[layer, "query"], caught[layer, "key"]
        by_head = [x.view(count, heads, width).transpose(0, 1).double() for x in (q, k)]
        scores = by_head[0] @ by_head[1].transpose(1, 2) / math.sqrt(width)
        tensors |= {f"self.{layer}.q": q.contiguous(), f"self.{layer}.k": k.contiguous(),
                    f"self.{layer}.lse": torch.logsumexp(scores, -1).float().contiguous()}
        described.append({"kind": "self", "layer": layer, "heads": heads, "key_heads": heads, "width": width,
                          "queries": count, "keys": count, "scale": 1 / math.sqrt(width), "mask": "everything",
                          "causal": False, "window": 0, "bias": None})
    recording = {"model": "bert", "type": "bert", "form": "encoder", "text": TEXT, "pair": None, "target": None,
                 "tokens": tokenizer.convert_ids_to_tokens(batch["input_ids"][0]), "target_tokens": [],
                 "attentions": described}
    out = HERE / "recordings"
    out.mkdir(exist_ok=True)
    save_file(tensors, out / "version0.attn",
              {"format": "attnscope-recording", "format_version": "0", "written_by": "make_recordings.py",
               "recording": json.dumps(recording)})
    save_file({"self": torch.cat(attentions).detach()}, out / "version0.expected.safetensors")


if __name__ == "__main__":
    main()
