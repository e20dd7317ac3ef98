"""Runs models by transformers, as make_models.py and make_real.py need it: in float32, and in float64."""
import contextlib
import copy
from unittest import mock

import numpy as np
import torch

NEW_TOKENS = 12
LEAST_GAP = 1e-3  # between the best and the second-best logit


@contextlib.contextmanager
def everything_in_float64():
    """Models convert to float32 here and there, for norms and softmax."""
    with mock.patch.object(torch, "float32", torch.float64), mock.patch.object(torch.Tensor, "float",
                                                                               torch.Tensor.double):
        yield


def tensors(model, batch):
    """Every table of one call, a leading axis for the sequences: [B, L, H, N, M] and [B, L+1, N, width]."""
    with torch.no_grad():
        out = model(**batch, output_attentions=True, output_hidden_states=True)
    stack = lambda values: torch.stack(list(values), 1)
    if "encoder_attentions" in out:
        result = {"self": stack(out.encoder_attentions), "hidden": stack(out.encoder_hidden_states),
                  "decoder": stack(out.decoder_attentions), "cross": stack(out.cross_attentions),
                  "decoder_hidden": stack(out.decoder_hidden_states)}
        assert torch.equal(out.encoder_last_hidden_state, out.encoder_hidden_states[-1])
    else:
        result = {"self": stack(out.attentions), "hidden": stack(out.hidden_states)}
    for name in ("logits", "prediction_logits"):
        if name in out:
            result["logits"] = out[name]
    pooler = getattr(getattr(model, "bert", model), "pooler", None)
    if pooler is not None:
        result["pooled"] = pooler(out.hidden_states[-1]).detach()
    return result


def call_of(cases, pad):
    """One right-padded batch of these cases."""
    def padded(name, fill):
        longest = max(len(c[name]) for c in cases)
        return torch.tensor([c[name] + [fill] * (longest - len(c[name])) for c in cases])

    batch = {"input_ids": padded("ids", pad),
             "attention_mask": padded("ids", -1).ne(-1).long()}
    if "types" in cases[0]:
        batch["token_type_ids"] = padded("types", 0)
    if "decoder_ids" in cases[0]:
        batch["decoder_input_ids"] = padded("decoder_ids", pad)
        batch["decoder_attention_mask"] = padded("decoder_ids", -1).ne(-1).long()
    return batch


def cut(name, table, case):
    """What belongs to the case in one sequence's padded table."""
    n, m = len(case["ids"]), len(case.get("decoder_ids", ()))
    ends = {"self": (n, n), "decoder": (m, m), "cross": (m, n)}
    if name in ends:
        return table[..., : ends[name][0], : ends[name][1]]
    if name == "hidden":
        return table[:, :n]
    if name == "decoder_hidden":
        return table[:, :m]
    if name == "logits":
        return table[: m or n]
    return table


def difference(a, b):
    return max((a[name].double() - b[name].double()).abs().max().item() for name in a)


def run_cases(name, model, cases, pad, same_in_batch):
    exact_model = copy.deepcopy(model).double()
    results, rough, apart = [], 0.0, 0.0
    for case in cases:
        quick = {k: t[0] for k, t in tensors(model, call_of([case], pad)).items()}
        with everything_in_float64():
            exact = {k: t[0] for k, t in tensors(exact_model, call_of([case], pad)).items()}
        assert all(t.dtype == torch.float64 for t in exact.values())
        rough = max(rough, difference(exact, quick))
        results.append(exact)
    if same_in_batch:
        with everything_in_float64():
            batch = tensors(exact_model, call_of(cases, pad))
        for b, (case, exact) in enumerate(zip(cases, results)):
            apart = max(apart, difference(exact, {k: cut(k, t[b], case) for k, t in batch.items()}))
    size = {k: max(r[k].abs().max().item() for r in results) for k in results[0]}
    peak = np.mean([r["self"].max(-1).values.mean().item() for r in results[-2:]])
    print(f"{name}: eager float32 off by {rough:.1e}, batch by {apart:.1e}, mean largest weight {peak:.2f}, largest",
          {k: round(v, 1) for k, v in size.items()})
    assert rough < 6e-5 and apart < 1e-5
    return results


def greedy(model, prompt):
    """New ids, and the smallest distance between the best and the second-best logit. Without the cache where decoders
    have another number of layers than encoders: there this version of transformers sizes it wrongly."""
    with torch.no_grad():
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                             max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=1, return_dict_in_generate=True,
                             output_logits=True, use_cache=not model.config.is_encoder_decoder)
    gaps = [t[0].topk(2).values for t in out.logits]
    ids = out.sequences[0].tolist()
    return ids[-len(out.logits):], min((g[0] - g[1]).item() for g in gaps)


def greedy_cases(model, lengths, draw):
    """Of a few short and a few long prompts the ones whose continuations repeat themselves least."""
    cases = []
    for length in lengths:
        tries = [(prompt, *greedy(model, prompt)) for prompt in (draw(length) for _ in range(10))]
        prompt, ids, _ = max((t for t in tries if t[2] > LEAST_GAP), key=lambda t: len(set(t[1])))
        assert len(set(ids)) > 2, ids
        cases.append((prompt, ids))
    return cases
