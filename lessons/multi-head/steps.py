"""Many heads, in Python."""

import attnscope as at
import numpy as np


def split(x, heads):  # [N, d_model] to [h, N, d_k]
    return np.ascontiguousarray(x.reshape(len(x), heads, -1).swapaxes(0, 1), np.float32)


def join(x):  # and back
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


# [critic]
marks = np.array([[-0.5, 0.9, 0.4, 0.8]])  # plot, acting, effects, score
Q, K, V = np.full((1, 4), 2.0), 2 * np.eye(4), np.diag(marks[0])
one_output, one_weights = at.attention(*(a.astype(np.float32) for a in (Q, K, V)), return_weights=True)

# [heads]
mixed, shares = at.attention(split(Q, 4), split(K, 4), split(V, 4), return_weights=True)
heads_weights, heads_output = shares[:, 0], join(mixed)

# [layer]
np.random.seed(42)
X = np.random.randn(3, 8)
W_q, W_k, W_v, W_o = (np.random.randn(8, 8) / np.sqrt(8) for _ in range(4))
mixed, weights = at.attention(split(X @ W_q, 4), split(X @ W_k, 4), split(X @ W_v, 4), return_weights=True)
concat = join(mixed)
output = concat @ W_o

# [wrong]
mean_mark = float(heads_output.mean())  # do not do this
