"""Linear attention, in Python."""

import attnscope as at
import numpy as np

# [order]
np.random.seed(42)
Q, K, V = (np.random.randn(6, 4).astype(np.float32) for _ in range(3))


# [feature]
def elu_plus_one(x):
    return np.where(x > 0, x + 1, np.exp(x))


phi_Q, phi_K = elu_plus_one(Q), elu_plus_one(K)

# [state]
S = phi_K.T @ V  # [4, 4], whatever the number of tokens
z = phi_K.sum(axis=0)
output = phi_Q @ S / (phi_Q @ z + 1e-6)[:, None]
fused = at.linear_attention(Q, K, V)  # all of it in one call

# [same]
kernel = phi_Q @ phi_K.T
shares = kernel / kernel.sum(axis=1, keepdims=True)
quadratic_output = shares @ V

# [causal]
causal_output = at.linear_attention(Q, K, V, causal=True)

# [own]
own_output = at.linear_attention(Q, K, V, feature=lambda x: np.concatenate([np.exp(x), np.exp(-x)], axis=-1))

# []
np.testing.assert_allclose(fused, quadratic_output, atol=1e-5)
