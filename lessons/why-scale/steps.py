"""Why divide by sqrt(d_k), in Python."""

import attnscope as at
import numpy as np


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))  # the row's largest
    return powers / powers.sum(axis=-1, keepdims=True)


# [variance]
spread = []
for width in (4, 16, 64, 256, 512):
    np.random.seed(42)
    q, k = np.random.randn(500, width), np.random.randn(500, width)
    products = (q * k).sum(axis=1)
    spread.append([products.mean(), products.var()])


# [saturation]
def gradient_norm(weights):
    return np.linalg.norm(np.diag(weights) - np.outer(weights, weights))


large = np.array([[1.0, 2.0, 100.0]])
large_weights = softmax(large)
large_gradient = float(gradient_norm(large_weights[0]))

# [scaled]
calm_weights = softmax(large / np.sqrt(512))
calm_gradient = float(gradient_norm(calm_weights[0]))

# [example]
np.random.seed(42)
Q = np.random.randn(1, 512).astype(np.float32)
K = np.random.randn(8, 512).astype(np.float32)
_, weights = at.attention(Q, K, K, return_weights=True)
_, plain_weights = at.attention(Q, K, K, scale=1.0, return_weights=True)

# [overflow]
high = np.array([[1000.0, 1001.0, 1002.0]])
with np.errstate(over="ignore", invalid="ignore"):
    naive = np.exp(high) / np.exp(high).sum()  # nan, nan, nan
high_weights = softmax(high)

# [maximum]
rows = np.array([[1000.0, 1001.0], [1.0, 2.0]])
powers = np.exp(rows - rows.max())  # the second row: 0, 0
rows_weights = softmax(rows)

# []
assert np.isnan(naive).all() and powers[1].sum() == 0
