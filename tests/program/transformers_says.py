"""Attention tables of the models in golden/models, computed by transformers."""

import functools
import json

import numpy as np
import torch
import transformers
from conftest import attnscope, model_folder


@functools.cache
def load(name):
    return transformers.AutoModel.from_pretrained(
        model_folder(name), attn_implementation="eager", dtype=torch.float64
    ).eval()


def ids_of(name, text):
    return json.loads(attnscope("tokenize", "--model", model_folder(name), "--text", text, "--json").stdout)["ids"]


def run(name, text, target=None):
    """{kind: [L, H, N, M]}; the decoder reads its start token and all tokens of the target but the last."""
    model, ids = load(name), torch.tensor([ids_of(name, text)])
    with torch.inference_mode():
        if not model.config.is_encoder_decoder:
            return {"self": torch.stack(model(ids, output_attentions=True).attentions)[:, 0].numpy()}
        given = torch.tensor([[model.config.decoder_start_token_id] + ids_of(name, target)[:-1]])
        out = model(input_ids=ids, decoder_input_ids=given, output_attentions=True)
    tables = {"self": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    return {kind: torch.stack(layers)[:, 0].numpy() for kind, layers in tables.items()}


def with_residual(tables):
    """A of every layer (Abnar & Zuidema, 2020): [L, N, N] from [L, H, N, N]."""
    mixed = 0.5 * tables.mean(axis=1) + 0.5 * np.eye(tables.shape[-1])
    return mixed / mixed.sum(axis=-1, keepdims=True)
