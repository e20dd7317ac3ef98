"""The engine as a WebAssembly module against itself on this machine, and the page that needs no server."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Mapping
from statistics import median

import numpy as np

from harness.calls import HERE, NODE, Engine, NotHere
from harness.contender import load_contenders
from harness.figure import Fact, Figure, Findings
from harness.probe import ROOT
from harness.task import Context, Task

DIST = ROOT / "dist"
LEAST_SECONDS = 0.02  # of one measurement
WARM_SECONDS = 0.5  # until V8 has compiled again what is run often
HALF = 0.5  # of the speed of SSE4

# What is timed, as bench/wasm/calls.h describes work.
CASES = {
    "attention, 1,8,512,64": "attention 1 8 512 64 float 0 everything",
    "attention, 1,8,512,64 causal": "attention 1 8 512 64 float 0 causal",
    "attention, 1,8,512,64 window(100)": "attention 1 8 512 64 float 0 window(100)",
    "attention, 1,12,16,64": "attention 1 12 16 64 float 0 everything",
    "product, 128 rows, 768 to 3,072": "product 128 768 3072 float none",
}
# What must be right first: the native engine decides.
CHECKS = (
    "attention 2 3 77 64 float 0 everything",
    "attention 1 2 130 40 float 0 causal",
    "attention 1 2 130 13 float 30 causal & window(20)",
    "attention 1 2 300 80 float 0 window(100)",
    "attention 1 2 97 128 float 5 prefix(10)",
    "attention 1 2 150 64 half 0 causal",
    "attention 1 2 150 24 half 0 everything",
    "attention 1 2 150 64 bfloat 0 window(10)",
    "attention 1 2 150 64 wild 0 causal",
    "product 1 768 768 float none",
    "product 7 100 45 half gelu",
    "product 13 300 64 bfloat tanh",
    "product 29 513 70 float gelu",
)
TOLERANCE = 1e-4


def start_engines() -> tuple[dict[str, Engine], dict[str, str], str]:
    """By the names of their files: those that run, what they are called, and what is missing."""
    import wasm

    engines, missing = {}, []
    contenders = load_contenders(wasm)[0]
    for contender in contenders:
        try:
            engines[contender.key] = contender.module.start()
        except NotHere as why:
            missing.append(f"{contender.name} is skipped: {why}")
    return engines, {contender.key: contender.name for contender in contenders}, "; ".join(missing)


def difference(ours: np.ndarray, right: np.ndarray) -> float:
    """The largest one; infinite if infinities and NaN are not in the same places."""
    finite = np.isfinite(right)
    if not np.array_equal(ours[~finite], right[~finite], equal_nan=True) or not np.isfinite(ours[finite]).all():
        return math.inf
    return float(np.abs(ours[finite] - right[finite]).max())


def first_wrong(engine: Engine, judge: Engine) -> str:
    for text in CHECKS:
        results = []
        for one in (engine, judge):
            work = one.make(text)
            one.run(work, 1)
            results.append(one.result(work))
        off = difference(*results)
        if off > TOLERANCE:
            return f"{text}: off by {off:.1e}"
    return ""


def in_turns(engines: Mapping[str, Engine], text: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of one run per round: wall clock, and CPU time."""
    works = {key: engine.make(text) for key, engine in engines.items()}
    counts = {}
    for key, engine in engines.items():
        spent, run = 0.0, 1
        while spent < WARM_SECONDS:
            wall, _ = engine.run(works[key], run)
            spent += wall
            counts[key] = max(1, math.ceil(LEAST_SECONDS * run / wall))
            run = counts[key]
    took: dict[str, list[tuple[float, float]]] = {key: [] for key in engines}
    keys = list(engines)
    for number in range(rounds):
        turn = number % len(keys)
        for key in keys[turn:] + keys[:turn]:
            wall, cpu = engines[key].run(works[key], counts[key])
            took[key].append((wall / counts[key], cpu / counts[key]))
    return took


def measure_engine(context: Context, found: Findings) -> None:
    engines, names, missing = start_engines()
    if missing:
        found.facts.append(Fact(missing, None, "ms"))
    try:
        if not {"simd128", "sse4", "best"} <= engines.keys():
            return
        wrong = first_wrong(engines["simd128"], engines["best"])
        for label, text in {} if wrong else CASES.items():
            took = in_turns(engines, text, 5 if context.quick else 25)
            for key, samples in took.items():
                wall, cpu = (1e3 * median(sample[n] for sample in samples) for n in (0, 1))
                found.facts.append(Fact(f"{label}, {names[key]} (by the wall clock {wall:.3g} ms)", 1e3 * cpu, "us"))
            ratio = median(native[1] / ours[1] for native, ours in zip(took["sse4"], took["simd128"]))
            found.figures.append(Figure(f"speed of native SSE4, {label}", ratio, HALF))
        if wrong:
            found.figures.append(Figure(f"speed of native SSE4: wrong: {wrong}", None, HALF))
    finally:
        for engine in engines.values():
            engine.close()


def measure_page(context: Context, found: Findings) -> None:
    if not (DIST / "attnscope.html").exists() or not (DIST / "site" / "index.html").exists():
        found.facts.append(Fact("the page is skipped: dist is missing: `make web-app` makes it", None, "ms"))
        return
    node = subprocess.run([str(NODE)], capture_output=True, text=True, check=True).stdout.strip()
    command = [node, str(HERE / "page.mjs"), str(DIST), "1" if context.quick else "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    seen, why = {}, ""
    if done.returncode == 0:
        seen = json.loads(done.stdout)
    else:
        why = ": " + (done.stderr.strip().splitlines() or ["ended by the system"])[0]
    site = seen.get("site", {})
    found.facts += [
        Fact("the module of the site, gzipped", site.get("module_kb"), "kB"),
        Fact("a new text, from the last letter on, with the page's pause of 150 ms", seen.get("typed_ms"), "ms"),
        Fact("the module's memory after the first picture", seen.get("memory_mb"), "MB"),
    ]
    found.figures += [
        Figure(
            f"attnscope.html, from opening to the first picture{why}",
            seen.get("first_ms"),
            2000,
            unit="ms",
            at_most=True,
        ),
        Figure(
            f"attnscope.html, a new text on tiny-bert, from Enter on{why}",
            seen.get("entered_ms"),
            120,
            unit="ms",
            at_most=True,
        ),
        Figure(f"attnscope.html, size{why}", seen.get("file_mb"), 24, unit="MB", at_most=True),
        Figure(f"site, before the first model, gzipped{why}", site.get("kb"), 2500, unit="kB", at_most=True),
    ]


def measure(context: Context) -> Findings:
    found = Findings()
    measure_engine(context, found)
    measure_page(context, found)
    return found


TASK = Task("WebAssembly: the engine in node, and the page without a server in Chromium", extra=measure)
