"""Attention in five parts, in Python."""

import attnscope as at
import numpy as np

# [self]
np.random.seed(42)
X = np.random.randn(5, 8).astype(np.float32)
self_output, self_weights = at.attention(X, X, X, return_weights=True)

# [qkv]
W_q, W_k, W_v = (np.random.randn(8, 8).astype(np.float32) / np.sqrt(8, dtype=np.float32) for _ in range(3))
Q, K, V = X @ W_q, X @ W_k, X @ W_v
output, weights = at.attention(Q, K, V, return_weights=True)

# [causal]
causal_output, causal_weights = at.attention(Q, K, V, mask=at.causal(), return_weights=True)

# [heads]
split = [part.reshape(5, 4, 2).transpose(1, 0, 2) for part in (Q, K, V)]  # [heads, N, 2]
head_output, head_weights = at.attention(*split, return_weights=True)

# [picture]
np.random.seed(42)
random_rows = np.random.rand(5, 5)
random_rows /= random_rows.sum(axis=1, keepdims=True)

# [wrong]
too_late = weights * np.tril(np.ones((5, 5)))  # rows no longer sum to 1

# []
assert too_late.sum(axis=1).min() < 0.9
