"""Deep-ML 94, in Python."""

import attnscope as at
import numpy as np

# [problem]
np.random.seed(42)
X = np.random.permutation(np.arange(16)).reshape(4, 4)
W_q, W_k, W_v = (np.random.randint(0, below, size=(4, 4)) for below in (4, 5, 6))

# [project]
Q, K, V = X @ W_q, X @ W_k, X @ W_v


def split(x, heads):  # [N, d_model] to [h, N, d_k]
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


# [weights]
q, k, v = (np.ascontiguousarray(split(a, 2), np.float32) for a in (Q, K, V))
head_outputs, weights = at.attention(q, k, v, return_weights=True)

# [output]
output = head_outputs.swapaxes(0, 1).reshape(4, 4)
