"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def split(x, heads):
    batch, words, width = x.shape
    return x.reshape(batch, words, heads, width // heads).transpose(0, 2, 1, 3)


def main():
    np.random.seed(42)
    x = np.random.randn(2, 10, 512)
    w_q, w_k, w_v, w_o = (np.random.randn(512, 512) / np.sqrt(512) for _ in range(4))
    q, k, v = (split(x @ w, 8) for w in (w_q, w_k, w_v))
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(64))
    output = (weights @ v).transpose(0, 2, 1, 3).reshape(2, 10, 512) @ w_o
    one = softmax((x @ w_q) @ (x @ w_k).swapaxes(-1, -2) / np.sqrt(512))
    small = np.arange(12).reshape(1, 3, 4)
    found = {
        "X_shape": x.shape,
        "one_weights_shape": one.shape,
        "one_output_shape": (one @ (x @ w_v)).shape,
        "weights_shape": weights.shape,
        "output_shape": output.shape,
        "count": weights.size,
        "d_k": q.shape[-1],
        "head_weights": weights[0, 0].tolist(),
        "output_start": output[0, :, :8].tolist(),
        "small_split": split(small, 2).tolist(),
        "small_joined": small.tolist(),
        "small_wrong": small.reshape(1, 2, 3, 2).tolist(),
    }
    print(json.dumps(found))


main()
