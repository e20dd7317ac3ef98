"""Figures that the program writes, read back by independent programs."""

import base64
import json
import shutil
import struct
import subprocess
import xml.etree.ElementTree as xml
import zlib

import pytest
from conftest import GOLDEN, attnscope

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
TOKENS = ["[CLS]", "我", "喜欢", "שלום", "مرحبا", "🐱", "a<b&c", "##ing"]


@pytest.fixture
def table(tmp_path):
    """64 numbers, one at each position for which there is a golden colour."""
    weights = [[(8 * i + j) / 64 for j in range(8)] for i in range(8)]
    weights[7][7] = 1.0
    file = tmp_path / "weights.json"
    file.write_text(json.dumps(weights))
    return file, weights


def drawn(table, name, *options):
    file = table[0].with_name(name)
    attnscope("heatmap", "--table", table[0], "--tokens", " ".join(TOKENS), "-o", file, *options)
    return file.read_bytes()


def palette_image(png):
    """Width, height and rows of colours of a PNG with a palette and no filters."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        chunks[kind] = chunks.get(kind, b"") + png[at + 8 : at + 8 + size]
        at += 12 + size
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colours) == (8, 3)
    palette = [tuple(chunks[b"PLTE"][i : i + 3]) for i in range(0, len(chunks[b"PLTE"]), 3)]
    lines = zlib.decompress(chunks[b"IDAT"])
    rows = [lines[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    return width, height, [[palette[step] for step in row[1:]] for row in rows]


@pytest.mark.parametrize("cmap", ["viridis", "magma", "cividis", "YlOrRd", "Blues"])
def test_svg_has_labels_as_text_and_the_colours_of_matplotlib(table, cmap):
    root = xml.fromstring(drawn(table, "x.svg", "--cmap", cmap, "--title", "A & B"))
    texts = [element.text for element in root.iter(SVG + "text")]
    for token in TOKENS:
        assert texts.count(token) == 2, f"{token} in {texts}"
    assert {"Query", "Key", "Attention weight", "A & B"} <= set(texts)

    image = next(root.iter(SVG + "image"))
    width, height, rows = palette_image(base64.b64decode(image.get(LINK).partition(",")[2]))
    assert width == height and width % 8 == 0
    cell = width // 8
    golden = json.loads((GOLDEN / "colour_maps.json").read_text())[cmap]
    for i in range(8):
        for j in range(8):
            expected = golden[round(64 * table[1][i][j])]
            ours = rows[i * cell + cell // 2][j * cell + cell // 2]
            assert ours == pytest.approx([255 * part for part in expected], abs=1.001), (i, j)


def test_pdf_has_its_labels_as_text(table):
    pdf = drawn(table, "x.pdf", "--title", "Eight tokens")
    assert pdf.startswith(b"%PDF-1.")
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not here")
    text = subprocess.run(
        ["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True
    ).stdout.decode()
    for word in ["Eight tokens", "[CLS]", "喜欢", "##ing", "a<b&c", "Key"]:
        assert word in text


def test_png_has_its_resolution_and_is_reproducible(table):
    png = drawn(table, "x.png", "--dpi", 300)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at = png.index(b"pHYs") + 4
    assert struct.unpack(">IIB", png[at : at + 9]) == (11811, 11811, 1)  # dots per metre
    assert png == drawn(table, "x.png", "--dpi", 300)


def test_a_table_that_cannot_be_drawn_leaves_no_file(tmp_path):
    file = tmp_path / "w.csv"
    file.write_text("0.5,nan\n0.5,0.5\n")
    done = attnscope("heatmap", "--table", file, "--tokens", "a b", "-o", tmp_path / "x.png", check=False)
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.csv"]
