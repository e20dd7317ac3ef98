"""The whole Transformer, in Python."""

import attnscope as at
import numpy as np

# [plan]
model = at.load("tiny-translate")
recording = model.record("I love you", hidden=True)

# [embed]
embedded = recording.hidden(0)

# [encoder]
encoder_weights = recording.weights(layer=1, head=0)
memory = recording.hidden(-1)
states = [recording.hidden(n) for n in range(3)]
encoder_moves = np.array([np.linalg.norm(b - a, axis=1) for a, b in zip(states, states[1:])])

# [decoder]
decoder_in = recording.hidden(0, decoder=True)
decoder_weights = recording.weights(layer=1, head=0, kind="decoder")

# [cross]
cross_weights = recording.weights(layer=1, head=0, kind="cross")

# [write]
decoder_out = recording.hidden(-1, decoder=True)
written = recording.queries("cross")

# [exercise]
attentions = sum(stack.layers * stack.heads for stack in recording.stacks)

# []
assert recording.target == "我爱你" and np.triu(decoder_weights, 1).max() == 0
