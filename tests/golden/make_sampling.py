"""Writes sampling.json: which tokens are left, and how likely each is, after transformers' temperature, top-k and top-p.

Logits are exact in float32 and written as such. Ties are among them, at the edges where it matters how they fall.

Usage: python make_sampling.py > sampling.json
"""

import json
import math

import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper


def spread(count: int, seed: int, width: float) -> list[float]:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(count, generator=generator) * width).tolist()


LOGITS = {
    "few": [2.0, 1.0, 0.5, -1.0, 3.0, 0.0],
    "ties": [1.0, 2.0, 2.0, 0.0, 2.0, 1.0, 1.0, -3.0],
    "equal": [0.25] * 4,
    "ruled out": [1.0, -math.inf, 0.5, 2.0, -math.inf, 0.0],
    "peaked": [0.0, 40.0, 1.0, 2.0, 38.0],
    "many": spread(40, 1, 3.0),
}
# temperature, top_k, top_p
SETTINGS = [
    (1.0, 0, 1.0),
    (0.7, 0, 1.0),
    (2.5, 0, 1.0),
    (1.0, 1, 1.0),
    (1.0, 2, 1.0),
    (1.0, 5, 1.0),
    (1.0, 1000, 1.0),
    (1.0, 0, 0.5),
    (1.0, 0, 0.9),
    (1.0, 0, 0.99),
    (1.0, 0, 1e-6),
    (0.8, 4, 0.9),
    (1.5, 20, 0.6),
]


def left_over(logits: list[float], temperature: float, top_k: int, top_p: float) -> dict:
    warpers = LogitsProcessorList()
    if temperature != 1:
        warpers.append(TemperatureLogitsWarper(temperature))
    if top_k != 0:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    scores = warpers(None, torch.tensor([logits]))[0]
    ids = torch.nonzero(scores > -math.inf)[:, 0]
    probabilities = scores.double().softmax(-1)[ids]
    return {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "ids": ids.tolist(),
        "probabilities": probabilities.tolist(),
    }


def main() -> None:
    cases = []
    for name, logits in LOGITS.items():
        answers = [left_over(logits, *setting) for setting in SETTINGS]
        # JSON has no infinity.
        cases.append({"name": name, "logits": [x if x > -math.inf else None for x in logits], "answers": answers})
    print('{"made_by": "make_sampling.py", "cases": [')
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
