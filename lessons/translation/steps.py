"""Cross-attention lines up words, in Python."""

import attnscope as at
import numpy as np

# [pair]
model = at.load("tiny-translate")
recording = model.record("I love you")  # translated, and recorded while it was
translation = recording.target

# [read]
source = recording.keys("cross")

# [write]
written = recording.queries("cross")

# [cross]
cross = recording.weights(layer=1, head=0, kind="cross")  # [written, source]
picked = cross.argmax(axis=1)
aligned = [f"{word} → {source[n]}" for word, n in zip(written, picked)]

# [order]
longer = model.record("My mother drinks coffee every day")
longer_cross = longer.weights(layer=1, head=0, kind="cross")

# [wrong]
first_mean = recording.weights(layer=0, kind="cross").mean(axis=0)

# [exercise]
asked_rest = float(1 - cross[1].max())

# []
assert translation == "我爱你"
assert aligned[1:4] == ["我 → I", "爱 → love", "你 → you"]
np.testing.assert_allclose(cross.sum(axis=1), 1, atol=1e-5)
