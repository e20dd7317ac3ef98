"""transformers with output_attentions: every weight of every head is stored."""

NAME = "transformers eager"


def look(model, ids):
    return model(input_ids=ids, logits_to_keep=1, use_cache=False, output_attentions=True).attentions[11][0, 11, -1:]
