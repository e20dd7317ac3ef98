"""The products of BERT-base's layers: ours, OpenBLAS and oneDNN, each with one thread inside our pool."""

from __future__ import annotations

from harness.engine import run_engine
from harness.figure import Fact, Figure, Findings
from harness.task import Context, Task

OTHERS = ("openblas", "onednn")


def measure(context: Context) -> Findings:
    products = (run_engine(context, "product") or {}).get("products", [])
    found = Findings()
    for rows in dict.fromkeys(product["rows"] for product in products):
        for threads in (1, 2):
            mine = [p["us"] for p in products if p["rows"] == rows and p["threads"] == threads]
            if not mine:
                continue
            ours = sum(us["attnscope"] for us in mine)
            name = f"{rows} rows, {threads} thread{'s'[: threads - 1]}"
            found.facts.append(Fact(f"all layers' shapes once, {name}", ours, "us"))
            found.figures += [Figure(f"{other}, {name}", sum(us[other] for us in mine) / ours, 0.9) for other in OTHERS]
    return found


TASK = Task("products with packed weights, BERT-base's shapes", extra=measure)
