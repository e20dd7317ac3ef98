"""attnscope find: heads by name, by a mask and by a picture."""

import json
import struct
import zlib

import numpy as np
import pytest
from conftest import attnscope, model_folder, refused
from test_analyze import MADE_UP, TEXT, WORDS, ids_of, load, near, tables_of


def found(*arguments):
    return json.loads(attnscope("find", *arguments, "--json").stdout)["heads"]


def test_a_synthetic_head_is_found_by_its_name(tmp_path):
    names = {
        "previous token": "previous",
        "next token": "next",
        "same token": "same",
        "positional offset": "offset(-3)",
        "duplicate": "duplicate",
        "induction": "induction",
        "punctuation": "punctuation",
        "broad": "broad",
    }
    np.save(tmp_path / "w.npy", np.array(list(MADE_UP.values()), np.float32))
    for head, name in names.items():
        best = found(name, "--table", tmp_path / "w.npy", "--tokens", " ".join(WORDS))[0]
        assert best["head"] == list(MADE_UP).index(head), name


def test_similarity_with_a_mask_is_the_overlap_with_an_even_head():
    base = ["--model", model_folder("gpt2"), "--text", TEXT, "--top", 1000]
    tables = tables_of(load("gpt2"), ids_of("gpt2", TEXT))["self"]
    n = tables.shape[-1]
    i, j = np.mgrid[:n, :n]
    even = ((j <= i) & (i - j <= 2)).astype(float)
    even /= even.sum(-1, keepdims=True)
    got = found("causal & window(2)", *base)
    assert [head["similarity"] for head in got] == sorted((head["similarity"] for head in got), reverse=True)
    assert len(got) == tables.shape[0] * tables.shape[1]
    for head in got:
        near(head["similarity"], np.minimum(tables[head["layer"], head["head"]], even).sum(-1).mean())


@pytest.mark.parametrize("size", [3, 8, 64])
def test_similarity_with_a_picture_is_the_overlap_of_both_reduced(tmp_path, size):
    tables = tables_of(load("bert"), ids_of("bert", TEXT))["self"]
    n = tables.shape[-1]
    picture = np.random.default_rng(size).random((size, size)) ** 4
    picture[1] = 0
    np.save(tmp_path / "p.npy", picture)
    cells = min(size, n)

    def reduced(table, count):
        starts = np.arange(cells) * count // cells
        return np.add.reduceat(np.add.reduceat(table, starts, 0), starts, 1)

    wanted = reduced(picture, size)
    rows = wanted.sum(-1) > 0
    wanted[rows] /= wanted[rows].sum(-1, keepdims=True)
    heights = np.diff([*(np.arange(cells) * n // cells), n])[:, None]
    for head in found(tmp_path / "p.npy", "--model", model_folder("bert"), "--text", TEXT, "--top", 99):
        mass = reduced(tables[head["layer"], head["head"]], n) / heights
        near(head["similarity"], np.minimum(mass, wanted)[rows].sum(-1).mean())


def test_a_png_finds_the_head_that_it_was_drawn_from(tmp_path):
    np.save(tmp_path / "w.npy", np.array(list(MADE_UP.values()), np.float32))
    grey = [np.uint8(255 * table / table.max()) for table in MADE_UP.values()]
    for head in (0, 3, 7):
        for file, pixels, dark in (("bright.png", grey[head], []), ("dark.png", 255 - grey[head], ["--dark"])):
            (tmp_path / file).write_bytes(png(pixels))
            assert found(tmp_path / file, "--table", tmp_path / "w.npy", *dark)[0]["head"] == head


def png(grey):
    """A grey PNG file, written by hand from the standard."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_a_wrong_pattern_is_refused_in_one_line(tmp_path):
    base = ["--model", model_folder("bert"), "--text", TEXT]
    assert "is neither a name" in refused(2, "find", "sideways", *base)
    assert "from -16 to 16" in refused(2, "find", "offset(20)", *base)
    assert "missing.png" in refused(1, "find", "missing.png", *base)
    (tmp_path / "x.png").write_bytes(b"not a picture")
    assert "is not a readable PNG" in refused(1, "find", tmp_path / "x.png", *base)
    np.save(tmp_path / "zero.npy", np.zeros((3, 3)))
    assert "is all zeros" in refused(2, "find", tmp_path / "zero.npy", *base)
