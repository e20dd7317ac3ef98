"""Shapes, in Python."""

import attnscope as at
import numpy as np

# [letters]
B, N, d_model, h = 2, 10, 512, 8
np.random.seed(42)
X = np.random.randn(B, N, d_model)
W_q, W_k, W_v, W_o = (np.random.randn(d_model, d_model) / np.sqrt(d_model) for _ in range(4))

# [one]
Q, K, V = X @ W_q, X @ W_k, X @ W_v  # [2, 10, 512]
scores = Q @ K.swapaxes(-1, -2) / np.sqrt(d_model)  # [2, 10, 10]


# [split]
def split(x, heads):  # [B, N, d_model] to [B, h, N, d_k]
    batch, words, width = x.shape
    if width % heads != 0:
        raise ValueError(f"d_model {width} cannot be split into {heads} heads of equal width")
    return x.reshape(batch, words, heads, width // heads).transpose(0, 2, 1, 3)


small = np.arange(12).reshape(1, 3, 4)
small_split = split(small, 2)


# [join]
def join(x):  # [B, h, N, d_k] to [B, N, d_model]
    batch, heads, words, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, words, heads * width)


small_joined = join(small_split)
small_wrong = small.reshape(1, 2, 3, 2)  # do not do this

# [heads]
q, k, v = (np.ascontiguousarray(split(a, h), np.float32) for a in (Q, K, V))  # [2, 8, 10, 64]
context, weights = at.attention(q, k, v, return_weights=True)  # [2, 8, 10, 64], [2, 8, 10, 10]
output = join(context) @ W_o  # [2, 10, 512]

# [proof]
head_weights = weights[0, 0]
output_start = output[0, :, :8]
weights_shape, output_shape = list(weights.shape), list(output.shape)

# [exercise]
count = weights.size
