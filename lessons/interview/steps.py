"""Questions and proofs, in Python."""

import attnscope as at
import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# [formula]
Q = np.array([[1, 0]], np.float32)
K = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
V = np.array([[10, 0], [0, 20], [30, 0]], np.float32)
output, weights = at.attention(Q, K, V, return_weights=True)

# [scale]
np.random.seed(42)
q, k = np.random.randn(1000, 512), np.random.randn(1000, 512)
variance = float(((q * k).sum(axis=1) ** 2).mean())
scaled_variance = variance / 512
unscaled_weights = softmax(q[:4] @ k[:6].T)
scaled_weights = softmax(q[:4] @ k[:6].T / np.sqrt(512))

# [softmax]
three = np.array([[3.0, 1, 1]])
softmax_sum = float(softmax(three).sum())
plain_shares = three / three.sum()
slope = float(softmax(three)[0, 0] * (1 - softmax(three)[0, 0]))

# [cross]
np.random.seed(42)
own, other = np.random.randn(3, 4).astype(np.float32), np.random.randn(5, 4).astype(np.float32)
self_output, self_weights = at.attention(own, own, own, return_weights=True)
cross_output, cross_weights = at.attention(own, other, other, return_weights=True)

# [heads]
tables = at.load("tiny-bert").record("The film was good").weights(layer=1)
learned = np.array([[np.diagonal(head, o).mean() for o in (-1, 0, 1)] for head in tables])

# [bert]
bert_right = float(np.triu(at.load("tiny-bert").record("The film was good").weights(), 1).sum(-1).mean())
gpt_right = float(np.triu(at.load("tiny-gpt").record("The film was good").weights(), 1).sum(-1).mean())

# [checklist]
eye = np.eye(2, dtype=np.float32)
answer53 = at.attention(eye, eye, eye @ np.array([[1, 2], [3, 4]], np.float32))
