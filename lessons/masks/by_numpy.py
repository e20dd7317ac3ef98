"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np

IDS1 = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0]])
IDS2 = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0]])
IDS3 = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def lower(n):
    return np.tril(np.ones((n, n), dtype=bool))


def window(n, width):
    seen = np.zeros((n, n), dtype=bool)
    for i in range(n):
        seen[i, max(0, i - width) : min(n, i + width + 1)] = True
    return seen


def local_and_global(n, stride):
    seen = window(n, stride)
    seen[:, ::stride] = True
    seen[::stride, :] = True
    return seen


def three_words():
    """As the lesson on self-attention: the masked weights and those of a row that sees nothing."""
    np.random.seed(42)
    x = np.random.randn(3, 4)
    q, k, v = (x @ np.random.randn(4, 3) for _ in range(3))
    scaled = q @ k.T / np.sqrt(3)
    added = np.zeros((3, 3))
    added[0, 1:] = -1e9
    weights = softmax(scaled + added)
    blind = np.zeros((3, 3), dtype=np.float32)
    blind[1] = -1e9
    of_floats = softmax(scaled.astype(np.float32) + blind)
    zeros = np.where(blind < 0, 0, of_floats)
    return {
        "weights": softmax(scaled),
        "masked_weights": weights,
        "masked_output": weights @ v,
        "float32_weights": of_floats,
        "blind_weights": zeros,
        "blind_output": zeros @ v,
    }


def two_texts():
    np.random.seed(42)
    x = np.random.randn(2, 5, 8)
    scores = x @ x.transpose(0, 2, 1) / np.sqrt(8)
    padding = (IDS2 != 0)[:, None]
    weights = softmax(np.where(padding & lower(5), scores, -np.inf))
    wrong = softmax(np.where(padding[:, :, None], scores, -np.inf))
    return {"both_weights": weights, "both_output": weights @ x, "both_sums": np.ones((2, 5)), "wrong_weights": wrong}


def yours():
    n = 8
    i, j = np.indices((n, n))
    seen = (j <= i) & (abs(i - j) <= 3) | (j < 1)
    np.random.seed(42)
    x = np.random.randn(n, 8)
    weights = softmax(np.where(seen, x @ x.T / np.sqrt(8), -np.inf))
    return {"yours": seen, "yours_pairs": seen.sum(), "yours_weights": weights}


def main():
    i, j = np.indices((8, 8))
    lengths = [16, 64, 256, 1024, 4096]
    found = {
        "added4": np.where(lower(4), 0, -np.inf),
        "causal5": lower(5),
        "padding_ids1": (IDS1 != 0)[:, None],
        "padding_ids2": (IDS2 != 0)[:, None],
        "combined": (IDS3 != 0)[:, None] & lower(5),
        "window": window(8, 2),
        "window_pairs": window(8, 2).sum(),
        "back_pairs": (window(8, 2) & lower(8)).sum(),
        "sparse": local_and_global(16, 4),
        "sparse_pairs": local_and_global(16, 4).sum(),
        "sparse_density": np.array([local_and_global(n, 4).mean() for n in lengths]),
        "window_density": np.array([window(n, 2).mean() for n in lengths]),
        "limit": np.float64(7 / 16),
        "prefix": (j <= i) | (j < 3),
        "document": (j <= i) & ((i < 3) == (j < 3)),
        "block": i // 4 == j // 4,
        **three_words(),
        **two_texts(),
        **yours(),
    }
    text = json.dumps({name: np.asarray(array, dtype=float).tolist() for name, array in found.items()})
    print(text.replace("-Infinity", "null"))


main()
