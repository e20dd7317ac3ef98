# %% [markdown]
# # What does a model look at?
#
# A text is read by a model that is built in, what its attention did is recorded, and the head that is most worth a look is drawn.

# %%
import attnscope as at

recording = at.load("tiny-bert").record("The cat sat on the mat because it was tired.")
print(recording)

# %% [markdown]
# A number for each head: how widely it spreads its attention, from 0 (one token) to the logarithm of the number of tokens.

# %%
entropy = recording.statistics().array("entropy")  # [layers, heads]
for layer, row in enumerate(entropy):
    print(f"layer {layer}:", " ".join(f"{value:.2f}" for value in row))

# %% [markdown]
# The heads are ranked and named, each with its reason.

# %%
best = recording.analyze().look_at
print(f"look at layer {best.layer}, head {best.head}: {best.reason}")

# %% [markdown]
# Its weights are rebuilt now, as they are looked at: the recording has Q, K and one number a row.

# %%
weights = recording.weights(layer=best.layer, head=best.head)  # [tokens, tokens]
for token, row in zip(recording.tokens, weights):
    print(f"{token:>8} looks at {recording.tokens[row.argmax()]} ({row.max():.2f})")

# %%
figure = recording.figure("heatmap", layer=best.layer, head=best.head)
figure.save("head.svg")
figure  # a notebook shows it
