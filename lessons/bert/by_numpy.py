"""The numbers of this lesson by transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

MODEL = Path(__file__).parents[2] / "models" / "tiny-bert"


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()

    def attentions(text):
        with torch.no_grad():
            found = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
        return torch.stack(found)[:, 0]  # [layers, heads, N, N]

    cat = attentions("The cat sat on the mat.")
    fox = attentions("The quick brown fox jumps over the lazy dog.")
    from_cat = cat[:, :, 2]
    looks, where = [], []
    for j in range(cat.shape[-1]):
        place = from_cat[:, :, j].argmax().item()
        layer, head = divmod(place, cat.shape[1])
        looks.append([from_cat[layer, head, j].item()])
        where.append([layer, head])
    table = fox[-1, 0]
    print(
        json.dumps(
            {
                "layers": cat.shape[0],
                "heads": cat.shape[1],
                "cat_attention": cat.tolist(),
                "looks": looks,
                "where": where,
                "fox_weights": table.tolist(),
                "first_to_last": table[0, -1].item(),
                "noun_to_last": table[4, -1].item(),
                "rest": 1 - table[4, -1].item(),
                "on_last": fox[..., -1].mean((1, 2)).tolist(),
            }
        )
    )


main()
