"""attnscope: Q, K and lse of every head, from which any weight is rebuilt."""

import attnscope as at

NAME = "attnscope"


def look(model, ids):
    with at.record(model) as recording:
        model(input_ids=ids, logits_to_keep=1, use_cache=False)
    return recording.weights(layer=11, head=11, rows=range(ids.shape[1] - 1, ids.shape[1]))
