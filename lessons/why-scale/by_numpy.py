"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def gradient(p):
    return np.linalg.norm(np.diag(p) - np.outer(p, p))


def spread(width):
    np.random.seed(42)
    q, k = np.random.randn(500, width), np.random.randn(500, width)
    dots = (q * k).sum(axis=1)
    return [dots.mean(), dots.var()]


def means(width):
    np.random.seed(42)
    found = []
    for _ in range(200):
        q, k = np.random.randn(width), np.random.randn(8, width)
        plain, scaled = softmax(k @ q), softmax(k @ q / np.sqrt(width))
        found.append([entropy(plain), entropy(scaled), gradient(plain), gradient(scaled)])
    return np.mean(found, axis=0)


def main():
    large = np.array([[1.0, 2.0, 100.0]])
    weights, calm = softmax(large), softmax(large / np.sqrt(512))
    np.random.seed(42)
    q, k = np.random.randn(1, 512), np.random.randn(8, 512)
    found = {
        "spread": np.array([spread(width) for width in (4, 16, 64, 256, 512)]),
        "large_weights": weights,
        "calm_weights": calm,
        "large_gradient": gradient(weights[0]),
        "calm_gradient": gradient(calm[0]),
        "dots": q @ k.T,
        "plain_weights": softmax(q @ k.T),
        "scaled": q @ k.T / np.sqrt(512),
        "weights": softmax(q @ k.T / np.sqrt(512)),
        "by_width": np.array([means(2**n) for n in range(10)]),
        "high_weights": softmax(np.array([[1000.0, 1001.0, 1002.0]])),
        "rows_weights": softmax(np.array([[1000.0, 1001.0], [1.0, 2.0]])),
    }
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
