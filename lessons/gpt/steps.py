"""How GPT writes, in Python."""

import attnscope as at
import numpy as np

# [look]
model = at.load("tiny-gpt")
recording = model.record("This movie is one of the best films of the year.")
attention = recording.weights(layer=0, head=2)
above = float(np.triu(attention, 1).max())
before = float(np.diagonal(attention, -1).mean())

# [greedy]
greedy_text = model.generate("This movie is", max_tokens=14)["text"]

# [temperature]
logits = np.array([2.0, 1.0, 0.0])
colder, hotter = (np.exp(logits / t) / np.exp(logits / t).sum() for t in (0.5, 2))

# [draw]
drawn_text = model.generate("This movie is", max_tokens=14, temperature=0.8, seed=1)["text"]

# []
assert colder[0] > hotter[0] and greedy_text != drawn_text
