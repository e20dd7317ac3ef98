"""The same model as people write it in PyTorch: SDPA, autograd, AdamW."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as f

from training import HEADS, LAYERS, POSITIONS, RATE, VOCABULARY, WIDTH, make_ids
from training.attnscope import Model as Ours

NAME = "PyTorch, SDPA"


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.attn_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.mlp_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, HEADS, -1).transpose(1, 2) for t in self.c_attn(self.ln_1(x)).split(WIDTH, dim=2))
        mixed = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, WIDTH)
        x = x + self.attn_proj(mixed)
        return x + self.mlp_proj(f.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids[:, :-1]) + self.wpe(torch.arange(ids.shape[1] - 1))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.T
        return f.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def names(model: Gpt) -> dict[str, tuple[torch.Tensor, bool]]:
    """Our name of each parameter, and whether it is stored the other way round."""
    found = {}
    for name, parameter in model.named_parameters():
        ours = name.replace("blocks.", "h.").replace("attn_proj", "attn.c_proj").replace("c_attn", "attn.c_attn")
        ours = ours.replace("mlp_proj", "mlp.c_proj").replace("c_fc", "mlp.c_fc")
        found[f"transformer.{ours}"] = (parameter, parameter.dim() == 2 and ".c_" in ours)
    return found


def make(threads: int) -> Callable[[], float]:
    with torch.inference_mode(False):
        model, first = Gpt(), Ours(threads)
        for name, (parameter, turned) in names(model).items():
            numbers = torch.from_numpy(first.numbers(name))
            shape = parameter.shape[::-1] if turned else parameter.shape
            parameter.data = (numbers.view(shape).T if turned else numbers.view(shape)).contiguous()
        matrices = [p for p in model.parameters() if p.dim() == 2]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=RATE)
        ids = torch.from_numpy(make_ids()).long()

    def step() -> float:
        with torch.inference_mode(False), torch.enable_grad():
            optimiser.zero_grad()
            loss = model(ids)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            return loss.item()

    return step
