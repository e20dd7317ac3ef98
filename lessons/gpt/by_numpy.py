"""The numbers of this lesson by transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

MODEL = Path(__file__).parents[2] / "models" / "tiny-gpt"


def splitmix64(state):
    """Java's SplittableRandom: one number of 64 bits a call."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        yield z ^ (z >> 31)


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = GPT2LMHeadModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()
    prompt = tokenizer("This movie is")["input_ids"]

    @torch.no_grad()
    def logits(ids):
        return model(torch.tensor([ids])).logits[0, -1].double()

    def write(choose, count=14):
        ids, steps = list(prompt), []
        for _ in range(count):
            row = logits(ids)
            p = row.softmax(-1)
            ids.append(choose(row))
            steps.append([p[ids[-1]].item(), p.max().item()])
        return steps

    bits = splitmix64(1)

    def draw(row):
        share = (next(bits) >> 11) * 2.0**-53
        return min(int(torch.searchsorted((row / 0.8).softmax(-1).cumsum(0), share, right=True)), len(row) - 1)

    first = logits(prompt)
    p = first.softmax(-1)
    best = p.topk(8).indices
    by_heat = [(first / t).softmax(-1) for t in (0.5, 1, 2, 0.8)]
    with torch.no_grad():
        sentence = tokenizer("This movie is one of the best films of the year.", return_tensors="pt")
        table = model(**sentence, output_attentions=True).attentions[0][0, 2]
    print(
        json.dumps(
            {
                "attention": table.tolist(),
                "above": table.triu(1).max().item(),
                "before": table.diagonal(-1).mean().item(),
                "next": torch.stack([first[best], p[best]], dim=1).tolist(),
                "greedy": write(lambda row: int(row.argmax())),
                "drawn": write(draw),
                "temperatures": torch.stack([each[best] for each in by_heat], dim=1).tolist(),
                "entropy": [[-(each * each.log()).sum().item() for each in by_heat]],
                "ratio": (p[best[0]] / p[best[1]]).item(),
                "ratio_half": (by_heat[0][best[0]] / by_heat[0][best[1]]).item(),
            }
        )
    )


main()
