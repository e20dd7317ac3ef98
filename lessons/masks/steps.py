"""Masks, in Python."""

import attnscope as at
import numpy as np

# [causal]
added4 = np.where(np.tril(np.ones((4, 4))) == 1, 0, -np.inf)
causal5 = at.causal().table(1, 1, 5, 5)[0, 0]  # True: may be seen

# [padding]
ids1 = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0]])
ids2 = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0]])
padding_ids1 = (ids1 != 0)[:, None]  # [2, 1, 5]
padding_ids2 = (ids2 != 0)[:, None]

# [combined]
ids3 = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
mask = at.causal() & at.mask(ids3 != 0, axes="BM")
combined = mask.table(2, 1, 5, 5)[:, 0]

# [both]
np.random.seed(42)
x = np.random.randn(2, 5, 8).astype(np.float32)[:, None]  # [2, 1, 5, 8]: one head
mask = at.causal() & at.mask(ids2 != 0, axes="BM")
mixed, shares = at.attention(x, x, x, mask=mask, return_weights=True)
both_output, both_weights = mixed[:, 0], shares[:, 0]
both_sums = both_weights.sum(axis=-1)

# [added]
np.random.seed(42)
X = np.random.randn(3, 4)
Q, K, V = (X @ np.random.randn(4, 3) for _ in range(3))
Q, K, V = (array.astype(np.float32) for array in (Q, K, V))
added = np.array([[0, -1e9, -1e9], [0, 0, 0], [0, 0, 0]], np.float32)
masked_output, masked_weights = at.attention(Q, K, V, mask=added, return_weights=True)

# [blind]
nothing = np.array([[0, 0, 0], [-1e9, -1e9, -1e9], [0, 0, 0]], np.float32)
blind_output, blind_weights = at.attention(Q, K, V, mask=nothing, return_weights=True)  # row 1: zeros
scores = Q @ K.T / np.sqrt(np.float32(3)) + nothing
powers = np.exp(scores - scores.max(axis=1, keepdims=True))
float32_weights = powers / powers.sum(axis=1, keepdims=True)  # row 1: 1/3 each

# [sparse]
window = at.window(2).table(1, 1, 8, 8)[0, 0]
sparse = at.sparse(4).table(1, 1, 16, 16)[0, 0]
window_pairs, sparse_pairs = int(window.sum()), int(sparse.sum())

# [yours]
prefix = at.mask("causal | prefix(3)").table(1, 1, 8, 8)[0, 0]
document = at.mask("causal & document(0,0,0,1,1,1,1,1)").table(1, 1, 8, 8)[0, 0]
block = at.mask("block(4)").table(1, 1, 8, 8)[0, 0]
yours = at.mask("causal & window(3) | prefix(1)").table(1, 1, 8, 8)[0, 0]
