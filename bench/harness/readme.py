"""The README's table, from a results file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.figure import in_unit

Json = dict[str, Any]

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEAD = "| task, float32, one thread | share of the FMA peak | x torch | x FlexAttention | x onnxruntime |"
RULE = "|---|---:|---:|---:|---:|"


def times(value: float | None, form: str = "") -> str:
    if value is None:
        return ""
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"{text} ({form})" if form else text


def table_line(row: Json) -> str:
    share = "" if row["share"] is None else f"{100 * row['share']:.0f}%"
    if share and row["share_of"] == "read":
        share += " of a plain read"
    torch_form = "" if row["torch_form"] == "SDPA" else row["torch_form"]
    cells = [share, times(row["torch"], torch_form), times(row["flex"]), times(row["onnxruntime"])]
    return f"| {row['label']} | " + " | ".join(cells) + " |"


def table(results: Json) -> str:
    machine, versions = results["machine"], results["machine"]["versions"]
    rows = [row for task in results["tasks"] for row in task["rows"]]
    measured = [row for row in rows if any(row[key] is not None for key in ("share", "torch", "flex", "onnxruntime"))]
    words = (
        f"Times faster than torch {versions['torch']} (SDPA, unless another form is named), its compiled FlexAttention "
        f"and onnxruntime {versions['onnxruntime']}, by CPU time; {machine['cpu']} ({machine['vectors']}, "
        f"{results['peak_gflops']:.0f} GFLOP/s per core), {machine['date']}. `make bench` measures it again."
    )
    return "\n".join([HEAD, RULE, *(table_line(row) for row in measured), "", words, *whole_models(results)])


def model_line(task: Json, figure: Json) -> str:
    rival = (
        figure["unit"] == "x"
        and not figure["at_most"]
        and task["task"] not in ("start", "heatmap")
        and "less" not in figure["name"]
    )
    what = f"times faster than {figure['name']}" if rival else figure["name"]
    value = in_unit(figure["value"], figure["unit"]).removesuffix(" x" if rival else "\0")
    return f"| {task['title']}: {what} | {value} |"


def whole_models(results: Json) -> list[str]:
    """Tasks whose title says what runs, and whose figures say how it compares."""
    lines = ["", "| whole models, two threads | |", "|---|---:|"]
    for task in results["tasks"]:
        if task["task"] in ("bert", "generate", "start", "analysis", "heatmap"):
            lines += [model_line(task, figure) for figure in task["figures"]]
    return lines if len(lines) > 3 else []


def rewrite(path: Path, results: Json) -> None:
    """Replaces what stands between the two marks."""
    if not results["complete"]:
        raise SystemExit(f"bench: {path} is left as it is: only a run of everything, on one thread, goes there")
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"bench: {path} needs one line {BEGIN} and below it one line {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")
