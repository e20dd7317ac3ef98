"""kill -9 at random moments: what was there stays whole, the next run finishes the work with the same bytes, and nothing
is left behind. Three kills per command; ATTNSCOPE_KILLS=200 for a long night."""

import os
import random
import subprocess
import time

import pytest
import test_pull
from conftest import PROGRAM, attnscope

KILLS = int(os.environ.get("ATTNSCOPE_KILLS", "3"))
TEXTS = "".join(
    f"the {a} cat {b} the mat and {c}\n" for a in ("red", "old") for b in ("sees", "likes", "eats") for c in "abcdefgh"
)
# fmt: off
TRAIN = ["train", "lm", "--data", "texts.txt", "--to", "to/model", "--layers", "1", "--heads", "2", "--width", "8",
         "--batch", "2", "--length", "12", "--vocabulary", "265", "--steps", "30", "--warmup", "2",
         "--checkpoint-every", "1", "--evaluate-every", "5", "--record-every", "2", "--probe", "the old cat"]
# fmt: on
hub = test_pull.hub  # a fixture
COMMANDS = {
    "train": TRAIN,
    "record": ["record", "--file", "texts.txt", "--all", "-o", "to/out.attn"],
    "weights": ["weights", "--file", "texts.txt", "--npy", "to/out.npy"],
    "corpus": ["analyze", "--corpus", "to/corpus.txt", "--json", "to/out.json", "--max-tokens", "64"],
    "pull": ["pull", "someone/tiny"],
}


def made_in(place, name):
    """A folder with what the command reads."""
    (place / "to").mkdir(parents=True)
    (place / "texts.txt").write_text(TEXTS)
    if name == "corpus":
        (place / "to" / "corpus.txt").write_text(TEXTS * 8)
    return place


def content(folder):
    """Every file by name, with its bytes or the target of its link. Locks of the hub's cache are meant to stay."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file() and not name.endswith(".lock"):
            found[name] = path.read_bytes()
    return found


def killed(command, place, moment, options):
    process = subprocess.Popen(
        [PROGRAM, *command], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    time.sleep(moment)
    process.kill()
    process.wait()


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_moment_nothing_is_lost_or_left(tmp_path, name, request):
    command, options = COMMANDS[name], {}
    places = [made_in(tmp_path / which, name) for which in ("unbroken", "broken")]
    if name == "pull":
        served = request.getfixturevalue("hub")
        options = {place: {"env": {**served["env"], "HF_HOME": str(place / "to")}} for place in places}
    of = lambda place: options.get(place, {})  # noqa: E731
    begin = time.monotonic()
    attnscope(*command, cwd=places[0], **of(places[0]))
    seconds = time.monotonic() - begin
    want = content(places[0] / "to")
    moments = random.Random(name)
    for _ in range(KILLS):
        killed(command, places[1], moments.uniform(0, 1.1 * seconds), of(places[1]))
        for refs in places[1].rglob("refs"):  # other tools take every file there for a revision
            assert set(os.listdir(refs)) <= {"main"}
        for file, kept in content(places[1] / "to").items():  # a file with its final name is complete
            if name != "train" and file in want:
                assert kept == want[file], file
    attnscope(*command, cwd=places[1], **of(places[1]))
    found = content(places[1] / "to")
    assert found.keys() == want.keys()
    assert [file for file in want if found[file] != want[file]] == []
