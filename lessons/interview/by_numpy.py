"""The numbers of this lesson by numpy and transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

MODELS = Path(__file__).parents[2] / "models"
TEXT, MORE = "The film was good", " , I thought at first"


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def gradient_norm(w):
    return np.mean([np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in w])


def scaling():
    np.random.seed(42)
    q, k = np.random.randn(1000, 512), np.random.randn(1000, 512)
    products = (q * k).sum(axis=1)
    raw = q @ k[:6].T
    return {
        "variance": (products**2).mean(),
        "scaled_variance": (products**2).mean() / 512,
        "unscaled_weights": softmax(raw)[:4],
        "unscaled_largest": softmax(raw).max(axis=1).mean(),
        "scaled_weights": softmax(raw / np.sqrt(512))[:4],
        "scaled_largest": softmax(raw / np.sqrt(512)).max(axis=1).mean(),
        "unscaled_gradient": gradient_norm(softmax(raw)),
        "scaled_gradient": gradient_norm(softmax(raw / np.sqrt(512))),
    }


def loaded(name):
    return AutoTokenizer.from_pretrained(MODELS / name), AutoModel.from_pretrained(
        MODELS / name, attn_implementation="eager", dtype=torch.float32
    ).eval()


@torch.no_grad()
def of_model(name):
    tokenizer, model = loaded(name)

    def states(text):
        return model(torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])).last_hidden_state[0]

    shorter = states(TEXT)
    moves = (states(TEXT + MORE)[: len(shorter)] - shorter).abs().max().item()
    found = model(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True).attentions
    tables = torch.stack(found)[:, 0]
    return moves, tables.triu(1).sum(-1).mean().item(), tables


def main():
    q, k, v = np.array([[1.0, 0]]), np.array([[1.0, 0], [0, 1], [1, 0]]), np.array([[10.0, 0], [0, 20], [30, 0]])
    weights = softmax(q @ k.T / np.sqrt(2))
    three = softmax(np.array([[3.0, 1, 1]]))
    np.random.seed(42)
    own, other = np.random.randn(3, 4), np.random.randn(5, 4)
    bert_moves, bert_right, tables = of_model("tiny-bert")
    gpt_moves, gpt_right, _ = of_model("tiny-gpt")
    learned = [[head.diagonal(o).mean().item() for o in (-1, 0, 1)] for head in tables[1]]
    eye = np.eye(2)
    found = {
        "weights": weights,
        "output": weights @ v,
        "formula_difference": 0,
        **scaling(),
        "softmax": three,
        "softmax_sum": 1,
        "plain_shares": [[0.6, 0.2, 0.2]],
        "slope": three[0, 0] * (1 - three[0, 0]),
        "self_weights": softmax(own @ own.T / 2),
        "cross_weights": softmax(own @ other.T / 2),
        "learned": learned,
        "gpt_moves": gpt_moves,
        "bert_moves": bert_moves,
        "gpt_right": gpt_right,
        "bert_right": bert_right,
        "answer53": softmax(eye @ eye.T / np.sqrt(2)) @ (eye @ np.array([[1.0, 2], [3, 4]])),
    }
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
