"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def split(x, heads):
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def multi_head(q, k, v, heads):
    q, k, v = (split(x, heads) for x in (q, k, v))
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return weights, (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def main():
    marks = np.array([[-0.5, 0.9, 0.4, 0.8]])
    q, k, v = np.full((1, 4), 2.0), 2 * np.eye(4), np.diag(marks[0])
    found = {"marks": marks}
    weights, found["one_output"] = multi_head(q, k, v, 1)
    found["one_weights"] = weights[0]
    weights, found["heads_output"] = multi_head(q, k, v, 4)
    found["heads_weights"] = weights[:, 0]
    found["mean_mark"] = found["heads_output"].mean()
    found["largest_share"] = weights.max()
    np.random.seed(42)
    x = np.random.randn(3, 8)
    w_q, w_k, w_v, w_o = (np.random.randn(8, 8) / np.sqrt(8) for _ in range(4))
    found["X"] = x
    found["weights"], found["concat"] = multi_head(x @ w_q, x @ w_k, x @ w_v, 4)
    found["output"] = found["concat"] @ w_o
    weights, single = multi_head(x @ w_q, x @ w_k, x @ w_v, 1)
    found["single_weights"], found["single_output"] = weights[0], single @ w_o
    found["apart"] = np.abs(found["weights"] - found["weights"][0]).max()
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
