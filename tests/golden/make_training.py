"""Writes training/: what torch makes of four small models that learn.

Each folder has model.safetensors, the weights that a model begins with under the names of its family's files, and
expected.safetensors: three batches of sequences one behind the other, the gradient of every parameter after the first
of them, and the losses and gradient norms of ten steps. Its metadata has the shape and the plan. The models are those
of transformers; every sequence is run alone and in double, so that there is neither padding nor a mask to get wrong.

Usage: python make_training.py [folder]
"""

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
)

NO_LABEL = -100
STEPS, WARMUP, RATE, FLOOR, DECAY, CLIP = 10, 3, 1e-2, 0.1, 0.1, 1.0
LENGTHS = [[5, 12, 1, 7], [12, 3], [1, 2, 9, 4, 6]]
SOURCE_LENGTHS = [[8, 1, 10, 4], [2, 12], [12, 3, 1, 1, 5]]
LABELS = ["bad", "good", "so-so"]

SHAPES = {
    "gpt2": {"layers": 2, "heads": 2, "width": 20, "inner": 48, "positions": 12, "vocabulary": 41},
    "bert-fill": {"layers": 2, "heads": 4, "width": 16, "inner": 40, "positions": 14, "vocabulary": 39},
    "bert-classify": {"layers": 2, "heads": 2, "width": 24, "inner": 32, "positions": 13, "vocabulary": 37},
    "bart": {"layers": 2, "heads": 4, "width": 16, "inner": 36, "positions": 12, "vocabulary": 43},
}


def make(name: str) -> torch.nn.Module:
    s = SHAPES[name]
    if name == "gpt2":
        return GPT2LMHeadModel(
            GPT2Config(
                n_layer=s["layers"],
                n_head=s["heads"],
                n_embd=s["width"],
                n_inner=s["inner"],
                n_positions=s["positions"],
                vocab_size=s["vocabulary"],
            )
        )
    if name == "bart":
        return BartForConditionalGeneration(
            BartConfig(
                encoder_layers=s["layers"],
                decoder_layers=s["layers"],
                encoder_attention_heads=s["heads"],
                decoder_attention_heads=s["heads"],
                encoder_ffn_dim=s["inner"],
                decoder_ffn_dim=s["inner"],
                d_model=s["width"],
                max_position_embeddings=s["positions"],
                vocab_size=s["vocabulary"],
            )
        )
    kind = BertForMaskedLM if name == "bert-fill" else BertForSequenceClassification
    return kind(
        BertConfig(
            num_hidden_layers=s["layers"],
            num_attention_heads=s["heads"],
            hidden_size=s["width"],
            intermediate_size=s["inner"],
            max_position_embeddings=s["positions"],
            vocab_size=s["vocabulary"],
            num_labels=len(LABELS),
        )
    )


def begin(model: torch.nn.Module, seed: int) -> None:
    """Numbers large enough for every gradient to matter, and exact in float32."""
    generator = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float32)
        if p.dim() == 2:
            p.data = 0.25 * noise
        elif name.endswith("weight"):  # of a norm
            p.data = 1 + 0.125 * noise
        else:
            p.data = 0.125 * noise
    model.tie_weights()
    model.double()
    model.eval()  # there is no dropout


def ids(generator: torch.Generator, vocabulary: int, lengths: list[int]) -> torch.Tensor:
    """Never 0 or 1, which are padding to BERT and BART: torch keeps the gradient of padding's row at zero."""
    return torch.randint(2, vocabulary, (sum(lengths),), generator=generator)


def batches_of(name: str, seed: int) -> list[dict]:
    generator = torch.Generator().manual_seed(seed)
    vocabulary = SHAPES[name]["vocabulary"]
    answer = []
    for lengths, source_lengths in zip(LENGTHS, SOURCE_LENGTHS):
        batch = {"lengths": lengths, "ids": ids(generator, vocabulary, lengths)}
        if name == "bert-classify":
            batch["labels"] = torch.randint(0, len(LABELS), (len(lengths),), generator=generator)
        else:
            batch["labels"] = torch.randint(0, vocabulary, (sum(lengths),), generator=generator)
            asked = 0.4 if name == "bert-fill" else 0.8
            nobody_asks = torch.rand(sum(lengths), generator=generator) > asked
            nobody_asks[0] = False
            batch["labels"][nobody_asks] = NO_LABEL
        if name == "bart":
            batch["source_lengths"] = source_lengths
            batch["source"] = ids(generator, vocabulary, source_lengths)
        answer.append(batch)
    return answer


def loss_of(model: torch.nn.Module, batch: dict) -> torch.Tensor:
    """The mean over all labels of the batch."""
    sequences = batch["ids"].split(batch["lengths"])
    if isinstance(model, BertForSequenceClassification):
        logits = torch.cat([model(input_ids=s[None]).logits for s in sequences])
    elif isinstance(model, BartForConditionalGeneration):
        sources = batch["source"].split(batch["source_lengths"])
        logits = torch.cat(
            [model(input_ids=a[None], decoder_input_ids=b[None]).logits[0] for a, b in zip(sources, sequences)]
        )
    else:
        logits = torch.cat([model(input_ids=s[None]).logits[0] for s in sequences])
    return F.cross_entropy(logits, batch["labels"], ignore_index=NO_LABEL)


def rate(step: int) -> float:
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    return RATE * (FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - 1 - WARMUP))) / 2)


def ten_steps(model: torch.nn.Module, batches: list[dict]) -> tuple[list[float], list[float]]:
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in parameters if p.dim() == 2], "weight_decay": DECAY},
            {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
        ]
    )
    losses, norms = [], []
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        optimiser.zero_grad()
        loss = loss_of(model, batches[step % len(batches)])
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, CLIP).item())
        optimiser.step()
        losses.append(loss.item())
    return losses, norms


def starts(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def write(name: str, seed: int, folder: Path) -> None:
    model = make(name)
    begin(model, seed)
    batches = batches_of(name, seed + 100)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({n: p.data.float() for n, p in model.named_parameters()}, folder / "model.safetensors", {"format": "pt"})

    loss_of(model, batches[0]).backward()
    tensors = {"gradient." + n: p.grad.float() for n, p in model.named_parameters()}
    for n, batch in enumerate(batches):
        tensors[f"{n}.ids"] = batch["ids"].int()
        tensors[f"{n}.starts"] = starts(batch["lengths"])
        tensors[f"{n}.labels"] = batch["labels"].int()
        if "source" in batch:
            tensors[f"{n}.source"] = batch["source"].int()
            tensors[f"{n}.source_starts"] = starts(batch["source_lengths"])
    losses, norms = ten_steps(model, batches)
    tensors["losses"], tensors["norms"] = torch.tensor(losses), torch.tensor(norms)
    facts = SHAPES[name] | {"steps": STEPS, "warmup": WARMUP, "rate": RATE, "decay": DECAY, "clip": CLIP}
    save_file(tensors, folder / "expected.safetensors", {k: str(v) for k, v in facts.items()})
    print(name, [round(x, 4) for x in losses], [round(x, 3) for x in norms])


if __name__ == "__main__":
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "training"
    for number, name in enumerate(SHAPES):
        write(name, number, root / name)
