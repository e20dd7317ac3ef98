"""The numbers of this lesson by numpy, torch and transformers: python by_numpy.py > expected.json"""

import json

import numpy as np
import torch
from transformers.models.t5.modeling_t5 import T5Attention

N, WORDS, HEADS, REACH, WIDTH, SEED, STEPS, RATE = 16, 6, 4, 32, 8, 42, 200, 10.0
LOOKS_AT = [-1, 1, 0, -2]


def index(n):
    """As the class of the text has it: clamp(j - i, -R, R) + R."""
    places = torch.arange(n)
    return (places[None, :] - places[:, None]).clamp(-REACH, REACH) + REACH


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / np.sqrt(WIDTH)


def shown():
    """A random table, its bias and the weights of a few words."""
    np.random.seed(SEED)
    table = torch.tensor(np.random.randn(2 * REACH + 1, HEADS))
    x = torch.tensor(np.random.randn(HEADS, WORDS, WIDTH)) / 2
    bias = table[index(WORDS)].permute(2, 0, 1)
    scores = scores_of(x, x)
    found = {
        "index": index(WORDS),
        "bias": bias,
        "plain_weights": scores.softmax(-1),
        "biased_weights": (scores + bias).softmax(-1),
    }
    # Batch and heads of the same size: [1, H, N, N] fits [B, N, N], and text b gets the bias of head b.
    mixed = scores + bias[None]
    assert mixed.shape == (1, HEADS, WORDS, WORDS)
    found["mixed_weights"] = mixed.softmax(-1)
    try:
        scores[:2] + bias[None]
        raise AssertionError("2 texts and 4 heads must not fit")
    except RuntimeError:
        pass
    return found


def learned():
    np.random.seed(SEED)
    q, k, v = (torch.tensor(np.random.randn(HEADS, N, WIDTH)) for _ in range(3))
    q, k = q / 2, k / 2
    table = torch.zeros(2 * REACH + 1, HEADS, dtype=torch.float64, requires_grad=True)
    target, counted = torch.zeros_like(v), torch.zeros(HEADS, N, 1, dtype=torch.float64)
    for h, offset in enumerate(LOOKS_AT):
        for i in range(N):
            if 0 <= i + offset < N:
                target[h, i] = v[h, i + offset]
                counted[h, i] = 1
    losses, gradient = [], None
    for _ in range(STEPS + 1):
        weights = (scores_of(q, k) + table[index(N)].permute(2, 0, 1)).softmax(-1)
        loss = ((weights @ v - target) ** 2 * counted).sum() / (counted.sum() * WIDTH)
        losses.append(loss.item())
        (step,) = torch.autograd.grad(loss, table)
        gradient = step if gradient is None else gradient
        if len(losses) <= STEPS:
            table = (table - RATE * step).detach().requires_grad_()
    return {
        "gradient": gradient,
        "losses": torch.tensor(losses),
        "learned": table.detach(),
        "unused": torch.tensor(float((table == 0).all(1).sum())),
        "learned_weights": weights.detach(),
    }


def main():
    distances = torch.tensor([-200, -128, -64, -16, -8, -7, -1, 0, 1, 7, 8, 16, 64, 128, 200])
    slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1, dtype=torch.float64) / HEADS)
    places = torch.arange(WORDS, dtype=torch.float64)
    away = -slopes[:, None] * (WORDS - 1 - places)
    found = {
        "far_index": torch.tensor([-40, -32, -1, 0, 1, 32, 40]).clamp(-REACH, REACH) + REACH,
        **shown(),
        **learned(),
        "t5_distances": distances,
        "t5_buckets": T5Attention._relative_position_bucket(distances, True, 32, 128)[:, None],
        "slopes": slopes,
        "alibi_last": away,
        "alibi_weights": away.softmax(-1),
        "question_index": torch.tensor(float(REACH - 5)),
    }
    print(json.dumps({name: array.to(torch.float64).numpy().round(10).tolist() for name, array in found.items()}))


main()
