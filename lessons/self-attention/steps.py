"""Self-attention, in Python."""

import attnscope as at
import numpy as np

# [input]
np.random.seed(42)
X = np.random.randn(3, 4)

# [project]
d_k = 3
W_q, W_k, W_v = (np.random.randn(4, d_k) for _ in range(3))
Q, K, V = X @ W_q, X @ W_k, X @ W_v


# [weights]
def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


scores = Q @ K.T
scaled = scores / np.sqrt(d_k)
weights = softmax(scaled)
row_sums = weights.sum(axis=1)

# [output]
output = weights @ V
fused = at.attention(*(a.astype(np.float32) for a in (Q, K, V)))  # all of it in one call

# [axis]
wrong_weights = softmax(scaled, axis=0)  # do not do this
wrong_sums = wrong_weights.sum(axis=1)  # not 1

# [words]
np.random.seed(42)
five_X = np.random.randn(5, 5)
five_weights = softmax(five_X @ five_X.T / np.sqrt(5))
for word, row in zip(["我", "喜欢", "学习", "AI", "技术"], five_weights, strict=True):
    print(word, " ".join(f"{weight:.3f} {'█' * int(40 * weight)}" for weight in sorted(row, reverse=True)))

# []
np.testing.assert_allclose(fused, output, rtol=1e-4)
