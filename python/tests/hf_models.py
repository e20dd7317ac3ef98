"""Small random transformers models of the families that the tests use."""

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import attnscope as at  # noqa: E402

transformers.logging.set_verbosity_error()
at.transformers.register()

VOCABULARY = 97
TOKENS = 14
_SIZES = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": VOCABULARY}
_GROUPED = {**_SIZES, "intermediate_size": 96, "num_key_value_heads": 2, "pad_token_id": 0}
_T5 = {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_heads": 4, "vocab_size": VOCABULARY}
_GEMMA = {**_GROUPED, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 5}
_LAYERS = ["sliding_attention", "full_attention", "sliding_attention"]

FAMILIES = {
    "bert": lambda: transformers.BertConfig(**_SIZES, intermediate_size=96),
    "gpt2": lambda: transformers.GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=VOCABULARY),
    "t5": lambda: transformers.T5Config(**_T5, num_layers=3, decoder_start_token_id=0),
    "llama": lambda: transformers.LlamaConfig(**_GROUPED),
    "qwen2": lambda: transformers.Qwen2Config(**_GROUPED),
    "qwen3": lambda: transformers.Qwen3Config(**_GROUPED, head_dim=32),
    "gemma2": lambda: transformers.Gemma2Config(**_GEMMA, attn_logit_softcapping=2.0),
    "gemma3": lambda: transformers.Gemma3TextConfig(**_GEMMA, layer_types=_LAYERS),
    "mistral": lambda: transformers.MistralConfig(**_GROUPED, sliding_window=5),
}
OTHERS = {
    "modernbert": lambda: transformers.ModernBertConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, vocab_size=VOCABULARY,
        local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
    ),
    "gpt_oss": lambda: transformers.GptOssConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, vocab_size=VOCABULARY, num_local_experts=2, num_experts_per_tok=1, sliding_window=5,
        layer_types=["sliding_attention", "full_attention"], pad_token_id=0,
    ),
    "llama4": lambda: transformers.Llama4TextConfig(
        hidden_size=64, intermediate_size=96, intermediate_size_mlp=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, vocab_size=VOCABULARY, num_local_experts=2, attention_chunk_size=6,
        pad_token_id=0,
    ),
    "albert": lambda: transformers.AlbertConfig(
        hidden_size=64, embedding_size=32, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        vocab_size=VOCABULARY,
    ),
    "deepseek_v3": lambda: transformers.DeepseekV3Config(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
        vocab_size=VOCABULARY, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12,
        n_routed_experts=4, n_group=1, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=32,
        first_k_dense_replace=1,
    ),
    "bart": lambda: transformers.BartConfig(
        d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=96, decoder_ffn_dim=96, vocab_size=VOCABULARY,
    ),
}  # fmt: skip
DECODERS = [name for name in FAMILIES if name not in ("bert", "t5")]
WRITERS = [name for name in FAMILIES if name != "bert"]
PADDINGS = ("none", "left", "right")


def random_model(config, seed=0, spread=0.15, kind=None):
    """Makes a model with larger weights than the default ones, which give nearly even attention."""
    for name in vars(config):
        if "drop" in name and isinstance(getattr(config, name), float):
            setattr(config, name, 0.0)
    torch.manual_seed(seed)
    if kind is None:
        paired = config.is_encoder_decoder
        kind = transformers.AutoModelForSeq2SeqLM if paired else transformers.AutoModelForCausalLM
        kind = transformers.AutoModel if config.model_type == "bert" else kind
    model = kind.from_config(config, attn_implementation="eager").eval()
    for weights in model.parameters():
        if weights.dim() > 1:
            weights.data.normal_(0, spread)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.pad_token_id = 0
        model.generation_config.eos_token_id = None
    return model


def family(name, seed=0):
    return random_model(FAMILIES[name](), seed, spread=0.08 if name == "t5" else 0.15)


@dataclass
class Batch:
    """Three texts, two of them shorter than the third."""

    inputs: dict
    real: object  # [B, N]: which tokens of the source are no padding
    shown: object  # [B, N]: which rows of the output belong to a token

    def rows(self, b):
        return np.flatnonzero(self.real[b].numpy())


def batch(model, padding, seed=1):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, VOCABULARY, (3, TOKENS), generator=generator)
    real = torch.ones_like(ids)
    if padding == "left":
        real[0, :4], real[1, :1] = 0, 0
    elif padding == "right":
        real[0, -4:], real[1, -1:] = 0, 0
    inputs = {"input_ids": ids, "attention_mask": real}
    shown = real.bool()
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids[:, :9]
        shown = torch.ones(3, 9, dtype=torch.bool)
    return Batch(inputs, real.bool(), shown)


def run(model, implementation, inputs, **more):
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return model(**inputs, **more)


def result(output):
    return output.logits if "logits" in output else output.last_hidden_state


def attentions(output):
    """Returns [B, H, N, M] per layer, by kind."""
    if "encoder_attentions" in output:
        return {
            "self": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    return {"self": output.attentions}


def record(model, inputs, **more):
    """Records one call of a model."""
    with at.record(model) as rec, torch.no_grad():
        model(**inputs, **more)
    return rec
