"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

HERE = Path(__file__).parent
N, WIDTH, BASE, SHIFT = 16, 16, 10000.0, 4


def attended(x):
    scores = x @ x.T / np.sqrt(x.shape[1])
    powers = np.exp(scores)
    return powers / powers.sum(axis=1, keepdims=True) @ x


def waves(n, width):
    angles = np.arange(n)[:, None] / BASE ** (np.arange(0, width, 2) / width)
    table = np.empty((n, width))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def turned(x):
    """Number j and number j + width / 2 as one complex number, which is turned."""
    angles = np.arange(N)[:, None] / BASE ** (np.arange(0, WIDTH, 2) / WIDTH)
    number = (x[: WIDTH // 2] + 1j * x[WIDTH // 2 :]) * np.exp(1j * angles)
    return np.concatenate([number.real, number.imag], axis=1)


def turned_neighbours(x):
    angles = np.arange(N)[:, None] / BASE ** (np.arange(0, WIDTH, 2) / WIDTH)
    number = (x[0::2] + 1j * x[1::2]) * np.exp(1j * angles)
    return np.stack([number.real, number.imag], axis=2).reshape(N, WIDTH)


def spread(table):
    return max(np.ptp(np.diagonal(table, k)) for k in range(1 - N, N))


def main():
    x = np.array(json.loads((HERE / "lesson.json").read_text())["data"]["X"])
    places, table = waves(3, 4), waves(N, WIDTH)
    np.random.seed(42)
    q, k = np.random.randn(WIDTH), np.random.randn(WIDTH)
    dots = turned(q) @ turned(k).T
    wave_dots = table @ table.T
    learned = load_file(HERE.parents[1] / "models/tiny-gpt/model.safetensors")["transformer.wpe.weight"].astype(float)
    units = learned[:N] / np.linalg.norm(learned[:N], axis=1, keepdims=True)
    pairs = [(first, first + SHIFT) for first in (0, 3, 7)]
    found = {
        "output": attended(x),
        "other_output": attended(x[::-1]),
        "placed_output": attended(x + places),
        "placed_other_output": attended(x[::-1] + places),
        "waves": table,
        "wave_dots": wave_dots,
        "wave_pairs": np.array([wave_dots[pair] for pair in pairs]),
        "learned_size": np.array(learned.shape, dtype=float),
        "alike": units @ units.T,
        "turned_q": turned(q),
        "turned_k": turned(k),
        "rope_dots": dots,
        "rope_spread": np.float64(0),
        "rope_pairs": np.array([dots[pair] for pair in pairs]),
        "added_spread": spread((q + table) @ (k + table).T),
        "mixed_spread": spread(turned(q) @ turned_neighbours(k).T),
    }
    print(json.dumps({name: np.asarray(array).tolist() for name, array in found.items()}))


main()
