"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import numpy as np

DATA = json.loads((Path(__file__).parent / "lesson.json").read_text())["data"]


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def given(name):
    return np.array(DATA[name], dtype=float)


def states(x, w, u):
    state, all_states = np.zeros(len(w)), []
    for row in x:
        state = np.tanh(state @ w + row @ u)
        all_states.append(state)
    return np.array(all_states)


def left_of_the_first(n, width=16):
    np.random.seed(42)
    w, u = np.random.randn(width, width) / np.sqrt(width), np.random.randn(width, width) / np.sqrt(width)
    one = np.random.randn(n, width)
    other = one.copy()
    other[0] = np.random.randn(width)
    apart = np.linalg.norm(states(one, w, u) - states(other, w, u), axis=1)
    return apart / apart[0]


def main():
    n, d = 32, 64
    x = given("X")
    found = {"hidden": states(x, given("W"), given("U")), "weights": softmax(x @ x.T / np.sqrt(3))}
    for name in ("he", "she", "bank"):
        found[name + "_weights"] = softmax(given(name + "_query") @ given(name + "_keys").T / np.sqrt(5))
    found["costs"] = np.array([[n, n - 1, n * d * d], [1, 1, n * n * d]], dtype=float)
    found["left"] = left_of_the_first(n)
    found["found"] = np.array([np.exp(8) / (np.exp(8) + others) for others in range(n)])
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
