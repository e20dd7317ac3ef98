"""Output fits the width of the screen, and no line ends in blanks."""

import os
import unicodedata

import pytest
from conftest import attnscope, model_folder

TEXT = ("--model", model_folder("bert"), "--text", "the cat sat on the mat")
ONE_WEIGHT = ("--layer", "0", "--head", "1", "--query", "1")
COMMANDS = {
    "analyze": ("analyze", *TEXT),
    "trace": ("trace", *TEXT, *ONE_WEIGHT),
    "rollout": ("rollout", *TEXT, "--token", "1"),
    "flow": ("flow", *TEXT, "--token", "1"),
    "find": ("find", "previous", *TEXT),
    "ablate": ("ablate", *TEXT, "--head", "0.1"),
    "ablate at one place": ("ablate", *TEXT, "--head", "0.1", "--at", "2"),
    "ablate --all": ("ablate", *TEXT, "--all"),
    "ablate --all at one place": ("ablate", *TEXT, "--all", "--at", "2"),
    "explain": ("explain", *TEXT),
    "explain --word": ("explain", *TEXT, "--word", "1"),
    "compare": ("compare", "--model", model_folder("bert"), "the cat sat", "the dog sat on the mat"),
    "headview": ("headview", *TEXT, "--layer", "0"),
    "weights": ("weights", *TEXT, "--layer", "0", "--head", "0"),
}


def lines_of(columns, *arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": str(columns)}
    lines = attnscope(*arguments, env=environment).stdout.splitlines()
    assert lines
    return lines


def width_of(line):
    marks = ("Mn", "Me", "Cf")
    return sum(
        0 if unicodedata.category(c) in marks else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line
    )


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_wider_than_the_screen(name, columns):
    wide = [line for line in lines_of(columns, *COMMANDS[name]) if width_of(line) > columns]
    assert wide == []


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_ends_in_a_blank(name, columns):
    assert [line for line in lines_of(columns, *COMMANDS[name]) if line != line.rstrip()] == []


def test_a_narrow_head_view_names_its_heads():
    weights = [line for line in lines_of(40, *COMMANDS["headview"]) if "→" in line]
    assert weights
    assert all("head " in line or " h" in line for line in weights)


def test_products_below_zero_look_different():
    rows = [line.split() for line in lines_of(80, *COMMANDS["trace"])]
    products = [row for row in rows if len(row) == 5 and row[0].isdigit() and "█░▏▎▍▌▋▊▉".find(row[4][0]) >= 0]
    assert {float(row[3]) < 0 for row in products} == {True, False}
    for row in products:
        assert (float(row[3]) < 0) == (set(row[4]) == {"░"})


def test_a_token_that_is_a_space_is_visible():
    model = ("--model", model_folder("gpt2"), "--text", "a  b")
    lines = lines_of(80, "rollout", *model, "--token", "1", "--top", "4")
    assert lines[0].startswith("·")
    assert "·" in lines_of(80, "trace", *model, "--layer", "0", "--head", "0", "--query", "1", "--key", "1")[0]
