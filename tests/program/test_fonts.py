"""Figures without fonts, and fonts that come with the program."""

import os
import shutil
import subprocess

import pytest
from conftest import PROGRAM

TOKENS = "小 cat"


def font_file(pattern):
    found = subprocess.run(["fc-match", "--format=%{file}", pattern], capture_output=True, text=True, check=True)
    return found.stdout


@pytest.fixture
def machine(tmp_path):
    """A machine that has no fonts, and a table to draw there."""
    (tmp_path / "fonts.conf").write_text(f"<fontconfig><cachedir>{tmp_path}/cache</cachedir></fontconfig>")
    (tmp_path / "weights.json").write_text("[[0.5, 0.5], [0.25, 0.75]]")
    return tmp_path


def drawn(machine, file, tokens=TOKENS, program=PROGRAM):
    """Standard error of a figure."""
    command = [program, "heatmap", "--table", machine / "weights.json", "--tokens", tokens, "-o", machine / file]
    environment = {**os.environ, "FONTCONFIG_FILE": str(machine / "fonts.conf")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60).stderr


@pytest.fixture
def carried(machine):
    """The program with fonts beside it, as in the archive."""
    fonts = machine / "share" / "attnscope" / "fonts"
    fonts.mkdir(parents=True)
    (machine / "bin").mkdir()
    for pattern in ("Noto Sans:style=Regular", "Noto Sans:style=Bold"):
        shutil.copy(font_file(pattern), fonts)
    return shutil.copy(PROGRAM, machine / "bin" / "attnscope")


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_missing_character_is_noted_once(machine, carried, kind):
    said = drawn(machine, f"x.{kind}", program=carried)
    assert said == (
        "note: no installed font has 小 (U+5C0F), the figure shows a box instead; install a font that has it, "
        "e.g. apt install fonts-noto-cjk\n"
    )
    assert (machine / f"x.{kind}").stat().st_size > 1000


@pytest.mark.parametrize(
    "token, package",
    [("한", "fonts-noto-cjk"), ("😀", "fonts-noto-color-emoji"), ("→", "fonts-noto-core"), ("𠀀", "fonts-noto-cjk")],
)
def test_the_note_names_a_package_that_has_it(machine, carried, token, package):
    said = drawn(machine, "x.png", f"{token} cat", carried)
    assert f"{token} (U+{ord(token):04X})" in said and said.endswith(f"apt install {package}\n")


def test_an_svg_needs_no_fonts_to_write(machine, carried):
    assert drawn(machine, "x.svg", program=carried) == ""


def test_fonts_beside_the_program_are_used(machine, carried):
    assert drawn(machine, "x.pdf", "the cat", carried) == ""
    assert b"NotoSans" in (machine / "x.pdf").read_bytes()


def test_fonts_beside_the_program_add_to_those_of_the_system(machine, carried):
    (machine / "fonts").mkdir()
    shutil.copy(font_file("Noto Sans CJK SC:style=Regular"), machine / "fonts")
    conf = f"<fontconfig><dir>{machine}/fonts</dir><cachedir>{machine}/cache</cachedir></fontconfig>"
    (machine / "fonts.conf").write_text(conf)
    assert drawn(machine, "x.pdf", program=carried) == ""
    pdf = (machine / "x.pdf").read_bytes()
    assert b"NotoSansCJK" in pdf and b"NotoSans-" in pdf
