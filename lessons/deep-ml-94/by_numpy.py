"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def draw(rows, width):
    np.random.seed(42)
    x = np.random.permutation(np.arange(rows * width)).reshape(rows, width)
    return [x] + [np.random.randint(0, below, size=(width, width)) for below in (4, 5, 6)]


def split(x, heads):
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def solve(drawn, heads, scale=None):
    x, w_q, w_k, w_v = drawn
    q, k, v = (split(x @ w, heads) for w in (w_q, w_k, w_v))
    weights = softmax(q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale))
    return weights, weights @ v


def joined(heads):
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def main():
    first, second = draw(4, 4), draw(6, 8)
    found = dict(zip(("X", "W_q", "W_k", "W_v"), first, strict=True)) | {"X_6": second[0]}
    found["weights"], found["head_outputs"] = solve(first, 2)
    found["output"] = joined(found["head_outputs"])
    found["unscaled_output"] = joined(solve(first, 2, 1)[1])
    calm = [first[0] / 20, *first[1:]]
    found["calm_output"] = joined(solve(calm, 2)[1])
    found["calm_unscaled"] = joined(solve(calm, 2, 1)[1])
    found["output_4_heads"] = joined(solve(second, 4)[1])
    found["output_2_heads"] = joined(solve(second, 2)[1])
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
