"""fill_child.py FOLDER TEXT - what `attnscope fill` does, with transformers."""

import sys

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

folder, text = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForMaskedLM.from_pretrained(folder).eval()
batch = tokenizer(text, return_tensors="pt")
with torch.inference_mode():
    logits = model(**batch).logits[0, (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0]]
best = logits.softmax(-1).topk(5)
for probability, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
    print(f"{tokenizer.convert_ids_to_tokens(token):16} {probability:.4f}")
