"""The numbers of this lesson by transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import torch
from transformers import AutoTokenizer, BartForConditionalGeneration

MODEL = Path(__file__).parents[2] / "models" / "tiny-translate"


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = BartForConditionalGeneration.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()

    def cross(text):
        source = tokenizer(text, return_tensors="pt")
        said = model.generate(**source, num_beams=1, do_sample=False)
        with torch.no_grad():
            out = model(**source, decoder_input_ids=said[:, :-1], output_attentions=True)
        return torch.stack(out.cross_attentions)[:, 0]  # [layers, heads, written, source]

    found = {}
    for prefix, text in (("", "I love you"), ("longer_", "My mother drinks coffee every day")):
        tables = cross(text)
        table = tables[1, 0]
        found[prefix + "cross"] = table.tolist()
        found[prefix + "picked"] = table.argmax(dim=1).tolist()
        found[prefix + "written_tokens"], found[prefix + "source_tokens"] = table.shape
        if not prefix:
            found["first_mean"] = tables[0].mean(0).tolist()
            found["asked_weight"] = table[1].max().item()
            found["asked_rest"] = 1 - table[1].max().item()
    print(json.dumps(found))


main()
