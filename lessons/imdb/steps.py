"""Attention over film reviews, in Python."""

import collections
import csv
from pathlib import Path

import attnscope as at
import numpy as np

# [data]
with open(Path(__file__).parent / "reviews.csv", encoding="utf-8", newline="") as file:
    texts = [row["text"] for row in csv.DictReader(file)]
samples = len(texts)

# [words]
length = 20
counts = collections.Counter(word for text in texts for word in text.lower().split())
words = ["<pad>", "<unk>", *sorted(counts, key=lambda word: (-counts[word], word))]
number = {word: n for n, word in enumerate(words)}
vocabulary = len(words)
rows = [[number[word] for word in text.lower().split()[:length]] for text in texts]
lengths = [len(row) for row in rows]
padded = np.array([row + [0] * (length - len(row)) for row in rows])
ids = padded[:1].T

# [embed]
np.random.seed(42)
embedding = np.random.randn(vocabulary, 64).astype(np.float32)
x = embedding[padded][:, None]  # [samples, 1 head, length, width]

# [attention]
outputs, tables = at.attention(x, x, x, return_weights=True)
weights, output = tables[0, 0], outputs[0, 0]

# [diagonal]
real = np.arange(length) < np.array(lengths)[:, None]
diagonal = float(np.diagonal(tables[:, 0], axis1=1, axis2=2)[real].mean())

# [pads]
_, masked = at.attention(x, x, x, mask=at.padding(lengths), return_weights=True)
masked_weights = masked[0, 0]
on_pads = float((tables[:, 0] * ~real[:, None, :]).sum(-1)[real].mean())

# [trained]
judged = at.load("imdb-sentiment").classify(texts[0])
judged_probability = judged["scores"][0]["probability"]

# [exercise]
weights_count = tables.size

# []
assert masked[:, 0][np.broadcast_to(~real[:, None, :], masked[:, 0].shape)].max() == 0
