"""Tests reading texts from many sources, and statistics of heads over them."""

import operator
import pickle

import attnscope as at
import numpy as np
import pandas
import pytest

TEXTS = [
    "The cat sat on the mat.",
    "",
    "It was raining, and the dog barked.",
    "A good film.",
    "The cat saw the other cat.",
]


@pytest.fixture(scope="module")
def model():
    return at.load("tiny-bert")


def by_hand(model, number):
    """Returns the mean over texts of each recording's own statistics."""
    return np.mean([model.record(text).statistics().array(number) for text in TEXTS if text], axis=0)


def hugging_face(rows):
    import datasets

    return datasets.Dataset.from_dict({"label": [0] * len(rows), "text": rows})


SOURCES = {
    "a list": lambda rows: rows,
    "a generator": lambda rows: (row for row in rows),
    "rows": lambda rows: [{"label": 1, "text": row} for row in rows],
    "columns": lambda rows: {"label": [1] * len(rows), "text": rows},
    "a Series": pandas.Series,
    "a DataFrame": lambda rows: pandas.DataFrame({"stars": 5, "review": rows}),
    "a Dataset": hugging_face,
    "a streamed Dataset": lambda rows: hugging_face(rows).to_iterable_dataset(),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_texts_are_read_from_any_source(kind):
    assert list(at.datasets.texts(SOURCES[kind](TEXTS))) == TEXTS
    assert list(at.datasets.texts(SOURCES[kind](TEXTS), limit=2)) == TEXTS[:2]


@pytest.mark.parametrize("name", ["reviews.csv", "reviews.jsonl", "reviews.txt"])
def test_texts_are_read_from_files(tmp_path, name):
    file, rows = tmp_path / name, [text for text in TEXTS if text]
    frame = pandas.DataFrame({"stars": 5, "review": rows})
    if name.endswith("csv"):
        frame.to_csv(file, index=False)
    elif name.endswith("jsonl"):
        frame.rename(columns={"review": "text"}).to_json(file, orient="records", lines=True)
    else:
        file.write_text("\n".join(rows) + "\n")
    assert list(at.datasets.texts(file)) == rows
    assert list(at.datasets.texts(str(file))) == rows


def test_missing_texts_are_skipped():
    assert list(at.datasets.texts(["a", None, float("nan"), "b"])) == ["a", "b"]
    assert list(at.datasets.texts(pandas.DataFrame({"text": ["a", None, "b"]}))) == ["a", "b"]


def test_the_named_column_is_used():
    frame = pandas.DataFrame({"text": ["a"], "summary": ["b"]})
    assert list(at.datasets.texts(frame, column="summary")) == ["b"]
    assert list(at.datasets.texts(frame.to_dict("records"), column="summary")) == ["b"]


@pytest.mark.parametrize(
    ("source", "arguments", "error", "words"),
    [
        ("no-such-file.csv", {}, FileNotFoundError, "wrap it in a list"),
        ({"one": ["a"], "two": ["b"]}, {}, ValueError, "'one', 'two'"),
        ([{"text": "a"}], {"column": "txet"}, KeyError, "'txet'"),
        (["a", None, 5], {}, TypeError, "text 2 must be a str, not int"),
        (None, {}, TypeError, "NoneType"),
        (["a"], {"limit": -1}, ValueError, "-1"),
        ({"train": {"text": ["a"]}, "test": {"text": ["b"]}}, {}, TypeError, "'train', 'test'"),
    ],
)
def test_sources_without_texts_are_rejected(source, arguments, error, words):
    with pytest.raises(error, match=words):
        list(at.datasets.texts(source, **arguments))


def test_a_corpus_reports_means_over_its_texts(model):
    corpus = at.datasets.Corpus(model).add(TEXTS)
    assert corpus.counts["texts"] == 4 and corpus.counts["empty"] == 1
    report = corpus.report()
    for number in ("entropy", "distance"):
        np.testing.assert_allclose(report.statistics.array(number), by_hand(model, number), atol=1e-5)


def test_long_texts_are_cut_and_counted(model):
    corpus = at.datasets.Corpus(model, max_tokens=6).add(["one two three four five six seven"])
    assert corpus.counts == {"texts": 1, "tokens": 6, "cut": 1, "empty": 0}


def test_parts_are_added_after_pickling(model):
    whole = at.datasets.Corpus(model).add(TEXTS).report()
    parts = [pickle.loads(pickle.dumps(at.datasets.Corpus("tiny-bert").add([text]))) for text in TEXTS]
    total = sum(parts).report()
    np.testing.assert_allclose(total.statistics.array("entropy"), whole.statistics.array("entropy"), atol=1e-6)
    assert (total.look_at.layer, total.look_at.head) == (whole.look_at.layer, whole.look_at.head)


def test_corpora_of_different_models_cannot_be_added(model):
    with pytest.raises(ValueError, match="tiny-gpt"):
        at.datasets.Corpus(model) + at.datasets.Corpus("tiny-gpt")
    with pytest.raises(TypeError):
        at.datasets.Corpus(model) + 1


def test_an_empty_corpus_is_rejected(model):
    with pytest.raises(ValueError, match="no text"):
        at.datasets.analyze(model, ["", " "])


def test_dask_distributes_a_corpus_over_workers():
    import dask.bag
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        parts = dask.bag.from_sequence(TEXTS, npartitions=3)
        parts = parts.map_partitions(lambda texts: [at.datasets.Corpus("tiny-bert").add(texts)])
        total = parts.fold(operator.add).compute()
    assert total.texts == 4
    whole = at.datasets.analyze("tiny-bert", TEXTS)
    np.testing.assert_allclose(total.report().statistics.array("entropy"), whole.statistics.array("entropy"), atol=1e-6)
