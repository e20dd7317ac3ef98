"""heatmap, heads, headview, overview and mask draw what transformers computes."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest
import safetensors.numpy
import torch
import transformers
from conftest import PROGRAM, ROOT, attnscope, model_folder, refused
from png import decoded

TEXT = "The quick brown fox jumps over the lazy dog."
FORMATS = ["png", "svg", "pdf"]
LOOK = ["--model", model_folder("bert"), "--text", TEXT]


@pytest.fixture(scope="module")
def bert():
    """Tokens and attentions [L, H, N, N] of TEXT, as transformers has them."""
    folder = model_folder("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    return inputs, torch.cat(attentions).numpy()


def test_cells_in_json_are_those_of_transformers(bert):
    _, attentions = bert
    for layer, head in [(0, 0), (1, 2)]:
        result = json.loads(attnscope("heatmap", *LOOK, "--layer", layer, "--head", head, "--json").stdout)
        assert np.abs(np.array(result["weights"]) - attentions[layer, head]).max() < 1e-5
        assert (result["layer"], result["head"], result["kind"], result["measure"]) == (layer, head, "self", "raw")
        assert len(result["tokens"]) == len(result["keys"]) == attentions.shape[-1]
    result = json.loads(attnscope("heads", *LOOK, "--layer", 1, "--heads", "3,0", "--json").stdout)
    assert [each["head"] for each in result["heads"]] == [3, 0]
    for each in result["heads"]:
        assert np.abs(np.array(each["weights"]) - attentions[1, each["head"]]).max() < 1e-5


def published_map(name):
    """A colour map from the project's own table; tests/figure compares that with matplotlib's."""
    source = (ROOT / "src" / "figure" / "colour" / "colour_tables.cc").read_text()
    steps = "".join(re.findall(r'"([0-9a-f]+)"', source.split(f'"{name}"')[1].split("},")[0]))[: 6 * 256]
    return np.array([[int(steps[i + j : i + j + 2], 16) for j in (0, 2, 4)] for i in range(0, 6 * 256, 6)])


def test_colours_of_the_png_are_the_weights(bert, tmp_path):
    _, attentions = bert
    attnscope(
        "heatmap", *LOOK, "--layer", 1, "--head", 2, "--cmap", "viridis", "--range", "0,1", "-o", tmp_path / "x.png"
    )
    picture = decoded((tmp_path / "x.png").read_bytes()).astype(int)
    count = attentions.shape[-1]
    as_number = [1 << 16, 1 << 8, 1]
    steps = np.full(1 << 24, -1)  # position of each colour in the map, or -1
    steps[published_map("viridis") @ as_number] = np.arange(256)
    steps = steps[picture @ as_number]
    coloured = (steps >= 0) & (picture.max(-1) - picture.min(-1) > 40)
    # The largest rectangle of colours is the table; the colour bar stands to the right of it, behind a gap.
    columns = np.flatnonzero(coloured.mean(0) > 0.5)
    left = columns[0]
    right = left + np.flatnonzero(~(coloured.mean(0) > 0.3)[left:])[0] - 1
    rows = np.flatnonzero(coloured[:, left : right + 1].mean(1) > 0.5)
    top, bottom = rows[0], rows[-1]
    for i in range(count):
        for j in range(count):
            y = round(top + (i + 0.5) * (bottom + 1 - top) / count)
            x = round(left + (j + 0.5) * (right + 1 - left) / count)
            assert steps[y, x] >= 0, "the middle of a cell has a colour of the map"
            assert abs(steps[y, x] - attentions[1, 2, i, j] * 256) <= 1.5, (i, j)


@pytest.mark.parametrize(
    "command",
    [
        ["heatmap", *LOOK, "--layer", 1, "--head", 2, "--values"],
        ["heads", *LOOK, "--layer", 1],
        ["headview", *LOOK, "--layer", 1, "--heads", "0,2"],
        ["overview", *LOOK],
        ["mask", "causal & window(4)"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("kind", FORMATS)
def test_every_figure_is_written_in_every_format(command, kind, tmp_path):
    file = tmp_path / f"figure.{kind}"
    assert attnscope(*command, "-o", file, "--title", "A title & 标题").stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    data = file.read_bytes()
    if kind == "png":
        assert decoded(data).shape[0] > 100
    elif kind == "svg":
        tree = xml.etree.ElementTree.fromstring(data)
        assert tree.tag.endswith("svg")
        texts = ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]
        assert "A title & 标题" in texts
        if command[0] in ("heatmap", "headview"):
            assert "[CLS]" in texts
    else:
        assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize("command", ["heatmap", "heads", "headview", "overview"])
def test_piped_figures_have_no_escapes_and_fit(command):
    arguments = [command, *LOOK]
    if command != "overview":
        arguments += ["--layer", 1]
    if command == "heatmap":
        arguments += ["--head", 0]
    for columns in (40, 80, 200):
        result = attnscope(*arguments, env={**os.environ, "COLUMNS": str(columns)}).stdout
        assert "\x1b" not in result
        assert max(map(len, result.splitlines())) <= columns


def test_numbers_in_the_terminal_are_the_weights(bert):
    _, attentions = bert
    result = attnscope(
        "heatmap", *LOOK, "--layer", 1, "--head", 2, "--values", env={**os.environ, "COLUMNS": "200"}
    ).stdout
    rows = [re.findall(r"\d\.\d{3}\b", line) for line in result.splitlines()]
    rows = np.array([row for row in rows if len(row) == attentions.shape[-1]], float)
    assert np.abs(rows - attentions[1, 2]).max() < 6e-4


@pytest.mark.parametrize(
    "environment, escapes",
    [
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, "48;2;"),
        ({"COLORTERM": "", "TERM": "xterm-256color"}, "48;5;"),
        ({"COLORTERM": "truecolor", "TERM": "xterm", "NO_COLOR": "1"}, None),
        ({"COLORTERM": "truecolor", "TERM": "dumb"}, None),
    ],
)
def test_colours_follow_the_terminal(environment, escapes, tmp_path):
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(
        ["script", "-qec", f"{PROGRAM} mask causal --size 4", str(tmp_path / "log")],
        env={**clean, **environment},
        capture_output=True,
        timeout=60,
    )
    result = done.stdout.decode()
    assert done.returncode == 0
    assert (escapes in result) if escapes else ("\x1b[" not in result)


def numpy_mask(size, rule):
    i, j = np.indices(size)
    return rule(i, j).astype(int)


@pytest.mark.parametrize(
    "text, size, rule, pairs",
    [
        ("window(2)", "8", lambda i, j: abs(i - j) <= 2, 34),
        ("sparse(4)", "16", lambda i, j: (abs(i - j) <= 4) | (i % 4 == 0) | (j % 4 == 0), 184),
        ("causal & window(4)", "16", lambda i, j: (j <= i) & (i - j <= 4), None),
        ("causal(8)", "8x16", lambda i, j: j <= i + 8, None),
    ],
)
def test_mask_counts_its_pairs(text, size, rule, pairs):
    result = json.loads(attnscope("mask", text, "--size", size, "--json").stdout)
    shape = tuple(map(int, size.split("x"))) if "x" in size else (int(size), int(size))
    expected = numpy_mask(shape, rule)
    assert result["rows"] == expected.tolist()
    assert result["pairs"] == expected.sum() and (pairs is None or result["pairs"] == pairs)
    assert result["density"] == pytest.approx(expected.mean(), abs=1e-6)
    shown = attnscope("mask", text, "--size", size).stdout
    assert f"{expected.sum()} of {expected.size} pairs are seen, {100 * expected.mean():.1f} %." in shown
    assert shown.count("█") % expected.sum() == 0


def test_a_mask_error_points_at_the_place():
    done = attnscope("mask", "causal & windo(4)", check=False)
    assert done.returncode == 2 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("attnscope: ")
    assert "causal & windo(4)" in lines[-2] and lines[-1].index("^") == lines[-2].index("windo")


@pytest.mark.parametrize(
    "wrong, hint",
    [
        (["-o", "x.gif"], ".png, .svg or .pdf"),
        (["--cmap", "jet"], "viridis, magma"),
        (["--scale", "cubic"], "linear, sqrt or log"),
        (["--range", "1,0"], "backwards"),
        (["--range", "1"], "0,1"),
        (["--range", "0,nan"], "0,1"),
        (["--dpi", "0"], "20"),
        (["--reduce", "min"], "max"),
        (["--measure", "length"], "raw"),
        (["--head", "99"], "0 to 3"),
    ],
)
def test_wrong_values_are_refused_before_any_work(wrong, hint):
    arguments = ["heatmap", *LOOK, "--layer", 1, *([] if "--head" in wrong else ["--head", 0])]
    assert hint in refused(2, *arguments, *wrong)
    if wrong[0] != "--head":  # the number of heads is known only after the model is loaded
        assert hint in refused(2, "heatmap", "--model", "/nowhere", "--text", "x", *wrong)


def test_a_range_may_start_below_zero(tmp_path):
    attnscope(
        "heatmap", *LOOK, "--layer", 1, "--head", 0, "--cmap", "RdBu", "--range", "-1,1", "-o", tmp_path / "x.svg"
    )


def test_a_figure_that_cannot_be_written_leaves_no_file(tmp_path):
    arguments = ["heatmap", *LOOK, "--layer", 1, "--head", 0, "-o"]
    assert "no such folder" in refused(1, *arguments, tmp_path / "no such folder" / "x.png")
    done = subprocess.run(
        [PROGRAM, *map(str, arguments), tmp_path / "x.png"], capture_output=True, timeout=60, preexec_fn=limit_files
    )
    assert done.returncode == 1 and b"x.png" in done.stderr
    assert list(tmp_path.iterdir()) == []
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, *map(str, arguments[:-1])], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and b"could not be written" in done.stderr


def limit_files():
    """A disk that is full after 1000 bytes of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_own_tables_are_drawn(tmp_path):
    tables = np.random.default_rng(1).dirichlet(np.ones(5), (8, 5)).astype(np.float32)
    np.save(tmp_path / "w.npy", tables)
    source = ["--table", tmp_path / "w.npy", "--tokens", "我 喜欢 学习 AI 技术"]
    result = json.loads(attnscope("heads", *source, "--json").stdout)
    assert (np.float32([each["weights"] for each in result["heads"]]) == tables).all()
    assert result["tokens"] == ["我", "喜欢", "学习", "AI", "技术"]
    result = json.loads(attnscope("heatmap", *source, "--head", 3, "--json").stdout)
    assert (np.float32(result["weights"]) == tables[3]).all()
    assert "needs a model" in refused(2, "heatmap", *source, "--head", 3, "--measure", "value")


@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_long_inputs_are_reduced_with_a_note(reduce, tmp_path):
    count, cells = 3000, 1024
    table = np.tril(np.random.default_rng(2).random((count, count), np.float32))
    np.save(tmp_path / "w.npy", table / table.sum(-1, keepdims=True))
    table = np.load(tmp_path / "w.npy")
    source = ["heatmap", "--table", tmp_path / "w.npy", "--reduce", reduce]
    result = json.loads(attnscope(*source, "--json").stdout)
    starts = [c * count // cells for c in range(cells)]
    assert result["rows"] == result["columns"] == starts and result["reduce"] == reduce
    if reduce == "max":
        expected = np.maximum.reduceat(np.maximum.reduceat(table, starts, 0), starts, 1)
        assert (np.float32(result["weights"]) == expected).all()
    else:
        sizes = np.diff([*starts, count])
        expected = np.add.reduceat(np.add.reduceat(table.astype(float), starts, 0), starts, 1)
        assert np.abs(result["weights"] - expected / np.outer(sizes, sizes)).max() < 1e-6
    attnscope(*source, "-o", tmp_path / "x.svg")
    assert f"Each cell is the {reduce} of 1 or 2 x 1 or 2 weights." in (tmp_path / "x.svg").read_text()
    shown = attnscope(*source).stdout
    assert f"Each cell is the {reduce} of 42 or 43 x 42 or 43 weights." in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_nan_weights_are_located(tmp_path):
    folder = tmp_path / "bert"
    shutil.copytree(model_folder("bert"), folder)
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    (name,) = [name for name in weights if name.endswith("layer.1.attention.self.query.weight")]
    width = len(weights[name]) // 4
    weights[name][2 * width : 3 * width] = np.nan  # head 2 of layer 1
    safetensors.numpy.save_file(weights, folder / "model.safetensors")
    source = ["--model", folder, "--text", TEXT]
    attnscope("heatmap", *source, "--layer", 1, "--head", 1)
    file = tmp_path / "x.png"
    for command in (
        ["heatmap", "--layer", 1, "--head", 2],
        ["heads", "--layer", 1],
        ["overview"],
        ["headview", "--layer", 1],
    ):
        assert "layer 1, head 2 are not numbers" in refused(1, command[0], *source, *command[1:], "-o", file)
        assert not file.exists()


def test_measure_value_is_the_norm_of_what_each_weight_brings(bert):
    inputs, attentions = bert
    model = transformers.AutoModel.from_pretrained(model_folder("bert"), attn_implementation="eager").eval()
    with torch.no_grad():
        hidden = model(**inputs, output_hidden_states=True).hidden_states[1]
        attention = model.encoder.layer[1].attention
        values = attention.self.value(hidden)[0]
        width = values.shape[-1] // attentions.shape[1]
        part = slice(2 * width, 3 * width)
        norms = (values[:, part] @ attention.output.dense.weight[:, part].T).norm(dim=-1).numpy()
    result = json.loads(attnscope("heatmap", *LOOK, "--layer", 1, "--head", 2, "--measure", "value", "--json").stdout)
    assert np.abs(np.array(result["weights"]) - attentions[1, 2] * norms).max() < 1e-5


def test_words_keep_the_mass(bert):
    inputs, attentions = bert
    result = json.loads(attnscope("heatmap", *LOOK, "--layer", 1, "--head", 2, "--words", "--json").stdout)
    words = inputs.word_ids()
    groups = []
    for n, word in enumerate(words):
        if word is not None and n > 0 and words[n - 1] == word:
            groups[-1].append(n)
        else:
            groups.append([n])
    expected = np.array(
        [[attentions[1, 2][np.ix_(rows, columns)].sum(1).mean() for columns in groups] for rows in groups]
    )
    assert np.abs(np.array(result["weights"]) - expected).max() < 1e-5
    assert result["tokens"][1:4] == ["The", "quick", "brown"]


def test_heads_of_an_encoder_decoder_and_its_cross_attention(tmp_path):
    source = ["--model", model_folder("t5"), "--text", "a small text", "--target", "another"]
    for kind in ("self", "decoder", "cross"):
        attnscope("overview", *source, "--kind", kind, "-o", tmp_path / f"{kind}.svg")
        result = json.loads(attnscope("heatmap", *source, "--kind", kind, "--layer", 0, "--head", 0, "--json").stdout)
        assert np.array(result["weights"]).shape == (len(result["tokens"]), len(result["keys"]))
        assert f">t5, all heads of kind {kind}<" in (tmp_path / f"{kind}.svg").read_text()


def test_a_text_too_long_for_lines_names_an_alternative(tmp_path):
    np.save(tmp_path / "w.npy", np.eye(257, dtype=np.float32))
    result = refused(1, "headview", "--table", tmp_path / "w.npy")
    assert "257 x 257 tokens" in result and "heatmap" in result


def test_figures_of_the_documentation_are_made_by_its_script(tmp_path):
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    named = sorted(re.findall(r"\]\(pictures/([^)]+)\)", page))
    subprocess.run(
        [ROOT / "docs" / "pictures" / "make.sh", tmp_path],
        check=True,
        timeout=120,
        env={**os.environ, "ATTNSCOPE": str(PROGRAM), "PYTHON": sys.executable},
    )
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == named == sorted(path.name for path in (ROOT / "docs" / "pictures").glob("*.svg"))
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "pictures").iterdir()) < 200_000
