"""Files, traces, searches and comparisons of the page equal those of the commands with the same options."""

import json
import urllib.parse

import numpy as np
import pytest
from conftest import attnscope, model_folder
from served import Served

TEXT = "The quick brown fox jumps over the lazy dog."
OTHER = "The quick brown cat jumps over a dog."


@pytest.fixture(scope="module", params=["bert", "gpt2"])
def page(request):
    source = ["--model", model_folder(request.param), "--text", TEXT]
    with Served(*source) as served:
        served.source = source
        served.model = request.param
        yield served


def bytes_of(tmp_path, end, command, *arguments):
    file = tmp_path / f"by-command{end}"
    attnscope(command, *arguments, "-o", file)
    return file.read_bytes()


@pytest.mark.parametrize("format", ["png", "svg"])
@pytest.mark.parametrize(
    ("view", "query", "options"),
    [
        ("heatmap", {"layer": 1, "head": 2}, ["--layer", 1, "--head", 2]),
        ("heatmap", {"layer": 1, "head": 2, "map": "Blues"}, ["--layer", 1, "--head", 2, "--cmap", "Blues"]),
        ("heatmap", {"layer": 0, "head": 1, "words": 1}, ["--layer", 0, "--head", 1, "--words"]),
        ("heatmap", {"layer": 0, "head": 1, "without_sinks": 1}, ["--layer", 0, "--head", 1, "--without-sinks"]),
        ("heatmap", {"layer": 0, "head": 1, "measure": "value"}, ["--layer", 0, "--head", 1, "--measure", "value"]),
        ("heads", {"layer": 1, "heads": "0,2"}, ["--layer", 1, "--heads", "0,2"]),
        ("heads", {"layer": 1, "measure": "value"}, ["--layer", 1, "--measure", "value"]),
        ("headview", {"layer": 1, "threshold": 0.2}, ["--layer", 1, "--threshold", 0.2]),
        ("headview", {"layer": 0, "heads": 1, "without_sinks": 1}, ["--layer", 0, "--heads", 1, "--without-sinks"]),
        ("overview", {"without_sinks": 1, "words": 1}, ["--without-sinks", "--words"]),
    ],
)
def test_a_figure_equals_the_one_of_the_command(page, tmp_path, view, query, options, format):
    status, headers, body = page.recording("/figure", view=view, format=format, **query)
    assert status == 200, body
    assert body == bytes_of(tmp_path, "." + format, view, *page.source, *options)
    name = headers["Content-Disposition"].split('"')[1]
    assert name.startswith(page.model) and name.endswith("." + format) and name.isascii()


def test_a_rollout_equals_the_one_of_the_command(page, tmp_path):
    body = page.recording("/figure", view="heatmap", layer=1, head=0, measure="rollout", format="svg")[2]
    assert body == bytes_of(tmp_path, ".svg", "rollout", *page.source, "--layer", 1)


def test_tables_equal_those_of_the_command(page, tmp_path):
    for format in ("csv", "npy"):
        file = tmp_path / f"w.{format}"
        attnscope("weights", *page.source, "--layer", 1, "--head", 0, f"--{format}", file)
        status, headers, body = page.recording("/table", layer=1, head=0, format=format)
        assert status == 200
        assert body == file.read_bytes()
        assert f'filename="{page.model}-layer1-head0.{format}"' in headers["Content-Disposition"]


def test_a_trace_has_every_number_of_the_command(page):
    result = json.loads(
        attnscope("trace", *page.source, "--layer", 1, "--head", 2, "--query", 5, "--key", 3, "--json").stdout
    )
    found = json.loads(page.recording("/trace", layer=1, head=2, row=5, column=3)[2])
    assert found.pop("missing") == []
    assert found == result


def test_find_ranks_like_the_command(page):
    for pattern in ("previous", "causal & window(2)"):
        result = json.loads(attnscope("find", pattern, *page.source, "--top", 1000, "--json").stdout)
        status, _, body = page.post("api/recordings/1/find", {"pattern": pattern})
        assert status == 200
        assert json.loads(body)["heads"] == result["heads"]


def test_compare_equals_the_command(page, tmp_path):
    source = page.source[:2]
    other = json.loads(page.post("api/recordings", {"model": page.model, "text": OTHER})[2])["id"]
    result = json.loads(attnscope("compare", TEXT, OTHER, *source, "--json").stdout)
    found = json.loads(page.get("api/compare", a="1", b=other)[2])
    assert found["heads"] == result["heads"]
    assert [stack["query_pairs"] for stack in found["stacks"]] == [one["queries"] for one in result["aligned"]]
    assert [stack["key_pairs"] for stack in found["stacks"]] == [one["keys"] for one in result["aligned"]]
    options = ["--layer", 1, "--head", 2]
    status, headers, body = page.get("api/compare/figure", a="1", b=other, layer=1, head=2, format="png")
    assert body == bytes_of(tmp_path, ".png", "compare", TEXT, OTHER, *source, *options)
    assert f'filename="{page.model}-difference-layer1-head2.png"' in headers["Content-Disposition"]


def test_a_downloaded_recording_opens(page, tmp_path):
    status, headers, body = page.recording("/recording")
    assert status == 200 and f'filename="{page.model}.attn"' in headers["Content-Disposition"]
    (tmp_path / "x.attn").write_bytes(body)
    of_file = ["weights", "--recording", tmp_path / "x.attn", "--layer", 1, "--head", 1, "--csv"]
    assert attnscope(*of_file).stdout == attnscope("weights", *page.source, "--layer", 1, "--head", 1, "--csv").stdout


def test_the_page_downloads_as_one_file(page):
    state = "view=matrix&layer=1&head=2"
    status, headers, body = page.recording("/page", state=urllib.parse.quote(state))
    assert status == 200 and f'filename="{page.model}.html"' in headers["Content-Disposition"]
    assert b'data-state="view=matrix&amp;layer=1&amp;head=2"' in body


def test_a_table_has_weights_only(tmp_path):
    np.save(tmp_path / "w.npy", np.full((3, 3), 1 / 3, np.float32))
    with Served("--table", tmp_path / "w.npy") as served:
        assert served.recording("/recording")[0] == 409
        assert served.recording("/trace", layer=0, head=0, row=0, column=0)[0] == 409
        assert served.recording("/tile", layer=0, head=0, level=0, row=0, column=0, measure="value")[0] == 400
        assert served.recording("/table", layer=0, head=0)[2].startswith(b",0,1,2\n0,0.33333334,")
