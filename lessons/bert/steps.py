"""BERT looks at a sentence, in Python."""

import attnscope as at
import numpy as np

# [model]
model = at.load("tiny-bert")  # or "bert-base-uncased", once it has been fetched
layers, heads = model.layers, model.heads

# [tokens]
tokens = [token.text for token in model.tokenize("The cat sat on the mat.")]

# [lines]
recording = model.record("The cat sat on the mat.")
cat_attention = recording.weights()  # [layers, heads, N, N]

# [word]
cat = cat_attention[:, :, tokens.index("cat")]  # [layers, heads, N]
places = cat.reshape(layers * heads, -1).argmax(axis=0)
where = [[n // heads, n % heads] for n in places]
looks = [[cat[layer, head, j]] for j, (layer, head) in enumerate(where)]

# [heatmap]
fox = model.record("The quick brown fox jumps over the lazy dog.")
fox_weights = fox.weights(layer=-1, head=0)
first_to_last, noun_to_last = float(fox_weights[0, -1]), float(fox_weights[4, -1])

# [resting]
on_last = fox.weights()[..., -1].mean(axis=(1, 2))

# [exercise]
rest = 1 - noun_to_last

# []
np.testing.assert_allclose(cat_attention.sum(axis=-1), 1, atol=1e-5)
