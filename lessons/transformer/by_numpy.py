"""The numbers of this lesson by transformers: python by_numpy.py > expected.json"""

import json
from pathlib import Path

import torch
from transformers import AutoTokenizer, BartForConditionalGeneration

MODEL = Path(__file__).parents[2] / "models" / "tiny-translate"


def moves(states):
    return [(b - a)[0].norm(dim=-1).tolist() for a, b in zip(states, states[1:])]


@torch.no_grad()
def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = BartForConditionalGeneration.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()
    source = tokenizer("I love you", return_tensors="pt")
    said = model.generate(**source, num_beams=1, do_sample=False)
    out = model(**source, decoder_input_ids=said[:, :-1], output_attentions=True, output_hidden_states=True)
    p = out.logits[0].softmax(-1)
    writes = []
    for row, right in zip(p, said[0, 1:]):
        others = row.clone()
        others[right] = 0
        writes.append([row[right].item(), others.max().item()])
    layers, heads = len(out.encoder_attentions), out.encoder_attentions[0].shape[1]
    print(
        json.dumps(
            {
                "embedded": out.encoder_hidden_states[0][0].tolist(),
                "memory": out.encoder_last_hidden_state[0].tolist(),
                "encoder_moves": moves(out.encoder_hidden_states),
                "decoder_in": out.decoder_hidden_states[0][0].tolist(),
                "decoder_out": out.decoder_hidden_states[-1][0].tolist(),
                "decoder_moves": moves(out.decoder_hidden_states),
                "encoder_weights": out.encoder_attentions[1][0, 0].tolist(),
                "decoder_weights": out.decoder_attentions[1][0, 0].tolist(),
                "cross_weights": out.cross_attentions[1][0, 0].tolist(),
                "logits": out.logits[0].tolist(),
                "writes": writes,
                "attentions": heads * (layers + 2 * len(out.decoder_attentions)),
                "one_at_a_time": 0,
            }
        )
    )


main()
