"""Measures attnscope against the other ways to compute attention on a CPU, and judges the figures we promise.

bench/run.py                      everything (about ten minutes)
bench/run.py --only full,decode   some tasks
bench/run.py --quick              small cases, few rounds, no compiling: a look, not a result
bench/run.py --from build/bench/results.json --readme
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from harness.probe import BUILD, ROOT


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TASKS", help="tasks, separated by commas")
    parser.add_argument("--quick", action="store_true", help="small cases, few rounds, no compiling")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of every contender; above 1 the wall clock counts"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", default=BUILD / "bench" / "results.json")
    parser.add_argument("--from", type=Path, metavar="PATH", dest="source", help="show these results, measure nothing")
    parser.add_argument(
        "--readme",
        type=Path,
        metavar="PATH",
        nargs="?",
        const=ROOT / "README.md",
        help="write the table into the README",
    )
    parser.add_argument("--list", action="store_true", help="list tasks and contenders")
    return parser.parse_args()


def chosen_tasks(only: str | None) -> list[str]:
    from harness.task import NAMES

    wanted = [name.strip() for name in only.split(",")] if only else list(NAMES)
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise SystemExit(f"bench: no task {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return [name for name in NAMES if name in wanted]


def list_tasks() -> None:
    from harness.task import NAMES, load_task

    for name in NAMES:
        files = sorted(path.stem for path in (ROOT / "bench" / name).glob("[!_]*.py"))
        print(f"{name:10} {load_task(name).title}\n{'':10} {', '.join(files) or 'in C++'}")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from harness.machine import Neighbours, describe
    from harness.measure import Settings
    from harness.probe import probe
    from harness.report import print_task
    from harness.task import Context, run_task
    from harness.terminal import Progress

    names = chosen_tasks(arguments.only)
    progress, peaks, start = Progress(), [], time.perf_counter()

    def fma_peak() -> float:
        peaks.append(probe().fma_peak())
        return peaks[-1]

    fma_peak()
    if arguments.quick:
        os.environ["BENCH_NO_COMPILE"] = "1"
    settings = Settings(1.0, 3, 5, fma_peak) if arguments.quick else Settings(6.0, 5, 25, fma_peak)
    tasks = []
    for name in names:
        settings.progress = lambda text, name=name: progress(f"{name}: {text}")  # type: ignore[misc]
        neighbours = Neighbours()
        with torch.inference_mode():
            outcome = run_task(name, settings, Context(arguments.quick), arguments.threads).as_json()
        outcome["neighbours"] = neighbours.share()
        progress.clear()
        print_task(outcome)
        sys.stdout.flush()
        tasks.append(outcome)
    return {
        "machine": describe(),
        "threads": arguments.threads,
        "complete": arguments.threads == 1 and not arguments.quick and not arguments.only,
        "peak_gflops": median(peaks) / 1e9,
        "seconds": time.perf_counter() - start,
        "tasks": tasks,
    }


def load_results(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise SystemExit(f"bench: {path}: {error.strerror}") from None


def main() -> None:
    arguments = parse_arguments()
    if arguments.list:
        return list_tasks()

    from harness import readme, report

    if arguments.source:
        results = load_results(arguments.source)
        for task in results["tasks"]:
            report.print_task(task)
    else:
        results = measure(arguments)
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    report.print_summary(results)
    if arguments.readme:
        readme.rewrite(arguments.readme, results)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")  # of torch and its compiler, about themselves
    main()
