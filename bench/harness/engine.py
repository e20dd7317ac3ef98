"""Programs of bench/engine: what must be measured without Python around it. Each prints one JSON object."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from harness.probe import BUILD
from harness.task import Context


def run_engine(context: Context, name: str) -> dict[str, Any] | None:
    """None if it has not been built; a program that fails ends the benchmark with its own words."""
    program = BUILD / "bench" / f"bench_{name}"
    if not program.exists():
        return None
    arguments = [str(program), *(["--quick"] if context.quick else [])]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: {program.name} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)
