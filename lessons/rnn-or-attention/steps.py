"""Word by word, or all at once, in Python."""

import attnscope as at
import numpy as np

# [she]
#   person, male, female, thing, money
she_keys = np.array(
    [
        [2, 2, 0, 0, 0],  # 小明
        [0, 0, 0, 0, 0],  # 把
        [0, 0, 0, 2, 0],  # 苹果
        [0, 0, 0, 0.5, 0],  # 给了
        [2, 0, 2, 0, 0],  # 小红
        [0, 0, 0, 0, 0],  # ，
        [1, 0, 1, 0, 0],  # 她
        [0, 0, 0, 0, 0],  # 很
        [1, 0, 0, 0, 0],  # 开心
    ],
    np.float32,
)
she_query = np.array([[2, 0, 2, 0, 0]], np.float32)
she_weights = at.attention(she_query, she_keys, she_keys, return_weights=True)[1]

# [in-turn]
X = np.array([[1, 0, 0.5], [0.2, 1, 0], [0, 0.8, 0.6], [0.9, 0, 1]], np.float32)  # 我 喜欢 吃 苹果
W = np.array([[0.5, -0.3], [0.2, 0.6]])
U = np.array([[0.8, 0.1], [-0.4, 0.7], [0.3, 0.5]])
state, hidden = np.zeros(2), []
for x in X:  # each step waits for the one before
    state = np.tanh(state @ W + x @ U)
    hidden.append(state)
weights = at.attention(X, X, X, return_weights=True)[1]  # all pairs at once

# [path]
n, d = 32, 64
costs = [[n, n - 1, n * d * d], [1, 1, n * n * d]]  # steps, path, products

# []
hidden = np.array(hidden)
