"""A trace, in Python."""

import attnscope as at
import numpy as np

# [input]
X = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], dtype=float)  # I, love, AI

# [weights-of-the-layer]
np.random.seed(42)
W_q, W_k, W_v = (np.random.randn(4, 4) for _ in range(3))

# [project]
Q, K, V = X @ W_q, X @ W_k, X @ W_v

# [scores]
scores = Q @ K.T

# [scaled]
scaled = scores / np.sqrt(Q.shape[1])

# [softmax]
powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
weights = powers / powers.sum(axis=1, keepdims=True)
row_sums = weights.sum(axis=1)

# [output]
output = weights @ V
fused = at.attention(*(a.astype(np.float32) for a in (Q, K, V)))

# []
np.testing.assert_allclose(fused, output, rtol=1e-4)
