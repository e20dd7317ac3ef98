"""The small models as transformers runs them: the reference for trace, ablate and explain."""

import json
import pathlib

import tokenizers
import torch
import transformers
import transformers_says
from conftest import model_folder


class Reference:
    """One model, one text (and for an encoder-decoder a target), read by transformers."""

    def __init__(self, name, text, target=None):
        self.what = (name, text, target)
        folder = pathlib.Path(model_folder(name))
        kind = getattr(transformers, json.loads((folder / "config.json").read_text())["architectures"][0])
        self.model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
        self.config = self.model.config
        self.encoding = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text)
        self.inputs = {"input_ids": torch.tensor([self.encoding.ids])}
        if target is not None:
            said = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(target).ids
            self.inputs["decoder_input_ids"] = torch.tensor([[self.config.decoder_start_token_id, *said[:-1]]])

    def run(self):
        with torch.inference_mode():
            return self.model(**self.inputs, output_attentions=True)

    def logits(self):
        out = self.run()
        return (out.prediction_logits if "prediction_logits" in out else out.logits)[0].double()

    def attentions(self, kind):
        """[L, H, N, M]"""
        return transformers_says.run(*self.what)[kind]

    def modules(self, kind, layer):
        """The projections of one attention: q, k, v (or all three in one) and o."""
        base, family = self.model.base_model, self.config.model_type
        if family in ("bert", "roberta"):
            attention = base.encoder.layer[layer].attention
            own = attention.self
            return {"q": own.query, "k": own.key, "v": own.value, "o": attention.output.dense}
        if family == "gpt2":
            return {"qkv": base.h[layer].attn.c_attn, "o": base.h[layer].attn.c_proj}
        if family == "llama":
            own = base.layers[layer].self_attn
            return {"q": own.q_proj, "k": own.k_proj, "v": own.v_proj, "o": own.o_proj}
        if family == "t5":
            block = (base.encoder if kind == "self" else base.decoder).block[layer]
            own = block.layer[1].EncDecAttention if kind == "cross" else block.layer[0].SelfAttention
            return {"q": own.q, "k": own.k, "v": own.v, "o": own.o}
        assert family == "bart"
        one = (base.encoder if kind == "self" else base.decoder).layers[layer]
        own = one.encoder_attn if kind == "cross" else one.self_attn
        return {"q": own.q_proj, "k": own.k_proj, "v": own.v_proj, "o": own.out_proj}

    def output_weights(self, kind, layer):
        """The output projection of all heads: [H D, width]."""
        module = self.modules(kind, layer)["o"]
        weight = module.weight.detach().double()
        return weight if self.config.model_type == "gpt2" else weight.T

    def logits_without(self, heads):
        """Logits with the outputs of these heads, (kind, layer, head) each, set to 0 before the output projection."""

        def zeroing(head, count):
            def hook(_, arguments):
                x = arguments[0].clone()
                width = x.shape[-1] // count
                x[..., head * width : (head + 1) * width] = 0
                return (x, *arguments[1:])

            return hook

        hooks = []
        for kind, layer, head in heads:
            count = self.head_count(kind)
            hooks.append(self.modules(kind, layer)["o"].register_forward_pre_hook(zeroing(head, count)))
        try:
            return self.logits()
        finally:
            for hook in hooks:
                hook.remove()

    def head_count(self, kind):
        if self.config.model_type == "bart":
            return self.config.encoder_attention_heads if kind == "self" else self.config.decoder_attention_heads
        return self.config.num_attention_heads

    def projected(self, kind, layer):
        """x, q, k and v of one attention, captured at its projections: [N, ...]."""
        seen, hooks = {}, []

        def keep(name):
            def hook(_, arguments, out):
                seen[name] = (arguments[0][0].double(), out[0].double())

            return hook

        for name, module in self.modules(kind, layer).items():
            hooks.append(module.register_forward_hook(keep(name)))
        self.run()
        for hook in hooks:
            hook.remove()
        if "qkv" in seen:
            x, all_three = seen["qkv"]
            return (x, *all_three.chunk(3, dim=-1))
        return seen["q"][0], seen["q"][1], seen["k"][1], seen["v"][1]
