"""The numbers of this lesson by numpy and transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

MODEL = Path(__file__).parents[2] / "models" / "tiny-bert"


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def entropy(tables):
    return -(tables * np.log(np.maximum(tables, 1e-300))).sum(axis=-1).mean(axis=-1)


def analysis(tables):
    mean = tables.mean(axis=0)
    return {
        "attention": tables,
        "entropy": entropy(tables),
        "mean_entropy": entropy(tables).mean(),
        "received": tables.sum(axis=1),
        "mean_received": mean.sum(axis=0)[None],
        "outgoing": tables.sum(axis=2),
        "mean_outgoing": mean.sum(axis=1)[None],
        "diagonal": np.diagonal(tables, axis1=1, axis2=2),
        "mean_diagonal": np.diagonal(mean)[None],
    }


def trained():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        found = model(**tokenizer("The cat sat on the mat.", return_tensors="pt"), output_attentions=True)
    return found.attentions[1][0].double().numpy()


def main():
    np.random.seed(42)
    tables = softmax(np.random.randn(8, 5, 5))
    np.random.seed(42)
    few = softmax(np.random.randn(4, 3, 3))
    found = analysis(tables)
    found["mean"] = tables.mean(axis=0)
    found["entropy_of_mean"] = entropy(tables.mean(axis=0))
    found["even_entropy"] = np.log(5)
    found["most_received"] = found["mean_received"].max()
    found["trained_even"] = np.log(9)
    for prefix, part in (("few_", few), ("trained_", trained())):
        found.update({prefix + name: array for name, array in analysis(part).items()})
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
