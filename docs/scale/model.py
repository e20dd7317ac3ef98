#!/usr/bin/env python3
"""The cost of ring attention: a model of its time and memory, and the tables of docs/scale.md.

python3 docs/scale/model.py     prints the tables
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

MEASURED = json.loads((Path(__file__).parent / "measured.json").read_text())

K, M = 2**10, 2**20
LEAST_KEYS, MOST_LAPS = 1024, 16  # of src/engine/ring/ring.cc
SLICE_ROWS = 2048


@dataclass(frozen=True)
class Layer:
    """One call of ring_attention(), forward."""

    heads: int
    key_heads: int
    width: int
    element: int  # bytes of a number of q, k and v
    causal: bool = True

    @property
    def seen(self) -> float:
        """Share of all pairs."""
        return 0.5 if self.causal else 1.0

    def flops(self, queries: float, keys: float) -> float:
        return 4 * self.heads * self.width * queries * keys * self.seen

    def parcel(self, keys: float) -> float:
        """Bytes of these keys and their values."""
        return 2 * self.key_heads * keys * self.width * self.element


@dataclass(frozen=True)
class Rank:
    """Where a rank runs."""

    cores: float
    flops: float = MEASURED["core"]["flops"]  # per second and core
    merging: float = MEASURED["core"]["merging_s"]  # seconds of a core, per number of out
    planning: float = MEASURED["core"]["planning_s"]  # seconds, per pair of ranks


@dataclass(frozen=True)
class Network:
    name: str
    bytes: float  # per second, into and out of each rank at once
    latency: float  # seconds


# A rank is a machine. The latencies are assumptions: typical of TCP, and of network cards with RDMA.
NETWORKS = (
    Network("10 Gbit/s", 10e9 / 8, 30e-6),
    Network("100 Gbit/s", 100e9 / 8, 5e-6),
    Network("400 Gbit/s", 400e9 / 8, 5e-6),
)
# The attention of one layer of Llama 3 8B, from its config.json.
LAYER = Layer(heads=32, key_heads=8, width=128, element=2)
MACHINE = Rank(cores=64)
LENGTHS = (128 * K, 1 * M, 4 * M, 16 * M)
RANKS = tuple(2**n for n in range(1, 11))


def laps(tokens: int, ranks: int) -> int:
    return 1 if ranks == 1 else min(max(tokens // ranks // 2 // LEAST_KEYS, 1), MOST_LAPS)


@dataclass(frozen=True)
class Step:
    """One of the laps x R steps of a rank; seconds."""

    computing: float
    travelling: float

    @property
    def hidden(self) -> bool:
        return self.travelling <= self.computing


def step(layer: Layer, rank: Rank, network: Network, tokens: int, ranks: int) -> Step:
    share, pieces = tokens / ranks, laps(tokens, ranks)
    computing = layer.flops(share, share / pieces) / (rank.flops * rank.cores)
    # Two blocks of keys per step; each row that sees one merges its result.
    merging = 2 * layer.seen * share * layer.heads * layer.width * rank.merging / rank.cores if ranks > 1 else 0.0
    return Step(computing + merging, network.latency + layer.parcel(share / pieces) / network.bytes)


def seconds(layer: Layer, rank: Rank, network: Network, tokens: int, ranks: int) -> float:
    """The last step of a lap has no communication. First, all pairs of ranks agree on shapes."""
    one = step(layer, rank, network, tokens, ranks)
    lap = (ranks - 1) * max(one.computing, one.travelling) + one.computing
    agreeing = ranks**2 * rank.planning + (2 * network.latency if ranks > 1 else 0.0)
    return laps(tokens, ranks) * lap + agreeing


def memory(layer: Layer, tokens: int, ranks: int) -> float:
    """Bytes per rank: q, k, v, out and lse, and what the ring adds: three messages, a slice of out, lse again."""
    share = tokens / ranks
    queries = layer.heads * share * (layer.width * (layer.element + 4) + 4)
    if ranks == 1:
        return queries + layer.parcel(share)
    under_way = 3 * layer.parcel(share / laps(tokens, ranks))
    merging = layer.heads * (min(SLICE_ROWS, share) * (layer.width + 1) + share) * 4
    return queries + layer.parcel(share) + under_way + merging


def least_tokens(layer: Layer, rank: Rank, network: Network) -> float:
    """Tokens per rank from which on communication is hidden, for any R; without latency.

    4 H D s^2 seen / F  >  2 G D s element / W    <=>    s  >  G element F / (2 H seen W)
    """
    return layer.key_heads * layer.element * rank.flops * rank.cores / (2 * layer.heads * layer.seen * network.bytes)


def best_ranks(layer: Layer, rank: Rank, network: Network, tokens: int) -> int:
    """The smallest number within a tenth of the fastest."""
    times = {ranks: seconds(layer, rank, network, tokens, ranks) for ranks in RANKS}
    return next(ranks for ranks in RANKS if times[ranks] <= 1.1 * min(times.values()))


def in_seconds(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f} s"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def in_bytes(value: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            number = value / factor
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{value:.0f} B"


def in_tokens(value: int) -> str:
    return f"{value // M}M" if value >= M else f"{value // K}k"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def time_table() -> str:
    """Bold: communication takes longer than the computation it overlaps."""
    rows = []
    for tokens in LENGTHS:
        for ranks in (2, 16, 128, 1024):
            cells = []
            for network in NETWORKS:
                hidden = step(LAYER, MACHINE, network, tokens, ranks).hidden
                text = in_seconds(seconds(LAYER, MACHINE, network, tokens, ranks))
                cells.append(text if hidden else f"**{text}**")
            parcel = LAYER.parcel(tokens / ranks / laps(tokens, ranks))
            rows.append(
                [in_tokens(tokens), str(ranks), in_bytes(memory(LAYER, tokens, ranks)), in_bytes(parcel), *cells]
            )
    return table(["tokens", "ranks", "memory per rank", "message", *(n.name for n in NETWORKS)], rows)


def limit_table() -> str:
    full_precision = replace(LAYER, key_heads=LAYER.heads, element=4)
    cases = (
        ("1 core; H 32, G 8, float16", LAYER, Rank(cores=1)),
        ("64 cores; H 32, G 8, float16", LAYER, MACHINE),
        ("64 cores; H 32, G 32, float32", full_precision, MACHINE),
    )
    rows = [
        [name, *(f"{least_tokens(layer, rank, network):,.0f}" for network in NETWORKS)] for name, layer, rank in cases
    ]
    return table(["per rank", *(n.name for n in NETWORKS)], rows)


def best_table() -> str:
    rows = [
        [in_tokens(tokens), *(f"{best_ranks(LAYER, MACHINE, network, tokens):,}" for network in NETWORKS)]
        for tokens in LENGTHS
    ]
    return table(["tokens", *(n.name for n in NETWORKS)], rows)


def hop_table() -> str:
    hops, rows = MEASURED["hops"], []
    for n, size in enumerate(hops["bytes"]):
        took = [hops[way][n] for way in hops["ways"]]
        name = f"{size // K} KiB" if size < M else f"{size // M} MiB"
        rows.append([name, *(f"{in_seconds(t)}, {in_bytes(size / t)}/s" for t in took)])
    return table(["message size", *hops["ways"]], rows)


def layer_of(point: dict) -> Layer:
    """What every point was measured with."""
    return Layer(heads=2, key_heads=2, width=64, element=4, causal=point["mask"] == "causal")


def rank_here(point: dict, cores: int) -> Rank:
    """A rank of one thread; more of them than cores share these. F is that of one process with one thread per core in
    the same rounds."""
    speed = layer_of(point).flops(point["tokens"], point["tokens"]) / point["one_s"] / cores
    return Rank(min(1.0, cores / point["ranks"]), speed)


def check_row(point: dict, cores: int, way: Network) -> list[str]:
    by_model = seconds(layer_of(point), rank_here(point, cores), way, point["tokens"], point["ranks"])
    off = 100 * (by_model / point["seconds"] - 1)
    return [
        f"{point['tokens']:,}",
        point["mask"],
        str(point["ranks"]),
        in_seconds(point["one_s"]),
        in_seconds(point["seconds"]),
        in_seconds(by_model),
        f"{off:+.0f}%",
        f"{100 * point['waiting']:.1f}%",
    ]


CHECK_HEAD = ["tokens", "mask", "ranks", "one process", "the ring", "the model", "off by", "waiting"]


def check_table() -> str:
    """The model beside the measurements, with ranks of Open MPI that share memory."""
    here = MEASURED["points"]
    way = Network("memory", MEASURED["core"]["copying"], MEASURED["core"]["latency_s"])
    return table(CHECK_HEAD, [check_row(point, here["cores"], way) for point in here["rows"]])


def network_table() -> str:
    """The same over networks of a known speed (networks.sh), with ranks of MPICH. Part of each packet is payload."""
    here = MEASURED["networks"]
    rows = []
    for point in here["rows"]:
        name = f"{point['mbit']:,} Mbit/s"
        way = Network(name, here["payload"] * point["mbit"] * 1e6 / 8, here["latency_s"])
        rows.append([name, *check_row(point, here["cores"], way)])
    return table(["network", *CHECK_HEAD], rows)


TABLES = (time_table, limit_table, best_table, hop_table, check_table, network_table)

if __name__ == "__main__":
    print("\n\n".join(make() for make in TABLES))
