"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def entropy(weights):
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1).mean(axis=-1)


def main():
    np.random.seed(42)
    x = np.random.randn(5, 8)
    w_q, w_k, w_v = (np.random.randn(8, 8) / np.sqrt(8) for _ in range(3))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    own = x @ x.T
    scores = q @ k.T
    scaled = scores / np.sqrt(8)
    weights = softmax(scaled)
    causal = softmax(np.where(np.tril(np.ones((5, 5))) > 0, scaled, -np.inf))
    heads = np.stack([softmax(q[:, c] @ k[:, c].T / np.sqrt(2)) for c in np.split(np.arange(8), 4)])
    np.random.seed(42)
    rows = np.random.rand(5, 5)
    rows = rows / rows.sum(axis=1, keepdims=True)
    found = {
        "X": x,
        "Q": q,
        "K": k,
        "V": v,
        "self_weights": softmax(own / np.sqrt(8)),
        "self_output": softmax(own / np.sqrt(8)) @ x,
        "self_diagonal": np.diagonal(softmax(own / np.sqrt(8))).mean(),
        "self_asymmetry": 0.0,
        "scores": scores,
        "scaled": scaled,
        "weights": weights,
        "output": weights @ v,
        "diagonal": np.diagonal(weights).mean(),
        "asymmetry": np.abs(scores - scores.T).max(),
        "entropy": entropy(weights),
        "causal_weights": causal,
        "causal_output": causal @ v,
        "causal_entropy": entropy(causal),
        "head_width": 2,
        "head_weights": heads,
        "head_entropy": entropy(heads),
        "heads_differ": np.abs(heads - heads[0]).max(),
        "random_rows": rows,
        "picture_entropy": entropy(rows),
    }
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
