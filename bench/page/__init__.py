"""How the page feels in Chromium: our own, and the pages of others on the same data."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.contender import load_contenders
from harness.figure import Fact, Figure, Findings
from harness.probe import BUILD, ROOT
from harness.task import Context, Task

HERE = Path(__file__).parent
CHILD = HERE.parent / "harness" / "page_child.py"
NODE = ROOT / "tools" / "node.sh"
LENGTHS = (128, 512, 2048)
LONG = 16384
# Of 12 x 12 heads, from the request to the picture, in milliseconds.
DRAWN = {128: 500, 512: 700, 2048: 1500}
# The others write every weight into their page: beyond this they need more memory than most machines have.
PEERS_UP_TO = 512
PATIENCE = 900
LIBRARIES = BUILD / "bench" / "page"  # that the pages of others fetch from the network


def run(arguments: list[str]) -> tuple[dict[str, Any], str]:
    """What it prints as its last line, or why there is nothing."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {}, f"not done after {PATIENCE} s"
    if done.returncode != 0 or not done.stdout.strip():
        return {}, (done.stderr.strip().splitlines() or ["ended by the system"])[-1]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found, found.get("failed", "")


def node() -> str:
    return subprocess.run([str(NODE)], capture_output=True, text=True, check=True).stdout.strip()


@contextlib.contextmanager
def served(recording: Path) -> Iterator[str]:
    program = os.environ.get("ATTNSCOPE_PROGRAM", str(BUILD / "attnscope"))
    arguments = [program, "view", "--recording", str(recording), "--no-open", "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = server.stdout.readline()
            yield re.search(r"http://\S+", said).group()
        finally:
            server.terminate()


def ours(tokens: int, folder: Path, found: Findings) -> None:
    recording = folder / f"{tokens}.attn"
    _, why = run([sys.executable, str(CHILD), "attnscope", str(tokens), str(recording)])
    seen: dict[str, Any] = {}
    if not why:
        with served(recording) as url:
            seen, why = run([node(), str(HERE / "ours.mjs"), url])
    label = f"{tokens:,} tokens"
    hover = max(
        (seen[part]["hover_ms"]["longest"] for part in ("overview", "matrix", "panned", "heads") if seen), default=None
    )
    nodes = max((seen[part]["nodes"] for part in ("overview", "matrix", "heads") if seen), default=None)

    def figure(name: str, value: float | None, goal: float, unit: str = "ms") -> None:
        name = f"{name}, {label}" + (f": {why}" if why else "")
        found.figures.append(Figure(name, value, goal, unit=unit, at_most=True))

    if tokens in DRAWN:
        figure("page drawn", seen.get("drawn_ms"), DRAWN[tokens])
    else:
        found.facts.append(Fact(f"page drawn, 2 x 4 heads, {label}", seen.get("drawn_ms"), "ms"))
    figure("head opened", seen.get("head_ms"), 300)
    figure("longest task of a hover", hover, 16.7)
    if tokens == 2048:
        figure("DOM nodes", nodes, 3000, "n")
        figure("JavaScript's heap", seen.get("heap_mb"), 150, "MB")
        figure("first load", seen.get("payload_kb"), 1000, "kB")
        figure("scripts of the first load, gzipped", seen.get("script_kb"), 120, "kB")


def theirs(tokens: int, folder: Path, found: Findings) -> None:
    import page

    for contender in load_contenders(page)[0]:
        file = folder / f"{contender.key}-{tokens}.html"
        made, why = run([sys.executable, str(CHILD), contender.key, str(tokens), str(file)])
        seen: dict[str, Any] = {}
        if not why:
            seen, why = run([node(), str(HERE / "peer.mjs"), str(file), str(LIBRARIES)])
        label = f"{contender.name}, {tokens:,} tokens"
        if made:
            found.facts.append(Fact(f"{label}, page made", 1000 * made["seconds"], "ms"))
            found.facts.append(Fact(f"{label}, page's size", made["mb"], "MB"))
        found.facts.append(Fact(f"{label}, page drawn" + (f": {why}" if why else ""), seen.get("drawn_ms"), "ms"))
        if seen and not why:
            found.facts.append(Fact(f"{label}, DOM nodes", seen["nodes"], "n"))
            found.facts.append(Fact(f"{label}, longest task of a hover", seen["hover_ms"]["longest"], "ms"))
            found.facts.append(Fact(f"{label}, JavaScript's heap", seen["heap_mb"], "MB"))
        file.unlink(missing_ok=True)


def fetch_libraries() -> None:
    if (LIBRARIES / "node_modules" / "d3").exists():
        return
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    npm = [
        str(Path(node()).parent / "npm"),
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(LIBRARIES),
    ]
    subprocess.run([*npm, "d3@5", "jquery@2", "requirejs@2"], check=True)


def measure(context: Context) -> Findings:
    found = Findings()
    fetch_libraries()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for tokens in LENGTHS[:1] if context.quick else (*LENGTHS, LONG):
            ours(tokens, folder, found)
            if tokens <= PEERS_UP_TO:
                theirs(tokens, folder, found)
    return found


TASK = Task("the page: 12 x 12 heads of a random GPT-2 in Chromium", extra=measure)
