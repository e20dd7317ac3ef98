"""Attention by hand, in Python."""

import attnscope as at
import numpy as np

# [library]
Q = np.array([[1, 0]], np.float32)
K = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
V = np.array([[10, 0], [0, 20], [30, 0]], np.float32)

# [scores]
scores = Q @ K.T

# [scale]
scaled = scores / np.sqrt(Q.shape[1])

# [softmax]
powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # the row's largest, so that nothing overflows
weights = powers / powers.sum(axis=1, keepdims=True)

# [output]
output = weights @ V
fused = at.attention(Q, K, V)  # all of it in one call

# []
np.testing.assert_allclose(fused, output, rtol=1e-5)
