"""The results in the terminal. Everything here reads the JSON, so that an old run can be shown again."""

from __future__ import annotations

from typing import Any

from harness.figure import in_unit
from harness.terminal import BOLD, DIM, GREEN, RED, YELLOW, paint

Json = dict[str, Any]

VERDICTS = {"wish": ("✓✓", GREEN), "met": ("✓ ", GREEN), "missed": ("✗ ", RED), "not measured": ("? ", YELLOW)}


def time_text(ms: float | None) -> str:
    if ms is None:
        return "-"
    if ms < 0.1:
        return f"{1e3 * ms:.1f} us"
    return f"{ms:.2f} ms" if ms < 10 else f"{ms:.1f} ms" if ms < 100 else f"{ms:,.0f} ms"


def cell(lane: Json | None) -> str:
    if lane is None:
        return ""
    if lane["cpu_ms"] is None:
        return lane["note"].split(":")[0]
    text = time_text(lane["cpu_ms"] if lane["threads"] == 1 else lane["wall_ms"])
    return text if lane["share"] is None else f"{text} {100 * lane['share']:5.1f}%"


def aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def lane_table(lanes: list[Json]) -> list[str]:
    """A case a line, a contender a column: time, and its share of the FMA peak."""
    names = list(dict.fromkeys(lane["name"] for lane in lanes))
    cases = list(dict.fromkeys(lane["case"] for lane in lanes))
    by = {(lane["case"], lane["name"]): lane for lane in lanes}
    return aligned([["", *names]] + [[case, *(cell(by.get((case, name))) for name in names)] for case in cases])


def figure_line(figure: Json) -> str:
    sign, style = VERDICTS[figure["verdict"]]
    mark = ("at most " if figure["at_most"] else "goal ") + in_unit(figure["goal"], figure["unit"])
    if figure["wish"] is not None:
        mark += f", wish {in_unit(figure['wish'], figure['unit'])}"
    return f"{paint(sign, style)} {in_unit(figure['value'], figure['unit']):>9}  {figure['name']}  {paint(mark, DIM)}"


def print_task(task: Json) -> None:
    print(paint(task["title"], BOLD))
    if task["lanes"]:
        head, *body = lane_table(task["lanes"])
        print("  " + paint(head, DIM))
        for line in body:
            print("  " + line)
    for lane in task["lanes"]:
        if lane["note"]:
            print(paint(f"  {lane['name']}, {lane['case']}: {lane['note']}", YELLOW))
    if task["absent"]:
        print(paint(f"  left out: {', '.join(task['absent'])}", YELLOW))
    for fact in task["facts"]:
        print(paint(f"     {in_unit(fact['value'], fact['unit']):>9}  {fact['name']}", DIM))
    for figure in task["figures"]:
        print("  " + figure_line(figure))
    for note in task["notes"]:
        print(paint(f"  {note}", DIM))
    if task["neighbours"] > 0.1:
        print(paint(f"  Other processes took {100 * task['neighbours']:.0f}% of the machine meanwhile.", YELLOW))
    print()


def print_summary(results: Json) -> None:
    figures = [figure for task in results["tasks"] for figure in task["figures"]]
    count = {verdict: sum(f["verdict"] == verdict for f in figures) for verdict in VERDICTS}
    machine = results["machine"]
    print(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vectors']}, {results['peak_gflops']:.0f} GFLOP/s per core"
    )
    met = count["wish"] + count["met"]
    print(f"{met} of {len(figures)} goals met, {count['wish']} beyond the wish; {results['seconds'] / 60:.1f} minutes")
    absent = {(name, why) for task in results["tasks"] for name, why in task["absent"].items()}
    for name, why in sorted(absent):
        print(paint(f"{name} was left out: {why}", YELLOW))
    missed = [(task, f) for task in results["tasks"] for f in task["figures"] if f["verdict"] == "missed"]
    if missed:
        print(paint("missed:", RED))
    for task, figure in missed:
        print(f"  {task['task']}: {figure_line(figure)}")
