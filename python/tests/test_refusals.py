"""What recordings, tables and figures refuse, on one line that says what would be right."""

import os

import attnscope as at
import numpy as np
import pytest

TEXT = "The cat sat on the mat."
SURROGATE = "contains a lone surrogate, which is not a character$"


@pytest.fixture(scope="module")
def model():
    return at.load("tiny-bert")


@pytest.fixture(scope="module")
def rec(model):
    return model.record(TEXT)


def refusal(error, call):
    """What is said, on one line."""
    with pytest.raises(error) as caught:
        call()
    assert "\n" not in str(caught.value) and "incompatible" not in str(caught.value)
    return str(caught.value)


# ---- numbers that are not weights ----

OF_WEIGHTS = {
    "analyze": lambda r: r.analyze(),
    "statistics": lambda r: r.statistics(),
    "find": lambda r: r.find("previous"),
    "rollout": lambda r: r.rollout(),
    "rollout of a token": lambda r: r.rollout(1),
    "flow": lambda r: r.flow(1),
    "trace": lambda r: r.trace(0, 0, 1),
    "compare": lambda r: r.compare(r),
    "save": lambda r: r.save("not.attn"),
}


@pytest.mark.parametrize("name", OF_WEIGHTS)
@pytest.mark.parametrize("words", [False, True])
def test_norms_are_not_taken_for_shares_of_attention(rec, name, words):
    weighted = rec.value_weighted().words() if words else rec.value_weighted()
    said = refusal(ValueError, lambda: OF_WEIGHTS[name](weighted))
    assert said == f"{name.split()[0]}() takes attention weights, but this recording holds weights times norms: " + (
        "use the recording itself"
    )
    assert not os.path.exists("not.attn")


@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_differences_are_not_taken_for_shares_of_attention(rec, model, name):
    difference = rec.compare(model.record(TEXT.replace("cat", "dog"))).difference()
    assert "holds differences of weights: use the two recordings themselves" in refusal(
        ValueError, lambda: OF_WEIGHTS[name](difference)
    )


def test_norms_are_not_taken_times_norms(rec):
    assert "weights times norms already" in refusal(ValueError, lambda: rec.value_weighted().value_weighted())
    assert "weights times norms already" in refusal(ValueError, lambda: rec.value_weighted().figure(measure="value"))


def test_a_value_weighted_recording_is_drawn_and_says_what_it_is(rec):
    weighted = rec.value_weighted()
    assert repr(weighted) == "<attnscope.Recording of tiny-bert, value-weighted: self 4 layers x 4 heads, 9 x 9 tokens>"
    best = rec.analyze().look_at
    for seen in (weighted, weighted.words()):
        assert repr(seen.figure()) == f"<attnscope.Figure: tiny-bert, layer {best.layer}, head {best.head}>"
        assert "Norm of weight x value" in seen.figure("overview").svg()
    assert np.array_equal(weighted.figure(layer=1, head=0).png(), rec.figure(layer=1, head=0, measure="value").png())


def test_value_weighting_works_on_what_was_saved(rec, tmp_path):
    rec.save(tmp_path / "cat.attn")
    again = at.open(tmp_path / "cat.attn").value_weighted()
    assert np.array_equal(again.weights(), rec.value_weighted().weights())


def test_a_difference_is_drawn_of_the_most_changed_head_there_is(rec, model):
    found = rec.compare(model.record(TEXT.replace("cat", "dog")))
    best = next(head for head in found.heads if head["layer"] == 1)
    assert repr(found.figure(layer=1)) == f"<attnscope.Figure: A - B, layer 1, head {best['head']}>"
    assert repr(found.figure(layer=-3)) == repr(found.figure(layer=1))
    assert "pass layer and head" in refusal(ValueError, lambda: found.difference().figure())


# ---- tables that are not weights ----


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 50, 1e30, 1.01, -0.5])
def test_a_number_that_is_not_a_weight_is_located(number):
    tables = np.full((2, 3, 4, 4), 0.25)
    tables[1, 2, 3, 0] = number
    tables[0, 0, 0, 0] = 0.9  # the error names the invalid number, not this row
    said = refusal(ValueError, lambda: at.analyze(tables))
    shown = "NaN" if np.isnan(number) else f"{number:g}"
    assert (
        said
        == f"layer 1, head 2, row 3: {shown} is not a weight: weights lie between 0 and 1 (heatmap() draws any numbers)"
    )


def test_any_numbers_are_drawn_if_the_head_is_named():
    tables = 50 * np.random.default_rng(1).random((2, 3, 4, 4))
    assert at.heatmap(tables, layer=1, head=2).png()
    assert refusal(ValueError, lambda: at.heatmap(tables)).startswith("pass layer and head: ")


def test_rows_that_do_not_sum_to_one_are_reported_first():
    report = at.analyze(np.full((6, 6), 0.7))
    wrong = "layer 0, head 0, row 0: the weights sum to 4.2, not 1: these are not attention weights."
    assert " ".join(str(report).split()).startswith(f"Check failed: {wrong} Look at layer 0, head 0: ")
    assert report._repr_html_().startswith(f"<p><b>Check failed</b>: {wrong}</p><p>Look at")
    assert str(at.analyze(np.eye(3))).startswith("Look at")


def test_no_head_has_more_than_all_of_its_attention_somewhere():
    table = 0.9 * (np.eye(8, k=-1) + np.eye(8, k=-2))
    for head in at.analyze(np.stack([table, np.full((8, 8), 0.9)])).heads:
        said = [head.reason, *(kind.reason for kind in head.types)]
        assert not any(
            f"{share}.{digits:02}" in words for words in said for share in range(1, 9) for digits in range(1, 99)
        )
        assert 0 <= head.interest <= 1 and all(0 <= kind.score <= 1 for kind in head.types)


def test_a_head_without_attention_has_no_interest():
    n = 8
    some = np.exp(np.random.default_rng(2).standard_normal((n, n)))
    tables = np.stack([np.zeros((n, n)), some / some.sum(-1, keepdims=True), 0.02 * np.eye(n)[::-1]])
    report = at.analyze(tables)
    interest = {head.head: head.interest for head in report.heads}
    assert interest[0] == 0 and interest[2] < 0.02 < interest[1]
    assert report.look_at.head == 1
    assert next(head for head in report.heads if head.head == 0).reason == "it attends to nothing"


# ---- figures ----


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("heatmap", {"columns": 2}, "columns belongs to heads, not to heatmap"),
        ("heatmap", {"threshold": 0.5}, "threshold belongs to headview, not to heatmap"),
        ("heatmap", {"heads": [1]}, "heads belongs to heads and headview, not to heatmap; .* pass head"),
        ("heatmap", {"heads": np.array([0, 1])}, "heads belongs to"),
        ("overview", {"layer": 0}, "layer belongs to heatmap and heads and headview, not to overview"),
        ("overview", {"head": 0}, "head belongs to .*, not to overview"),
        ("overview", {"heads": [0]}, "heads belongs to heads and headview, not to overview"),
        ("overview", {"xlabel": "x"}, "xlabel belongs to heatmap and heads"),
        ("headview", {"values": True}, "values belongs to heatmap, not to headview"),
        ("headview", {"cmap": "Blues"}, "cmap belongs to heatmap and heads and overview, not to headview"),
        ("headview", {"range": (0, 1)}, "range belongs to"),
        ("headview", {"reduce": "mean"}, "reduce belongs to"),
        ("heads", {"values": True}, "values belongs to heatmap"),
    ],
)
def test_an_option_of_another_figure_is_rejected(rec, kind, options, words):
    with pytest.raises(ValueError, match=words):
        rec.figure(kind, **options)


def test_an_overview_names_its_kind_if_there_are_several(rec):
    both = at.load("tiny-translate").record("I love you")
    for kind in ("self", "decoder", "cross"):
        assert repr(both.figure("overview", attention=kind)).endswith(f"all heads of kind {kind}>")
    assert repr(rec.figure("overview")) == "<attnscope.Figure: tiny-bert, all heads>"


# ---- arguments ----


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, r: m.record("\ud800"), f"^text {SURROGATE}"),
        (lambda m, r: m.record("a", pair="\ud800"), f"^pair {SURROGATE}"),
        (lambda m, r: m.tokenize("\ud800"), f"^text {SURROGATE}"),
        (lambda m, r: m.fill("[MASK] \udfff"), f"^text {SURROGATE}"),
        (lambda m, r: at.heatmap(np.eye(2), ["\ud800", "b"]), f"^tokens {SURROGATE}"),
        (lambda m, r: at.Recording.from_tables(np.eye(2), name="\ud800"), f"^name {SURROGATE}"),
        (lambda m, r: r.figure(title="\ud800"), f"^title {SURROGATE}"),
        (lambda m, r: r.find("\ud800"), f"^pattern {SURROGATE}"),
        (lambda m, r: r.rollout("\ud800"), f"^token {SURROGATE}"),
        (lambda m, r: at.load("\ud800"), f"^name {SURROGATE}"),
        (lambda m, r: at.open(b"\xff.attn"), f"^path {SURROGATE}"),
        (lambda m, r: r.figure().save("a\0b.svg"), "^path contains a null character$"),
    ],
)
def test_invalid_texts_raise_clear_errors(model, rec, call, words):
    with pytest.raises(ValueError, match=words):
        call(model, rec)


def test_paths_may_be_bytes(rec, tmp_path):
    assert at.load(b"tiny-bert").name == "tiny-bert"
    rec.save(os.fsencode(tmp_path / "cat.attn"))
    assert at.open(os.fsencode(tmp_path / "cat.attn")).text == TEXT
    rec.figure().save(os.fsencode(tmp_path / "cat.svg"))
    assert (tmp_path / "cat.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: at.load(None), "expected str, bytes or os.PathLike object, not NoneType"),
        (lambda r: r.find(None), "^pattern must be a name, a mask or a table, not None$"),
        (lambda r: r.find(object()), "^pattern must be numbers"),
        (lambda r: at.heatmap(None), "^weights is None, not a table of numbers"),
        (lambda r: r.weights(layer="1"), "^layer must be a whole number, not str$"),
        (lambda r: r.weights(rows=1.5), "^row must be a whole number, not float$"),
        (lambda r: r.trace(0, None, 1), "^head must be a whole number, not NoneType$"),
        (lambda r: r.ablate([1]), r"^heads must be a list of \(layer, head\) .* not of int$"),
        (lambda r: r.ablate(1), r"^heads must be a list of \(layer, head\), not int$"),
        (lambda r: r.figure("heads", heads=2), "^heads must be a list of whole numbers, not int$"),
        (lambda r: r.figure(range=3), "^range must be two numbers, not int$"),
        (lambda r: r.figure(layer=0, head=0).png(dpi="a"), "^dpi must be a number, not str$"),
        (lambda r: r.figure("heads", heads="12"), "^heads must be a list of whole numbers, not str$"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(rec, call, words):
    with pytest.raises(TypeError, match=words):
        call(rec)


def test_the_package_lists_its_public_names_alone():
    assert set(dir(at)) == {*at.__all__, "datasets", "nn", "torch", "transformers", "__version__"}
    assert all(hasattr(at, name) for name in at.__all__)
