"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def attend(q, k, v):
    scores = q @ k.T
    scaled = scores / np.sqrt(q.shape[1])
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return {"scores": scores, "scaled": scaled, "weights": weights, "output": weights @ v}


def table(*rows):
    return np.array(rows, dtype=np.float64)


def main():
    found = dict(attend(table([1, 0]), table([1, 0], [0, 1], [1, 0]), table([10, 0], [0, 20], [30, 0])))
    x = table([1, 0.5], [0.8, 0.6], [0.5, 1])
    parts = {
        "hand_": attend(x, x, x),
        "exercise1_": attend(table([1]), table([1], [2], [0.5]), table([10], [20], [5])),
        "exercise2_": attend(table([1, 0]), np.eye(2), table([5, 0], [0, 10])),
    }
    for prefix, arrays in parts.items():
        found.update({prefix + name: array for name, array in arrays.items()})
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
