"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import numpy as np

DATA = json.loads((Path(__file__).parent / "lesson.json").read_text())["data"]


def weights_of(x):
    scores = x @ x.T / np.sqrt(x.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def main():
    vectors = {}
    for kind in ("", "more_", "missing_"):
        vectors |= dict(zip(DATA[kind + "words"], DATA[kind + "vectors"], strict=True))

    def table(text):
        return np.array([vectors[word] for word in text.split()])

    x = table(DATA["text"])
    weights = weights_of(x)
    found = {"X": x, "weights": weights, "output": weights @ x, "first_weights": weights}
    for name, text in zip(("second", "third", "turned"), DATA["sentences"][1:], strict=True):
        found[name + "_weights"] = weights_of(table(text))
    found["longer_weights"] = weights_of(table(DATA["longer"]))
    length = np.linalg.norm(x, axis=1)
    found["lengths"] = np.stack([length, weights.sum(axis=0)], axis=1)
    found["even_weights"] = weights_of(x / length[:, None])
    found["given_away"] = found["second_weights"][1, [0, 2]].sum()
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
