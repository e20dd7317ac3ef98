"""BertViz on what transformers stored: the HTML of its head view, without showing it."""

import bertviz

NAME = "BertViz head view"


def look(model, ids):
    attentions = model(input_ids=ids, logits_to_keep=1, use_cache=False, output_attentions=True).attentions
    tokens = [f"t{i}" for i in range(ids.shape[1])]
    return bertviz.head_view(attentions, tokens, html_action="return")
