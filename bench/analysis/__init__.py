"""What all heads of BERT-base do on 512 tokens: statistics rebuilt from Q, K and lse, against numpy on stored tables."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import torch

from harness.figure import Fact, Figure, Findings
from harness.model import Model, folder_of
from harness.probe import BUILD
from harness.task import Context, Task
from harness.turns import peak_memory, take_turns, times_faster

THREADS = 2
TOKENS, LONG = 512, 4096
WIDTH = 768


def numpy_statistics(tables: np.ndarray, ids: np.ndarray) -> dict[str, np.ndarray]:
    """tables [L, H, N, M], as transformers gives them; the same numbers as ours, in numpy's own ways."""
    positions = np.arange(tables.shape[-1], dtype=np.float32)
    distance = np.abs(positions[:, None] - positions[None, :])
    equal = np.tril(ids[:, None] == ids[None, :], -1)
    followed = np.zeros_like(equal)
    followed[:, 1:] = equal[:, :-1] & np.tri(len(ids), dtype=bool)[:, 1:]
    separators, punctuation = ids == 102, ids == 1012
    received = tables.sum(-2)
    logs = np.log(tables, out=np.zeros_like(tables), where=tables > 0)
    entropy = -np.einsum("lhij,lhij->lhi", tables, logs)

    def mass_on(pairs: np.ndarray) -> np.ndarray:
        """Mean over queries of what lies on some pairs [N, M]."""
        return tables.reshape(*tables.shape[:2], -1) @ pairs.reshape(-1).astype(np.float32) / tables.shape[-2]

    return {
        "entropy": entropy.mean(-1),
        "entropy_share": (entropy / np.log(tables.shape[-1])).mean(-1),
        "received": received,
        "outgoing": tables.sum(-1),
        "diagonal": np.diagonal(tables, axis1=-2, axis2=-1),
        "distance": mass_on(distance),
        "beyond": mass_on(distance > 16),
        "near": mass_on(distance <= 4),
        "duplicate": mass_on(equal),
        "induction": mass_on(followed),
        "first": received[..., 0],
        "separators": received @ separators,
        "punctuation": received @ punctuation,
        "offsets": np.stack([np.diagonal(tables, o, -2, -1).mean(-1) for o in range(-16, 17)], -1),
    }


def stored_tables(ids: np.ndarray) -> np.ndarray:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder_of("bert-base-uncased"), attn_implementation="eager").eval()
    with torch.inference_mode():
        tables = model(torch.from_numpy(ids.astype(np.int64))[None], output_attentions=True).attentions
    return torch.stack(tables)[:, 0].numpy()


def check(ours: np.ndarray, theirs: dict[str, np.ndarray]) -> None:
    """ours [L, H, 2]: entropy and distance."""
    worst = max(np.abs(ours[..., 0] - theirs["entropy"]).max(), np.abs(ours[..., 1] / theirs["distance"] - 1).max())
    if not worst < 1e-3:
        raise SystemExit(f"bench: the statistics of BERT-base differ from numpy's by {worst}")


def long_run(folder: Path) -> list[str]:
    """`analyze` of 12 x 12 heads on 4,096 tokens."""
    words = np.random.default_rng(1).integers(0, 2000, LONG - 2)
    (folder / "text.txt").write_text(" ".join(f"w{word}" for word in words))
    model = folder_of("llama-12x12")
    return [str(BUILD / "attnscope"), "analyze", "--model", str(model), "--file", str(folder / "text.txt"), "--json"]


def measure(context: Context) -> Findings:
    ids = np.random.default_rng(0).integers(1000, 30000, TOKENS).astype(np.int32)
    model = Model(folder_of("bert-base-uncased"), WIDTH, THREADS)
    recording = model.record(ids)
    tables = stored_tables(ids)
    check(recording.statistics(12, 12), numpy_statistics(tables, ids))
    calls = {"attnscope": lambda: recording.statistics(12, 12), "numpy": lambda: numpy_statistics(tables, ids)}
    # Long turns: threads of numpy's BLAS go on spinning for 20 ms after its own.
    seconds = take_turns(calls, 3 if context.quick else 9, least=0.4)
    found = Findings(
        facts=[
            Fact("attnscope", 1e3 * median(seconds["attnscope"]), "ms"),
            Fact("numpy on transformers' stored tables", 1e3 * median(seconds["numpy"]), "ms"),
        ],
        figures=[
            Figure("numpy on stored tables", times_faster(seconds, "attnscope", "numpy"), 5),
            Figure("less memory for what is kept", tables.nbytes / recording.kept_bytes(), 4),
        ],
    )
    if not context.quick:
        with tempfile.TemporaryDirectory() as name:
            memory = peak_memory(long_run(Path(name))) / 1e6
        found.figures.append(
            Figure("12 x 12 heads on 4,096 tokens, peak memory", memory, 2000, unit="MB", at_most=True)
        )
    return found


TASK = Task("statistics of all heads of BERT-base, 512 tokens, 2 threads", extra=measure)
