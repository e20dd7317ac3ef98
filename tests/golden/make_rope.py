"""Writes rope.json: the frequencies and the factor that transformers computes for a dozen configurations.

Each case holds a configuration as config.json would (a few old spellings among them), and for some lengths of a text the
frequencies and the factor by which cos and sin are multiplied.

Usage: python make_rope.py > rope.json
"""

import json

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

SHORT = [1 + 0.05 * i for i in range(8)]
LONG = [1.5 + 1.25 * i for i in range(8)]

# name, what is special in config.json, lengths
CASES = [
    ("default", {}, [5]),
    ("default, another theta", {"rope_theta": 500000.0}, [5]),
    ("default, newer spelling", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, [5]),
    ("wide heads", {"hidden_size": 512, "rope_theta": 10000.0}, [5]),
    ("heads of their own width", {"head_dim": 24}, [5]),
    ("linear, old spelling", {"rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 3.0}}, [5]),
    ("linear, part of a head", {"partial_rotary_factor": 0.5, "rope_scaling": {"rope_type": "linear", "factor": 4}}, [5]),
    ("dynamic", {"rope_scaling": {"type": "dynamic", "factor": 4.0}}, [5, 64, 65, 100, 256]),
    (
        "llama3",
        {
            "max_position_embeddings": 131072,
            "hidden_size": 512,
            "rope_theta": 500000.0,
            "rope_scaling": {
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
        },
        [5, 10000],
    ),
    (
        "yarn",
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 1e4}},
        [5, 60],
    ),
    (
        "yarn, real lengths, old spelling",
        {
            "max_position_embeddings": 32768,
            "hidden_size": 512,
            "rope_theta": 1e6,
            "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"},
        },
        [5],
    ),
    (
        "yarn, every option",
        {
            "max_position_embeddings": 65536,
            "hidden_size": 512,
            "rope_parameters": {
                "rope_type": "yarn",
                "factor": 16.0,
                "original_max_position_embeddings": 4096,
                "beta_fast": 24,
                "beta_slow": 2,
                "mscale": 1.0,
                "mscale_all_dim": 0.5,
                "truncate": False,
                "rope_theta": 150000.0,
            },
        },
        [5],
    ),
    (
        "yarn, attention factor given",
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "factor": 2.0,
                "original_max_position_embeddings": 32,
                "attention_factor": 1.25,
                "rope_theta": 1e4,
            }
        },
        [5],
    ),
    (
        "longrope",
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "short_factor": SHORT,
                "long_factor": LONG,
                "original_max_position_embeddings": 32,
                "rope_theta": 1e4,
            }
        },
        [5, 32, 33, 60],
    ),
    (
        "longrope, factors given",
        {
            "original_max_position_embeddings": 16,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": SHORT,
                "long_factor": LONG,
                "factor": 6.0,
            },
        },
        [16, 17],
    ),
    (
        "longrope, attention factor given",
        {
            "rope_scaling": {
                "rope_type": "longrope",
                "short_factor": SHORT,
                "long_factor": LONG,
                "attention_factor": 1.5,
                "original_max_position_embeddings": 32,
            },
        },
        [5],
    ),
]
BASE = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 64}


def main() -> None:
    cases = []
    for name, special, lengths in CASES:
        config = BASE | special
        answers = []
        for length in lengths:
            # A fresh one each time: it remembers the longest text that it has seen.
            rope = LlamaRotaryEmbedding(LlamaConfig(**json.loads(json.dumps(config))))
            rope(torch.zeros(1), torch.arange(length)[None])
            answers.append({"length": length, "factor": rope.attention_scaling, "frequencies": rope.inv_freq.tolist()})
        cases.append({"name": name, "config": config, "answers": answers})
    print('{"made_by": "make_rope.py", "cases": [')
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
