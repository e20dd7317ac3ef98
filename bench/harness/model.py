"""Models for the benchmarks, and our own program's way to run them.

Speed does not depend on what the weights say. Where ATTNSCOPE_MODELS names a folder that holds the real ones they are
taken; otherwise models of the same shape with random weights are made once, in build/bench/models.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import numpy as np

from harness.probe import BUILD


def folder_of(name: str) -> Path:
    real = Path(os.environ.get("ATTNSCOPE_MODELS", "")) / name
    if os.environ.get("ATTNSCOPE_MODELS") and (real / "config.json").exists():
        return real
    made = BUILD / "bench" / "models" / name
    if not (made / "tokenizer.json").exists():  # written last
        made.mkdir(parents=True, exist_ok=True)
        {"bert-base-uncased": make_bert, "stories15M": make_stories, "llama-12x12": make_long}[name](made)
    return made


def make_bert(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    BertForMaskedLM(BertConfig()).save_pretrained(folder)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + "the capital of france is .".split()
    words += [f"w{number}" for number in range(BertConfig().vocab_size - len(words))]
    save_word_pieces(words, folder)


def save_word_pieces(words: list[str], folder: Path) -> None:
    from tokenizers import BertWordPieceTokenizer
    from transformers import PreTrainedTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
    special = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **special).save_pretrained(folder)


def make_stories(folder: Path) -> None:
    """Llama 6 layers, 6 heads, 288 wide, as karpathy's stories15M. An end token that no greedy step chooses."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=288,
        intermediate_size=768,
        num_hidden_layers=6,
        num_attention_heads=6,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=31999,
        rms_norm_eps=1e-5,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    save_word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{n}" for n in range(31995)], folder)


def make_long(folder: Path) -> None:
    """A Llama of 12 layers and 12 heads, 768 wide, that reads 4,096 tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048,
        hidden_size=768,
        intermediate_size=1024,
        num_hidden_layers=12,
        num_attention_heads=12,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=2,
        eos_token_id=3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    save_word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{n}" for n in range(2043)], folder)


@cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(BUILD / "bench" / "libbench_models.so"))
    pointer = ctypes.c_void_p
    found.bench_model_problem.restype = ctypes.c_char_p
    found.bench_model_open.argtypes, found.bench_model_open.restype = [ctypes.c_char_p, ctypes.c_int], pointer
    found.bench_model_close.argtypes, found.bench_model_close.restype = [pointer], None
    found.bench_model_read.argtypes = [pointer, pointer, ctypes.c_int64, ctypes.c_int, pointer]
    found.bench_model_generate.argtypes = [pointer, pointer, ctypes.c_int64, ctypes.c_int64, pointer]
    found.bench_model_generate.restype = ctypes.c_int64
    found.bench_model_plain_read.argtypes = [pointer, pointer, ctypes.c_size_t]
    found.bench_model_plain_read.restype = None
    found.bench_model_record.argtypes, found.bench_model_record.restype = [pointer, pointer, ctypes.c_int64], pointer
    found.bench_tables_close.argtypes, found.bench_tables_close.restype = [pointer], None
    found.bench_tables_statistics.argtypes = [pointer, pointer, pointer]
    found.bench_tables_kept.argtypes, found.bench_tables_kept.restype = [pointer], ctypes.c_int64
    return found


class ModelRecording:
    """A pass of one of our models, recorded."""

    def __init__(self, model: Model, ids: np.ndarray) -> None:
        self.model = model
        self.handle = library().bench_model_record(model.handle, ids.ctypes.data, len(ids))
        if not self.handle:
            raise RuntimeError(library().bench_model_problem().decode())

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            library().bench_tables_close(self.handle)

    def statistics(self, layers: int, heads: int) -> np.ndarray:
        """Entropy and distance of every head, [layers, heads, 2]; all the others are computed as well."""
        out = np.empty((layers, heads, 2), np.float64)
        if library().bench_tables_statistics(self.handle, self.model.handle, out.ctypes.data) != 0:
            raise RuntimeError(library().bench_model_problem().decode())
        return out

    def kept_bytes(self) -> int:
        return library().bench_tables_kept(self.handle)


class Model:
    """A model of ours."""

    def __init__(self, folder: Path, width: int, threads: int) -> None:
        self.width = width
        self.handle = library().bench_model_open(str(folder).encode(), threads)
        if not self.handle:
            raise RuntimeError(library().bench_model_problem().decode())

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            library().bench_model_close(self.handle)

    def read(self, ids: np.ndarray, record: bool) -> np.ndarray:
        out = np.empty((len(ids), self.width), np.float32)
        if library().bench_model_read(self.handle, ids.ctypes.data, len(ids), int(record), out.ctypes.data) != 0:
            raise RuntimeError(library().bench_model_problem().decode())
        return out

    def generate(self, ids: np.ndarray, tokens: int) -> np.ndarray:
        out = np.empty(tokens, np.int32)
        count = library().bench_model_generate(self.handle, ids.ctypes.data, len(ids), tokens, out.ctypes.data)
        if count < 0:
            raise RuntimeError(library().bench_model_problem().decode())
        return out[:count]

    def record(self, ids: np.ndarray) -> ModelRecording:
        return ModelRecording(self, ids)

    def plain_read(self, numbers: np.ndarray) -> None:
        """Reads them once, on the same threads."""
        library().bench_model_plain_read(self.handle, numbers.ctypes.data, numbers.nbytes)
