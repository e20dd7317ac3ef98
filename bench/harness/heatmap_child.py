"""heatmap_child.py FOLDER TEXT FILE - what `attnscope heatmap` does, with transformers and seaborn."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import seaborn
import torch
from transformers import AutoModel, AutoTokenizer

folder, text, file = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
batch = tokenizer(text, return_tensors="pt")
with torch.inference_mode():
    weights = model(**batch, output_attentions=True).attentions[5][0, 0].numpy()
tokens = tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
plt.figure(figsize=(8, 7))
axes = seaborn.heatmap(
    weights, xticklabels=tokens, yticklabels=tokens, cmap="Blues", cbar_kws={"label": "Attention weight"}
)
axes.set(xlabel="Key", ylabel="Query", title="Layer 5, head 0")
plt.xticks(rotation=45)
plt.tight_layout()
plt.savefig(file, dpi=150)
