"""docs/scale.md agrees with its model, and the model with the library."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "scale"
DOCUMENT = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")

sys.path.insert(0, str(FOLDER))
import model  # noqa: E402
import plot  # noqa: E402


@pytest.mark.parametrize("make", model.TABLES)
def test_every_table_is_what_the_model_gives(make):
    assert make() in DOCUMENT


def test_the_plot_is_what_the_script_draws():
    assert plot.draw() == (FOLDER / "scale.svg").read_text(encoding="utf-8")


def test_the_model_cuts_keys_into_pieces_as_the_library_does():
    source = (ROOT / "src" / "engine" / "ring" / "ring.cc").read_text(encoding="utf-8")
    least, most = re.search(r"kLeastKeys = (\d+), kMostLaps = (\d+);", source).groups()
    rows = re.search(r"kSliceRows = (\d+);", source).group(1)
    assert (int(least), int(most), int(rows)) == (model.LEAST_KEYS, model.MOST_LAPS, model.SLICE_ROWS)


def test_communication_is_hidden_from_the_number_of_tokens_in_the_formula():
    """Without latency and merging, computation and communication take equal time there."""
    rank = model.Rank(cores=64, merging=0)
    for network in model.NETWORKS:
        quick = model.Network(network.name, network.bytes, 0)
        tokens = model.least_tokens(model.LAYER, rank, quick)
        step = model.step(model.LAYER, rank, quick, 16 * tokens, 16)
        assert step.computing == pytest.approx(step.travelling)


def test_the_model_is_as_close_to_measurements_as_the_text_claims():
    off = [abs(int(number)) for number in re.findall(r"\| ([+-]\d+)% \|", model.check_table())]
    most = int(re.search(r"off by at most (\d+)%", DOCUMENT).group(1))
    assert len(off) == len(model.MEASURED["points"]["rows"]) > 0
    assert max(off) <= most


def test_two_ranks_on_slow_networks_are_as_close_to_the_model_as_the_text_claims():
    found = re.findall(r"\| ([\d,]+) Mbit/s .*\| 2 \|.*\| ([+-]\d+)% \|", model.network_table())
    off = {fast: max(abs(int(number)) for rate, number in found if (rate == "1,000") == fast) for fast in (False, True)}
    said = re.search(r"Two ranks: off by at most (\d+)% .* and by (\d+)% of 36 ms at 1 Gbit/s", DOCUMENT)
    assert len(found) == 12
    assert (off[False], off[True]) == tuple(map(int, said.groups()))
