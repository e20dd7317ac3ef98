"""Tests reports and figures against the command line's output, and as files that other programs read."""

import io
import json
import re
import xml.etree.ElementTree

import attnscope as at
import numpy as np
import pytest

ENGLISH = "The film was great and the actors were wonderful, but the ending was weak."
KINDS = ["heatmap", "heads", "headview", "overview"]


@pytest.fixture(scope="module")
def rec():
    return at.load("tiny-bert").record(ENGLISH)


# ---- reports ----


def test_heads_are_ranked_by_interest_and_say_why(rec):
    report = rec.analyze()
    assert [head.rank for head in report.heads] == list(range(1, 17))
    assert {(head.layer, head.head) for head in report.heads} == set(np.ndindex(4, 4))
    best = report.look_at
    assert best is report.heads[0] and best.types and best.reason
    assert str(report).startswith(f"Look at layer {best.layer}, head {best.head}: ")
    assert "4 more: see .heads for all" in str(report) and len(report.text(top=16).splitlines()) == 20
    assert report.check[0] and "288 rows of 16 heads sum to 1" in report.check[1]
    assert report.texts == 1


def test_a_report_has_the_words_of_the_program_as_json(rec):
    report = rec.analyze()
    shown = report.to_dict()
    assert list(shown) == ["tokens", "look_at", "heads", "layers", "induction", "check"]
    assert shown["tokens"] == rec.tokens
    assert shown["look_at"] == {
        "layer": report.look_at.layer,
        "head": report.look_at.head,
        "kind": "self",
        "reason": report.look_at.reason,
    }
    by_layer = [head.entropy for head in report.statistics]
    assert [head["entropy"] for head in shown["heads"]] == pytest.approx(by_layer, rel=1e-6)
    assert np.mean(by_layer[:4]) == pytest.approx(shown["layers"][0]["entropy"], rel=1e-6)


def test_patterns_that_were_drawn_by_hand_are_recognised():
    n = 12
    tables = {
        "previous token": np.eye(n, k=-1),
        "next token": np.eye(n, k=1),
        "same token": np.eye(n),
        "broad": np.full((n, n), 1 / n),
        "sink": np.eye(1, n).repeat(n, 0),
    }
    tables["previous token"][0, 0] = tables["next token"][-1, -1] = 1
    report = at.analyze(np.stack(list(tables.values())))
    found = {head.head: head.types[0].name for head in report.heads}
    assert [found[head] for head in range(5)] == list(tables)
    assert report.look_at.head in (0, 1, 2)
    assert {head.head for head in report.heads[-2:]} == {3, 4}


def test_a_report_displays_in_a_notebook(rec):
    page = rec.analyze()._repr_html_()
    table = xml.etree.ElementTree.fromstring(re.search("<table>.*</table>", page, re.DOTALL)[0])
    assert len(table.findall("./tbody/tr")) == 12
    assert "4 more" in page


def test_entropy_by_layer_is_drawn(rec):
    assert "Entropy of attention by layer" in rec.analyze().figure().svg()


def test_numbers_that_are_not_weights_are_rejected():
    with pytest.raises(ValueError, match=r"-0.5 is not a weight: weights lie between 0 and 1"):
        at.analyze(np.array([[1.5, -0.5], [0.5, 0.5]]))
    with pytest.raises(ValueError, match="beyond is -1"):
        at.analyze(np.eye(2), beyond=-1)


# ---- figures ----


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_every_sort_of_file(rec, kind, tmp_path):
    figure = rec.figure(kind, layer=1) if kind != "overview" else rec.figure(kind)
    for end, first in (("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF-")):
        figure.save(tmp_path / f"f.{end}")
        data = (tmp_path / f"f.{end}").read_bytes()
        assert data.startswith(first)
        made = getattr(figure, end)()
        assert len(made.encode() if isinstance(made, str) else made) == len(data)
    assert xml.etree.ElementTree.fromstring(figure.svg()).tag == "{http://www.w3.org/2000/svg}svg"
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["f.pdf", "f.png", "f.svg"]


def test_a_picture_has_the_resolution_of_dpi(rec):
    def width(dpi):
        return int.from_bytes(rec.figure(layer=0, head=0).png(dpi)[16:20], "big")

    assert width(300) == pytest.approx(2 * width(150), rel=0.05)  # cells are whole dots


def test_cells_have_the_colours_of_the_weights():
    """The colour bar's ends and two cells, against the colour map's own ends."""
    image = pytest.importorskip("PIL.Image")
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    picture = image.open(io.BytesIO(at.heatmap(table, ["a", "b"]).png())).convert("RGB")
    counts = {colour: count for count, colour in picture.getcolors(1 << 24)}
    low, high = counts.get((68, 1, 84), 0), counts.get((253, 231, 36), 0)  # viridis, as matplotlib has it
    assert low > 1000 and abs(low - high) < 0.05 * low


def test_labels_titles_and_values_are_text_that_can_be_searched(rec):
    picture = rec.figure(
        layer=2, head=0, values=True, title="A title", xlabel="below", ylabel="beside", bar_label="bar", range=(0, 1)
    ).svg()
    shown = " ".join(xml.etree.ElementTree.fromstring(picture).itertext())
    for word in ("A title", "below", "beside", "bar", "wonderful", "[SEP]"):
        assert word in shown
    assert f"{rec.weights(2, 0)[3, 3]:.3f}" in shown


def test_defaults_are_those_of_the_head_ranked_first(rec):
    best = rec.analyze().look_at
    assert repr(rec.figure()) == f"<attnscope.Figure: tiny-bert, layer {best.layer}, head {best.head}>"
    assert repr(rec.figure("heads")) == f"<attnscope.Figure: tiny-bert, layer {best.layer}>"
    of_layer = next(head for head in rec.analyze().heads if head.layer == 3)
    assert repr(rec.figure(layer=3)) == f"<attnscope.Figure: tiny-bert, layer 3, head {of_layer.head}>"
    assert repr(rec.figure(layer=-1, head=-1)) == "<attnscope.Figure: tiny-bert, layer 3, head 3>"


def test_heads_of_a_layer_can_be_chosen(rec):
    shown = rec.figure("heads", layer=0, heads=[3, 1]).svg()
    assert re.findall("head [0-9]", shown) == ["head 3", "head 1"]
    assert "layer 0, head 2" in rec.figure("headview", layer=0, head=2).svg()


def test_words_values_and_kinds_change_what_is_drawn(rec):
    text = at.load("tiny-bert").record("Microscopes show it.")
    assert "##ros" in text.figure(layer=0, head=0).svg()
    assert "##ros" not in text.figure(layer=0, head=0, words=True).svg()
    assert "Norm of weight x value" in rec.figure(layer=0, head=0, measure="value").svg()
    cross = at.load("tiny-translate").record("I love you").figure(attention="cross", layer=1, head=0).svg()
    assert "Written token" in cross and "我" in cross


def test_long_texts_say_how_they_were_made_smaller():
    rec = at.Recording.from_tables(np.full((1000, 1000), 1e-3, np.float32))
    assert "Each cell is the max of 15 or 16 x 15 or 16 weights." in rec.figure("overview").svg()
    assert "Each cell is the mean of" in rec.figure("overview", reduce="mean").svg()


def test_figures_display_in_a_terminal_and_in_a_notebook(rec, capsys):
    figure = rec.figure(layer=1, head=0)
    assert str(figure).startswith("tiny-bert, layer 1, head 0\n") and max(map(len, str(figure).splitlines())) <= 80
    figure.show()
    assert "wonderful" in capsys.readouterr().out
    bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain"}
    shown = rec._repr_mimebundle_()
    assert "<svg" in shown["text/html"] and shown["text/plain"] == repr(rec)
    json.dumps(shown)


def test_the_difference_of_two_is_drawn_around_zero(rec):
    other = at.load("tiny-bert").record(ENGLISH.replace("great", "awful"))
    found = rec.compare(other)
    assert "A - B, layer" in found.figure().svg() and "Difference of weights" in found.figure().svg()
    assert repr(found.figure(0, 1)) == "<attnscope.Figure: A - B, layer 0, head 1>"


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        ("heatmaps", {}, ValueError, "there is no figure 'heatmaps'; choose from heatmap"),
        ("heatmap", {"layer": 4}, IndexError, "layers count from 0 to 3"),
        ("heatmap", {"head": 4}, IndexError, "heads count from 0 to 3"),
        ("heatmap", {"heads": [1]}, ValueError, "pass head"),
        ("heads", {"head": 1, "heads": [1]}, TypeError, "pass head or heads"),
        ("heads", {"heads": []}, ValueError, "heads is empty"),
        ("heads", {"columns": 0}, ValueError, "columns is 0"),
        ("heatmap", {"attention": "cross"}, ValueError, "only: self"),
        ("heatmap", {"measure": "norm"}, ValueError, "choose raw or value"),
        ("heatmap", {"cmap": "jet"}, ValueError, "there is no colour map 'jet'; choose from viridis"),
        ("heatmap", {"scale": "cube"}, ValueError, "choose linear, sqrt or log"),
        ("heatmap", {"reduce": "sum"}, ValueError, "must be max or mean"),
        ("heatmap", {"range": (1,)}, ValueError, "range has 1 numbers"),
        ("heatmap", {"range": (1, 0)}, ValueError, "is empty"),
        ("heatmap", {"title": 3}, TypeError, "title must be a str, not int"),
        ("headview", {"threshold": 2}, ValueError, "between 0 and 1"),
        ("headview", {"threshold": "much"}, TypeError, "threshold must be a number"),
    ],
)
def test_figures_that_cannot_be_drawn_raise_clear_errors(rec, kind, options, error, words):
    with pytest.raises(error, match=words):
        rec.figure(kind, **options).png()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, p: f.save(p / "x.gif"), ValueError, "end it in .png, .svg or .pdf"),
        (lambda f, p: f.save(p / "no" / "x.png"), OSError, "cannot be written: No such file"),
        (lambda f, p: f.save(3), TypeError, "expected str"),
        (lambda f, p: f.png(dpi=1), ValueError, "dpi is 1; it must be from 20 to 2400"),
        (lambda f, p: at.headview(np.full((300, 300), 1 / 300)), ValueError, "too many for a head view"),
        (lambda f, p: at.heatmap(np.full((2, 2), np.nan)), ValueError, "not numbers"),
        (lambda f, p: at.heatmap(at.Recording.from_tables(np.eye(2)), ["a", "b"]), TypeError, "its own tokens"),
    ],
)
def test_files_that_cannot_be_written_raise_clear_errors(rec, tmp_path, call, error, words):
    with pytest.raises(error, match=words):
        call(rec.figure(layer=0, head=0), tmp_path)
