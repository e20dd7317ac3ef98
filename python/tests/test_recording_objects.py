"""Recordings of the package: their numbers against numpy, their files, and tables from everywhere."""

import json
import os
import signal
import time

import attnscope as at
import numpy as np
import pytest
from beside import turns_beside

ENGLISH = "The film was great and the actors were wonderful, but the ending was weak."


@pytest.fixture(scope="module")
def rec():
    return at.load("tiny-bert").record(ENGLISH, values=True, inputs=True)


def random_tables(seed, *shape):
    """Rows that sum to 1."""
    scores = np.random.default_rng(seed).standard_normal(shape)
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


# ---- weights ----


def test_parts_of_the_weights_are_parts_of_the_whole(rec):
    whole = rec.weights()
    assert whole.shape == rec.shape == (4, 4, 18, 18)
    assert whole.sum(-1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(rec.weights(2), whole[2])
    assert np.array_equal(rec.weights(head=1), whole[:, 1])
    assert np.array_equal(rec.weights(-1, -1), whole[-1, -1])
    assert np.array_equal(rec.weights(slice(1, 3), range(2), rows=4, cols=slice(2, None)), whole[1:3, 0:2, 4, 2:])
    assert np.array_equal(rec.weights(np.int64(1), rows=slice(-2, None)), whole[1, :, -2:])
    assert rec.weights(slice(0, 0)).shape == (0, 4, 18, 18)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"layer": 4}, IndexError, "there is no layer 4: layers count from 0 to 3"),
        ({"layer": -5}, IndexError, "there is no layer -5"),
        ({"head": 4}, IndexError, "there is no head 4: heads count from 0 to 3"),
        ({"rows": 18}, IndexError, "there is no row 18: rows count from 0 to 17"),
        ({"rows": slice(None, None, 2)}, ValueError, "contiguous"),
        ({"cols": range(3, 30)}, IndexError, "there is no column 29"),
        ({"kind": "cross"}, ValueError, "there is no attention of kind 'cross', only: self"),
        ({"layer": 1.5}, TypeError, "layer must be a whole number, not float"),
    ],
)
def test_what_is_not_there_cannot_be_asked_for(rec, asked, error, words):
    with pytest.raises(error, match=words):
        rec.weights(**asked)


# ---- statistics, against numpy ----


@pytest.mark.parametrize("seed", [1, 2])
def test_statistics_are_what_numpy_says(seed):
    tables = random_tables(seed, 2, 3, 20, 20)
    statistics = at.Recording.from_tables(tables).statistics(beyond=5)
    p = tables.astype(np.float32).astype(np.float64)
    i, j = np.indices((20, 20))
    wanted = {
        "entropy": -(p * np.log(p)).sum(-1).mean(-1),
        "entropy_share": -(p * np.log(p)).sum(-1).mean(-1) / np.log(20),
        "distance": (p * abs(i - j)).sum(-1).mean(-1),
        "first": p[..., 0].mean(-1),
        "near": (p * (abs(i - j) <= 4)).sum(-1).mean(-1),
        "beyond": (p * (abs(i - j) > 5)).sum(-1).mean(-1),
        "previous": np.diagonal(p, -1, -2, -1).mean(-1),
        "same": np.diagonal(p, 0, -2, -1).mean(-1),
        "next": np.diagonal(p, 1, -2, -1).mean(-1),
    }
    for name, values in wanted.items():
        np.testing.assert_allclose(statistics.array(name), values, rtol=1e-5, err_msg=name)
    for head in statistics:
        table = p[head.layer, head.head]
        np.testing.assert_allclose(head.received, table.sum(0), rtol=1e-5)
        np.testing.assert_allclose(head.outgoing, 1, rtol=1e-5)
        np.testing.assert_allclose(head.diagonal, np.diagonal(table), rtol=1e-5)


def test_statistics_go_to_dicts_and_to_pandas(rec):
    statistics = rec.statistics()
    plain = json.loads(json.dumps(statistics.to_dict()))
    assert [head["entropy"] for head in plain] == [head.entropy for head in statistics]
    pandas = pytest.importorskip("pandas")
    frame = statistics.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (16, 17)
    assert frame.entropy.to_numpy().reshape(4, 4) == pytest.approx(statistics.array("entropy"))
    with pytest.raises(ValueError, match="there is no statistic 'entropie'; choose from entropy"):
        statistics.array("entropie")
    with pytest.raises(ValueError, match="no heads of kind 'cross', only: self"):
        statistics.array("entropy", kind="cross")


def test_kinds_have_statistics_of_their_own():
    rec = at.load("tiny-translate").record("I love you")
    assert {head.kind for head in rec.statistics()} == {"self", "decoder", "cross"}
    assert {head.kind for head in rec.statistics("cross")} == {"cross"}
    p = rec.weights(kind="cross").astype(np.float64)
    wanted = -(p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(-1).mean(-1)
    np.testing.assert_allclose(rec.statistics().array("entropy", "cross"), wanted, atol=1e-4)


# ---- through the layers ----


def test_rollout_is_the_product_of_the_layers(rec):
    product = np.eye(18)
    for layer in rec.weights().astype(np.float64).mean(1):
        mixed = 0.5 * layer + 0.5 * np.eye(18)
        product = mixed / mixed.sum(-1, keepdims=True) @ product
    np.testing.assert_allclose(rec.rollout(), product, atol=1e-5)
    np.testing.assert_allclose(rec.rollout(3), product[3], atol=1e-5)
    these = [i for i, token in enumerate(rec.tokens) if token == "the"]
    np.testing.assert_allclose(rec.rollout("the"), product[these], atol=1e-5)
    np.testing.assert_allclose(rec.rollout(-1), product[-1], atol=1e-5)


def test_flow_through_one_layer_is_the_layer_itself(rec):
    mixed = 0.5 * rec.weights(0).mean(0) + 0.5 * np.eye(18)
    np.testing.assert_allclose(rec.flow(4, layer=0), mixed[4] / mixed[4].sum(), atol=1e-5)
    assert rec.flow(layer=0).shape == (18, 18)


def test_a_trace_leads_to_the_weight(rec):
    trace = rec.trace(1, 2, "great", "film")
    query, key = rec.tokens.index("great"), rec.tokens.index("film")
    assert (trace["query"], trace["key"]) == ({"token": query, "text": "great"}, {"token": key, "text": "film"})
    score = trace["scale"] * float(np.dot(trace["q"], trace["k"]))
    assert trace["score"] == pytest.approx(score, rel=1e-5)
    assert np.exp(score - trace["lse"]) == pytest.approx(rec.weights(1, 2)[query, key], rel=1e-3)
    assert trace["contribution_norm"] == pytest.approx(np.linalg.norm(trace["contribution"]), rel=1e-4)
    assert rec.trace(1, 2, query)["weight"] == pytest.approx(rec.weights(1, 2)[query].max(), rel=1e-4)
    with pytest.raises(ValueError, match="3 tokens are 'the'; choose one by its number: 1, 6, 12"):
        rec.trace(0, 0, "the")
    with pytest.raises(ValueError, match="there is no token 'flim': the nearest are 'film'"):
        rec.trace(0, 0, "flim")


def test_weights_times_values_are_what_the_trace_says(rec):
    trace = rec.trace(2, 1, 3, 5)
    assert rec.value_weighted().weights(2, 1)[3, 5] == pytest.approx(trace["contribution_norm"], rel=1e-3)


def test_heads_are_found_by_shape(rec):
    found = rec.find("previous", top=16)
    shares = rec.statistics().array("previous")
    assert [each["similarity"] for each in found] == pytest.approx(sorted(shares.ravel(), reverse=True), abs=1e-5)
    best = np.unravel_index(shares.argmax(), shares.shape)
    assert (found[0]["layer"], found[0]["head"]) == best
    assert len(rec.find(at.window(1), top=3)) == 3
    picture = rec.weights(2, 0)
    same = rec.find(picture, top=1)[0]
    assert (same["layer"], same["head"], same["similarity"]) == (2, 0, pytest.approx(1, abs=1e-5))


def test_two_texts_are_compared_on_what_they_share(rec):
    other = at.load("tiny-bert").record(ENGLISH.replace("great", "awful"))
    found = rec.compare(other)
    changes = [head["change"] for head in found.heads]
    assert changes == sorted(changes, reverse=True)
    assert rec.compare(rec).heads[0]["change"] == 0
    best = found.heads[0]
    difference = found.difference().weights(best["layer"], best["head"])
    kept = [i for i in range(18) if rec.tokens[i] != "great"]
    one, two = rec.weights(best["layer"], best["head"]), other.weights(best["layer"], best["head"])
    np.testing.assert_allclose(difference, (one - two)[np.ix_(kept, kept)], atol=1e-6)
    with pytest.raises(ValueError, match="same shape"):
        rec.compare(at.load("imdb-sentiment").record(ENGLISH))


# ---- words ----


def test_words_add_columns_and_average_rows():
    rec = at.load("tiny-bert").record("Microscopes show it.")
    words = rec.words()
    assert words.tokens == ["[CLS]", "Microscopes", "show", "it", ".", "[SEP]"]
    pieces = [range(1), range(1, 6), *(range(i, i + 1) for i in range(6, 10))]
    whole = rec.weights(1, 1)
    wanted = [[whole[np.ix_(q, k)].sum(1).mean() for k in pieces] for q in pieces]
    np.testing.assert_allclose(words.weights(1, 1), wanted, atol=1e-6)


# ---- files ----


def test_a_recording_comes_back_as_it_was(rec, tmp_path):
    rec.save(tmp_path / "one.attn")
    again = at.open(tmp_path / "one.attn")
    assert (again.text, again.tokens, again.name, again.shape) == (rec.text, rec.tokens, "tiny-bert", rec.shape)
    assert np.array_equal(again.weights(), rec.weights())
    assert str(again.analyze()) == str(rec.analyze())


def test_what_was_changed_in_a_file_is_found(rec, tmp_path):
    file = tmp_path / "one.attn"
    rec.save(file)
    data = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    place = begin + next(entry["data_offsets"][0] for name, entry in header.items() if name.endswith("lse"))
    data[place : place + 4] = np.float32(3).tobytes()
    file.write_bytes(data)
    with pytest.raises(at.Error, match=r"one.attn: is broken: layer \d, head 0, row 0: the weights sum to"):
        at.open(file)


@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6), (3, 2, 5, 6)])
def test_tables_come_from_files_and_arrays(shape, tmp_path):
    tables = random_tables(3, *shape).astype(np.float32)
    np.save(tmp_path / "t.npy", tables)
    (tmp_path / "t.json").write_text(json.dumps(tables.tolist()))
    whole = tables.reshape((1,) * (4 - len(shape)) + shape)
    for rec in (
        at.open(tmp_path / "t.npy"),
        at.open(tmp_path / "t.json"),
        at.Recording.from_tables(tables),
        at.Recording.from_tables(tables.tolist()),
        at.Recording.from_tables(np.asfortranarray(tables)),
    ):
        np.testing.assert_allclose(rec.weights(), whole, rtol=1e-6)


def test_tables_have_the_names_that_are_given(tmp_path):
    np.save(tmp_path / "t.npy", np.full((2, 3), 1 / 3))
    rec = at.open(tmp_path / "t.npy", tokens=["a", "b"], key_tokens=["x", "y", "z"])
    assert (rec.tokens, rec.keys(), rec.name) == (["a", "b"], ["x", "y", "z"], "t")
    assert at.Recording.from_tables(np.eye(2)).tokens == ["0", "1"]


def test_a_table_whose_rows_do_not_sum_to_one_is_said_to_be_wrong(tmp_path):
    np.save(tmp_path / "t.npy", np.full((2, 2), 0.7))
    with pytest.warns(UserWarning, match="t.npy: layer 0, head 0, row 0: the weights sum to 1.4, not 1"):
        rec = at.open(tmp_path / "t.npy")
    passed, words = rec.analyze().check
    assert not passed and "sum to 1.4" in words and "sum to 1.4" in str(rec.analyze())


def test_attentions_of_transformers_are_taken_as_they_are():
    torch = pytest.importorskip("torch")
    tables = torch.tensor(random_tables(4, 3, 2, 5, 5))
    for given in (
        tuple(layer[None] for layer in tables),
        tuple(layer[None].half() for layer in tables),
        [layer[None].bfloat16() for layer in tables],
        [layer.requires_grad_() for layer in tables.clone()],
        tables,
        tables.transpose(2, 3).contiguous().transpose(2, 3),
    ):
        rec = at.Recording.from_tables(given, list("abcde"))
        np.testing.assert_allclose(rec.weights(), tables.numpy(), atol=4e-3)
    heads = at.Recording.from_tables(list(tables[0]))
    np.testing.assert_allclose(heads.weights(0), tables[0].numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="of 2 texts"):
        at.Recording.from_tables([layer[None].repeat(2, 1, 1, 1) for layer in tables])


@pytest.mark.parametrize(
    ("weights", "tokens", "error", "words"),
    [
        ("text", None, TypeError, "must be numbers"),
        ([[1.0, 2.0], [3.0]], None, TypeError, "rows of equal length"),
        ([[1j]], None, TypeError, "must be numbers"),
        (None, None, TypeError, "output_attentions=True"),
        ((None, None), None, TypeError, "output_attentions=True"),
        (np.ones(3), None, ValueError, "weights has 1 axes"),
        (np.ones((1, 1, 1, 2, 2)), None, ValueError, "weights has 5 axes"),
        (np.ones((0, 3)), None, ValueError, "at least one row"),
        ([np.ones((2, 3)), np.ones((1, 2, 3))], None, ValueError, "axes"),
        ([np.ones((1, 2, 3)), np.ones((2, 2, 3))], None, ValueError, "same shape"),
        ([], None, ValueError, "axes"),
        (np.ones((2, 2)), ["a"], ValueError, "1 tokens for 2 rows"),
        (np.ones((2, 2)), "a b", TypeError, r"tokens=text.split\(\)"),
    ],
)
def test_tables_that_are_none_are_refused_in_words(weights, tokens, error, words):
    with pytest.raises(error, match=words):
        at.Recording.from_tables(weights, tokens)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.save("x.attn"), r"save\(\) takes a model's recording"),
        (lambda r: r.trace(0, 0, 0), r"trace\(\) takes a model's recording"),
        (lambda r: r.hidden(), r"hidden\(\) takes a model's recording"),
        (lambda r: r.value_weighted(), "needs? a model"),
        (lambda r: r.find("prevoius"), "neither a name .* nor a mask"),
        (lambda r: r.find(-np.eye(3)), "negative|from 0 up"),
        (lambda r: r.rollout("zebra"), "there is no token 'zebra'"),
    ],
)
def test_what_a_table_cannot_say_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call(at.Recording.from_tables(random_tables(5, 4, 4)))


@pytest.mark.parametrize("name", ["missing.attn", "missing.npy"])
def test_files_that_are_not_there_are_os_errors(name, tmp_path):
    with pytest.raises(OSError, match=name):
        at.open(tmp_path / name)
    with pytest.raises(at.Error):
        at.open(tmp_path / name)


# ---- beside other work ----


def test_the_number_of_threads_changes_no_bit(threads_restored):
    rec = at.load("tiny-bert").record(ENGLISH)
    found = []
    for threads in (1, 3):
        at.set_num_threads(threads)
        found.append((rec.weights(), rec.statistics().array("entropy"), str(rec.analyze())))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]


def test_python_goes_on_while_heads_are_looked_at(threads_restored):
    at.set_num_threads(1)
    rec = at.Recording.from_tables(np.full((4, 4, 1000, 1000), 1 / 1000, np.float32))
    assert turns_beside(rec.statistics) > 3


def test_sinks_are_removed_and_rows_renormalised(rec):
    plain, rest = rec.weights(2, 1), rec.without_sinks().weights(2, 1)
    sinks = [0] + [j for j, token in enumerate(rec.tokens) if token in ("[CLS]", "[SEP]")]
    expected = plain.astype(np.float64)
    expected[:, sinks] = 0
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.abs(rest - expected).max() < 1e-6
    drawn = rec.figure(layer=2, head=1, without_sinks=True)
    assert "Without sinks" in str(drawn)
    assert str(drawn) == str(rec.without_sinks().figure(layer=2, head=1))
    with pytest.raises(ValueError, match="renormalises weights"):
        rec.figure(layer=2, head=1, measure="value", without_sinks=True)


def interrupted_after(seconds, work):
    """How long it takes until an interrupt, that comes after so many seconds, has ended the work."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begin = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            work()
            time.sleep(2 * seconds + 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return time.perf_counter() - begin


def test_an_interrupt_ends_long_work(threads_restored):
    at.set_num_threads(1)
    rec = at.Recording.from_tables(np.full((4, 16, 600, 600), 1 / 600, np.float32))
    begin = time.perf_counter()
    rec.statistics()
    whole = time.perf_counter() - begin
    # Several times, since this machine may have other things to do.
    assert min(interrupted_after(whole / 10, rec.statistics) for _ in range(3)) < 0.8 * whole
    assert len(rec.statistics()) == 64  # and it can be asked again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_looks_and_ends(threads_restored):
    at.set_num_threads(3)
    rec = at.load("tiny-bert").record(ENGLISH)
    wanted = rec.statistics().array("entropy")
    child = os.fork()
    if child == 0:
        same = np.array_equal(rec.statistics().array("entropy"), wanted)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(rec.statistics().array("entropy"), wanted)
