"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(scores, axis):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def draw(seed, d_k):
    np.random.seed(seed)
    return [np.random.randn(3, 4)] + [np.random.randn(4, d_k) for _ in range(3)]


def attend(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / np.sqrt(q.shape[1])
    weights = softmax(scaled, 1)
    return {"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled, "weights": weights, "output": weights @ v}


def sharpness(d_k, scale):
    largest = []
    for seed in range(100):
        x, w_q, w_k, _ = draw(seed, d_k)
        largest.append(softmax(x @ w_q @ (x @ w_k).T * scale, 1).max(axis=1).mean())
    return np.mean(largest)


def main():
    drawn = draw(42, 3)
    found = dict(zip(("X", "W_q", "W_k", "W_v"), drawn, strict=True)) | attend(*drawn)
    found["row_sums"] = found["weights"].sum(axis=1)
    found["away"] = found["weights"][2, :2].sum()
    found["wrong_weights"] = softmax(found["scaled"], 0)
    found["wrong_sums"] = found["wrong_weights"].sum(axis=1)
    found["known_weights"] = found["weights"]
    for d_k in (2, 8):
        found[f"weights_{d_k}"] = attend(*draw(42, d_k))["weights"]
    found["sharpness"] = np.array([[sharpness(d, 1 / np.sqrt(d)), sharpness(d, 1)] for d in (2, 3, 8, 64)])
    np.random.seed(42)
    five = np.random.randn(5, 5)
    found["five_X"] = five
    found["five_weights"] = softmax(five @ five.T / np.sqrt(5), 1)
    found["five_output"] = found["five_weights"] @ five
    found["hole_output"] = softmax(found["Q"] @ found["K"], 1) @ found["V"]
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
