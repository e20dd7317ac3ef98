"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def main():
    x = np.array([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
    np.random.seed(42)
    w_q, w_k, w_v = (np.random.randn(4, 4) for _ in range(3))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / np.sqrt(4)
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    found = {"X": x, "W_q": w_q, "W_k": w_k, "W_v": w_v, "Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled}
    found |= {"weights": weights, "row_sums": weights.sum(axis=1), "output": weights @ v}
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
