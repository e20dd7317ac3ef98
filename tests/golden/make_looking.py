"""Writes looking.json: heads without their sinks, and what two readings have different, as numpy has them.

    python tests/golden/make_looking.py
"""

import json
import pathlib

import numpy as np

SEED = 8
TOKENS_A = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]", "it", "is", "old", "[SEP]"]
# "cat" and "old" are not there, "dog" and "very" are new.
TOKENS_B = ["[CLS]", "the", "dog", "sat", "on", "the", "mat", "[SEP]", "it", "is", "very", "very", "[SEP]"]
PAIRS = [(0, 0), (1, 1), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (9, 9), (11, 12)]


def rows(rng, n):
    scores = 4 * rng.standard_normal((n, n))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def aside(weights, tokens):
    left = weights.astype(np.float64)
    left[:, [j for j, token in enumerate(tokens) if j == 0 or token.startswith("[")]] = 0
    sums = left.sum(axis=1, keepdims=True)
    return np.divide(left, sums, out=np.zeros_like(left), where=sums > 1e-6)


def difference(a, b):
    out = np.full(a.shape, np.nan)
    for i, i_b in PAIRS:
        for j, j_b in PAIRS:
            out[i, j] = float(a[i, j]) - float(b[i_b, j_b])
    return out


def reduced(table, level):
    """The number of each cell of 2^level x 2^level that is farthest from 0."""
    side = 2**level
    cells = -(-table.shape[0] // side)
    out = np.full((cells, cells), np.nan)
    for r in range(cells):
        for c in range(cells):
            part = table[r * side : (r + 1) * side, c * side : (c + 1) * side]
            if not np.isnan(part).all():
                out[r, c] = part.flat[np.nanargmax(np.abs(part))]
    return out


def in_bytes(table):
    coded = 128 + np.sign(table) * np.floor(127 * np.sqrt(np.abs(table)) + 0.5)
    return np.where(np.isnan(table), 0, coded).astype(int).tolist()


def main():
    rng = np.random.default_rng(SEED)
    a, b = rows(rng, len(TOKENS_A)), rows(rng, len(TOKENS_B))
    a[3] = 0  # of this row nothing is left
    a[3, [0, 7]] = 0.75, 0.25
    table = difference(a, b)
    norms = rng.uniform(0.1, 5, size=len(TOKENS_A)).astype(np.float32)
    by_value = a * norms
    scale = by_value.max()
    golden = {
        "seed": SEED,
        "tokens_a": TOKENS_A,
        "tokens_b": TOKENS_B,
        "a": a.tolist(),
        "b": b.tolist(),
        "aside": aside(a, TOKENS_A).tolist(),
        "pairs": PAIRS,
        "difference": [[None if np.isnan(x) else x for x in row] for row in table],
        "difference_bytes": [in_bytes(reduced(table, level)) for level in range(5)],
        "norms": norms.tolist(),
        "value_scale": float(scale),
        "value_bytes": np.floor(255 * np.sqrt(by_value.astype(np.float64) / scale) + 0.5).astype(int).tolist(),
    }
    file = pathlib.Path(__file__).with_name("looking.json")
    file.write_text(json.dumps(golden, separators=(",", ":")).replace("],[", "],\n[") + "\n")


main()
