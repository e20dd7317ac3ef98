"""Relative positions, in Python."""

import attnscope as at
import numpy as np
import torch

# [table]
R, H = 32, 4
places = np.arange(6)
index = np.clip(places[None, :] - places[:, None], -R, R) + R  # [6, 6], rows of the table

# [bias]
np.random.seed(42)
table = np.random.randn(2 * R + 1, H).astype(np.float32)
x = (np.random.randn(H, 6, 8) / 2).astype(np.float32)
bias = table[index].transpose(2, 0, 1)  # [4, 6, 6]
by_distance = at.clamped_relative(table, queries=6, keys=6)  # the same, 11 numbers a head
biased_weights = at.attention(x, x, x, bias=by_distance, return_weights=True)[1]

# [learn]
layer = at.nn.RelativePositionAttention(d_model=32, num_heads=H, max_rel_pos=R)
layer(torch.randn(2, 16, 32)).square().sum().backward()
learns = layer.relation.grad  # [65, 4]: a gradient for each distance and head

# [t5]
t5_distances = [-200, -128, -64, -16, -8, -7, -1, 0, 1, 7, 8, 16, 64, 128, 200]
numbers = np.arange(32, dtype=np.float32)[:, None]  # a table whose rows are their own numbers
looked_up = at.t5_bias(numbers, queries=201, keys=201).table[0]
t5_buckets = [[float(looked_up[distance + 200])] for distance in t5_distances]

# [alibi]
last = at.alibi(heads=H, queries=1, keys=6, query_offset=5)
alibi_last = last.table
nothing = np.zeros((H, 6, 8), np.float32)
alibi_weights = at.attention(nothing[:, :1], nothing, nothing, bias=last, return_weights=True)[1][:, 0]

# []
assert learns.shape == (65, 4)
assert float(learns[R].abs().sum()) > 0
