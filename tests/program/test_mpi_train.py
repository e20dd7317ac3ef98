"""train on several processes: the loss curve of one, checkpoints that any number of ranks resumes, one error message."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import attnscope
from mpi import LIBRARIES, PROGRAM, ROOT, mpirun, said_once

WHO = ["the cat", "a dog", "my friend", "the old man", "she"]
DOES = ["likes", "hates", "sees", "eats"]
WHAT = ["red apples", "the sea", "a long film", "cold soup", "new music", "rain"]
EXAMPLES = [
    (f"{WHO[n % 5]} {DOES[n % 4]} {WHAT[n * 7 % 6]}" + " and rain" * (n % 4), WHAT[n * 5 % 6], DOES[n % 4] == "hates")
    for n in range(120)
]
TASKS = {"lm": ("text", 290), "mlm": ("text", 60), "classify": ("bad", 60), "translate": ("other", 0)}
STEPS = 20


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "examples.csv"
    with open(file, "w", encoding="utf-8", newline="") as to:
        csv.writer(to).writerows([("text", "other", "bad"), *EXAMPLES])
    return file


SMALL = {"steps": STEPS, "layers": 2, "heads": 2, "width": 16, "batch": 5, "length": 24, "warmup": 4, "rate": 0.003,
         "held-out": 0.1, "dropout": 0.1, "checkpoint-every": 10, "evaluate-every": 10}  # fmt: skip


def command(task, data, to, *more, changed=None):
    label, vocabulary = TASKS[task]
    columns = ["--text-column", "text", *(["--label-column", label] if label != "text" else [])]
    options = [part for name, value in {**SMALL, **(changed or {})}.items() for part in (f"--{name}", value)]
    return ["train", task, "--data", data, "--to", to, *columns, "--vocabulary", vocabulary, *options, *more]


def curve(folder):
    """Losses and evaluations: (step, column) -> number."""
    with open(folder / "loss.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ("loss", "held_out_loss", "held_out_right")
    return {(int(row["step"]), name): float(row[name]) for row in rows for name in names if row[name]}


def same_curve(a, b, steps=STEPS):
    ours, theirs = curve(a), curve(b)
    assert ours.keys() == theirs.keys() and len(ours) >= steps + 2
    return max(abs(ours[key] - theirs[key]) for key in ours) < 1e-4


@pytest.fixture(scope="module")
def by_one(data, tmp_path_factory):
    """Each task, trained by one process."""
    folders = {task: tmp_path_factory.mktemp("one") / task for task in TASKS}
    for task, folder in folders.items():
        attnscope(*command(task, data, folder))
    return folders


# ---- the same as one process ----


@pytest.mark.parametrize("task, ranks", [("lm", 2), ("mlm", 3), ("classify", 3), ("translate", 2)])
@pytest.mark.parametrize("library", LIBRARIES)
def test_curve_is_that_of_one_process(by_one, data, tmp_path, library, task, ranks):
    done = mpirun(library, ranks, *command(task, data, tmp_path / "model", "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == STEPS  # one line, printed by one rank
    assert same_curve(tmp_path / "model", by_one[task])
    assert sorted(os.listdir(tmp_path / "model")) == sorted(os.listdir(by_one[task]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_rank_records_the_probe_and_prints(data, tmp_path, library):
    more = ["--record-every", 10, "--probe", "the cat sees rain"]
    done = mpirun(library, 2, *command("lm", data, tmp_path / "model", *more))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "texts" in lines[0] and [line.split()[0] for line in lines[1:]] == ["step", "step", "done:"]
    recordings = sorted(os.listdir(tmp_path / "model" / "recordings"))
    assert recordings == ["step-000000.attn", "step-000010.attn", "step-000020.attn"]


# ---- stopping and resuming ----


def start(library, ranks, *arguments):
    environment = {**os.environ, "ATTNSCOPE_THREADS": "1"}
    whole = [ROOT / "tools" / "mpirun.sh", library, ranks, PROGRAM, *arguments]
    return subprocess.Popen(
        list(map(str, whole)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def process_of_rank(rank, folder):
    """The process that trains into this folder as this rank."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ranks = {b"OMPI_COMM_WORLD_RANK=%d" % rank, b"PMI_RANK=%d" % rank}
        if words[0] == str(PROGRAM).encode() and str(folder).encode() in words and ranks & set(variables):
            return int(entry.name)
    raise AssertionError(f"there is no rank {rank}")


def wait_for(file, running):
    end = time.monotonic() + 60
    while not file.exists():
        assert running.poll() is None and time.monotonic() < end, running.communicate()
        time.sleep(0.01)


LONG = 300
SLOW = {"steps": LONG, "rate": 0.0005}


@pytest.fixture(scope="module")
def long_by_one(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("long") / "model"
    attnscope(*command("mlm", data, folder, changed=SLOW))
    return folder


@pytest.mark.parametrize("library", LIBRARIES)
def test_signal_to_one_rank_stops_all_and_another_number_resumes(long_by_one, data, tmp_path, library):
    folder = tmp_path / "model"
    learning = command("mlm", data, folder, changed=SLOW)
    running = start(library, 3, *learning)
    wait_for(folder / "training.safetensors", running)
    os.kill(process_of_rank(1, folder), signal.SIGTERM)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert said.count("stopped after step") == 1
    stopped_after = int(said.split("stopped after step ")[1].split()[0])
    assert 10 <= stopped_after < LONG
    done = mpirun(library, 2, *learning)
    assert done.returncode == 0, done.stderr
    assert f"resuming from step {stopped_after}\n" in done.stdout
    assert same_curve(folder, long_by_one, LONG)


@pytest.mark.parametrize("library", LIBRARIES)
def test_killed_rank_ends_the_others_and_one_process_resumes(long_by_one, data, tmp_path, library):
    folder = tmp_path / "model"
    learning = command("mlm", data, folder, changed=SLOW)
    running = start(library, 2, *learning)
    wait_for(folder / "training.safetensors", running)
    os.kill(process_of_rank(1, folder), signal.SIGKILL)
    running.communicate(timeout=60)
    assert running.returncode != 0
    attnscope(*learning)
    assert same_curve(folder, long_by_one, LONG)


# ---- errors ----


@pytest.mark.parametrize("library", LIBRARIES)
def test_batch_smaller_than_the_ranks_is_refused(data, tmp_path, library):
    done = mpirun(library, 3, *command("lm", data, tmp_path / "model", changed={"batch": 2}))
    assert said_once(done, 2) == "--batch 2 is too small for 3 processes"
    assert not (tmp_path / "model").exists()


def one_and_another(library, one, another):
    """Runs the first command on rank 0 and the second on rank 1."""
    return mpirun(library, 1, *one, ":", "-n", 1, PROGRAM, *another)


@pytest.mark.parametrize("library", LIBRARIES)
def test_rank_without_its_data_is_named(data, tmp_path, library):
    missing = tmp_path / "not there.csv"
    done = one_and_another(library, command("lm", data, tmp_path / "model"), command("lm", missing, tmp_path / "model"))
    said = said_once(done, 1)
    assert said.startswith("rank 1: ") and "not there.csv" in said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("library", LIBRARIES)
def test_rank_with_other_data_or_options_is_named(data, tmp_path, library):
    other = tmp_path / "other.csv"
    other.write_text(data.read_text(encoding="utf-8").replace("cat", "cow"), encoding="utf-8")
    done = one_and_another(
        library,
        command("lm", data, tmp_path / "model"),
        command("lm", other, tmp_path / "model", changed={"checkpoint-every": 7}),
    )
    said = said_once(done, 1)
    assert said.startswith("rank 1 has different settings: ")
    assert "data is " in said and "checkpoint-every is 7 there and 10 on rank 0" in said


@pytest.mark.parametrize("library", LIBRARIES)
def test_divergence_is_reported_once(data, tmp_path, library):
    done = mpirun(library, 2, *command("lm", data, tmp_path / "model", "--clip", 0, changed={"rate": 1e30}))
    assert "lower --rate" in said_once(done, 1)
