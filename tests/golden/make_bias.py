"""Writes t5_buckets.txt: which bucket T5 sorts a relative position into, by torch's float32 arithmetic.

The definition is that of Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer" (JMLR 2020), as the function `_relative_position_bucket` of T5Attention in Hugging Face transformers
publishes it; the steps and their precision follow it, the code is ours.

Format: a line `rule <bidirectional> <buckets> <max_distance> <first> <last>`, then for each run of equal buckets
`<first relative position of the run> <bucket>`.

Usage: python make_bias.py > t5_buckets.txt
"""

import math

import torch


def t5_bucket(relative: torch.Tensor, bidirectional: bool, buckets: int, max_distance: int) -> torch.Tensor:
    """relative = key's position - query's position."""
    first = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        first = torch.where(relative > 0, buckets, 0)
        away = relative.abs()
    else:
        away = (-relative).clamp(min=0)
    exact = buckets // 2
    share = torch.log(away.float() / exact) / math.log(max_distance / exact)
    far = exact + (share * (buckets - exact)).to(torch.long)
    far = far.clamp(max=buckets - 1)
    return first + torch.where(away < exact, away, far)


RULES = [
    (True, 32, 128, 2000),  # T5 encoder
    (False, 32, 128, 2000),  # T5 decoder
    (True, 64, 256, 2000),
    (True, 320, 800, 3000),  # as large as speech models have them
    (False, 64, 1024, 5000),
    (True, 33, 128, 500),  # an odd number
    (False, 7, 20, 100),
    (True, 4, 2, 10),  # the least that makes sense
    (False, 2, 2, 10),
]


def main() -> None:
    print("# made by make_bias.py")
    for bidirectional, buckets, max_distance, reach in RULES:
        relative = torch.arange(-reach, reach + 1)
        bucket = t5_bucket(relative, bidirectional, buckets, max_distance).tolist()
        print("rule", int(bidirectional), buckets, max_distance, -reach, reach)
        previous = None
        for r, b in zip(relative.tolist(), bucket):
            if b != previous:
                print(r, b)
            previous = b


if __name__ == "__main__":
    main()
