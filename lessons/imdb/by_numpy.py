"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import collections
import csv
import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LENGTH, WIDTH = 20, 64
MODEL = Path(__file__).parents[2] / "models" / "imdb-sentiment"


@torch.no_grad()
def trained(text):
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForSequenceClassification.from_pretrained(
        MODEL, attn_implementation="eager", dtype=torch.float32
    ).eval()
    tokens = tokenizer(text, return_tensors="pt")
    out = model(**tokens, output_attentions=True)
    looked = out.attentions[-1][0].mean(0)[0, 1:-1]  # from [CLS], without [CLS] and [SEP]
    return {
        "judged_probability": out.logits.softmax(-1).max().item(),
        "looked": looked.sort(descending=True).values[:8, None].tolist(),
    }


def main():
    with open(Path(__file__).parent / "reviews.csv", encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    counts = collections.Counter(word for text in texts for word in text.lower().split())
    order = ["<pad>", "<unk>"] + [word for word, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
    number = {word: n for n, word in enumerate(order)}
    rows = [[number[word] for word in text.lower().split()[:LENGTH]] for text in texts]
    real = np.arange(LENGTH) < np.array([len(row) for row in rows])[:, None]
    ids = np.array([row + [0] * (LENGTH - len(row)) for row in rows])
    np.random.seed(42)
    x = np.random.randn(len(order), WIDTH)[ids]
    found = {"samples": len(texts), "vocabulary": len(order), "ids": ids[:1].T, "weights_count": len(texts) * LENGTH**2}
    found["output_shape"], found["weights_shape"] = [len(texts), LENGTH, WIDTH], [len(texts), LENGTH, LENGTH]
    for prefix in ("", "masked_"):
        scores = x @ x.transpose(0, 2, 1) / np.sqrt(WIDTH)
        if prefix:
            scores = np.where(real[:, None, :], scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        found[prefix + "weights"], found[prefix + "output"] = weights[0], (weights @ x)[0]
        found[prefix + "diagonal"] = np.diagonal(weights, axis1=1, axis2=2)[real].mean()
        found[prefix + "same_word"] = (weights * (ids[:, :, None] == ids[:, None, :])).sum(-1)[real].mean()
        found[prefix + "on_pads"] = (weights * ~real[:, None, :]).sum(-1)[real].mean()
    found.update(trained(texts[0]))
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
