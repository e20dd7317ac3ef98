"""What a layer's heads do, in Python."""

import attnscope as at
import numpy as np

# [grid]
np.random.seed(42)
scores = np.random.randn(8, 5, 5)
powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
attention = powers / powers.sum(axis=-1, keepdims=True)  # [heads, N, N]

# [entropy]
entropy = -(attention * np.log(attention)).sum(axis=-1).mean(axis=-1)
mean_entropy = float(entropy.mean())

# [received]
received = attention.sum(axis=1)
mean_received = received.mean(axis=0)[None]

# [outgoing]
outgoing = attention.sum(axis=2)

# [diagonal]
diagonal = np.diagonal(attention, axis1=1, axis2=2)
mean_diagonal = diagonal.mean(axis=0)[None]

# [few]
np.random.seed(42)
few = np.random.randn(4, 3, 3)
few_attention = np.exp(few) / np.exp(few).sum(axis=-1, keepdims=True)

# [trained]
recording = at.load("tiny-bert").record("The cat sat on the mat.")
trained_attention = recording.weights(layer=1)
trained_entropy = recording.statistics().array("entropy")[1]

# [wrong]
mean = attention.mean(axis=0)
entropy_of_mean = float(-(mean * np.log(mean)).sum(axis=-1).mean())

# []
assert entropy_of_mean > mean_entropy
