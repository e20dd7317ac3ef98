"""Cross-attention, in Python."""

import attnscope as at
import numpy as np

# [two-lines]
np.random.seed(42)
encoder, decoder = np.random.randn(2, 20, 256), np.random.randn(2, 10, 256)
W_q, W_k, W_v = (np.random.randn(256, 256) / 16 for _ in range(3))
Q, K, V = decoder @ W_q, encoder @ W_k, encoder @ W_v

# [shapes]
Q, K, V = (x.reshape(2, -1, 4, 64).swapaxes(1, 2).astype(np.float32) for x in (Q, K, V))  # [2, 4, N, 64]

# [mask]
mask = at.padding([20, 13])  # real tokens of the two sources
context, weights = at.attention(Q, K, V, mask=mask, return_weights=True)  # weights [2, 4, 10, 20]
first_row = weights[1, 0, 0]

# [dropout]
learning, shown = at.attention(Q, K, V, mask=mask, dropout=0.1, seed=42, return_weights=True)
shown_difference = float(np.abs(shown - weights).max())  # the weights shown are those before dropout

# []
output = context.swapaxes(1, 2).reshape(2, 10, 256) @ (np.random.randn(256, 256) / 16)
output_start = output[0, 0, :8]
