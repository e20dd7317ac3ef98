"""attnscope analyze --corpus on several processes: the output of one process, byte for byte."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import mpi
import pytest
from conftest import attnscope, model_folder, seconds_of_children
from mpi import LIBRARIES, ROOT, mpirun, said_once

BERT = model_folder("bert")
ANY = LIBRARIES[:1]  # for tests that do not depend on the library


def write_corpus(file, count):
    words = "the cat sat on a mat , and then it ran over to the quick brown fox . dog saw them gone".split()
    chance = random.Random(5)
    lines = [" ".join(chance.choices(words, k=chance.randint(0, 40))) for _ in range(count)]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt", 500)


def on_corpus(file, *more):
    return ["analyze", "--model", BERT, "--corpus", file, *more]


@pytest.fixture(scope="module")
def by_one_process(corpus):
    return attnscope(*on_corpus(corpus, "--json")).stdout


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_print_what_one_process_prints(library, ranks, corpus, by_one_process):
    done = mpirun(library, ranks, *on_corpus(corpus, "--json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == by_one_process
    assert list(corpus.parent.iterdir()) == [corpus]  # no state is left


@pytest.mark.parametrize("library", ANY)
def test_rank_0_alone_writes_the_table_and_the_figure(library, corpus, tmp_path):
    few = ["--limit", 70, "--output", "heads.svg"]  # two shards for three ranks
    folders = [tmp_path / "one", tmp_path / "three"]
    for folder in folders:
        folder.mkdir()
    one = attnscope(*on_corpus(corpus, *few), cwd=folders[0], env={**os.environ, "NO_COLOR": "1"})
    three = mpirun(library, 3, *on_corpus(corpus, *few), cwd=folders[1])
    assert three.stdout == one.stdout and "Means over" in one.stdout
    assert (folders[0] / "heads.svg").read_bytes() == (folders[1] / "heads.svg").read_bytes()


@pytest.mark.parametrize("library", ANY)
def test_a_model_that_gives_nan_gives_it_on_ranks_too(library, corpus, broken_model):
    command = ["analyze", "--model", broken_model, "--corpus", corpus, "--json"]
    assert mpirun(library, 2, *command).stdout == attnscope(*command).stdout


# ---- stopping and resuming ----


def family(pid):
    """A process and all that it has started."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += family(int(child))
    return found


def is_rank(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(mpi.PROGRAM.resolve())
    except OSError:
        return False


def lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_held(pid):
    """Tells whether a process is stopped and no signal is waiting for it."""
    try:
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return False
    return status["State"].startswith("T") and int(status["ShdPnd"], 16) == 0 and int(status["SigPnd"], 16) == 0


def signal_to(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class LongRun:
    """A corpus that takes one process two CPU seconds, and its output."""

    def __init__(self, folder):
        self.folder = folder
        self.state = folder / "state"
        self.file = write_corpus(folder / "long.txt", 1000)
        self.command = [*on_corpus(self.file, "--json"), "--threads", 1, "--save-every", 0.02, "--state"]
        start = seconds_of_children()
        attnscope(*self.command, folder / "other")
        self.resize(int(1000 * 2 / (seconds_of_children() - start)) + 500)

    def resize(self, texts):
        self.texts = texts
        write_corpus(self.file, texts)
        self.whole = attnscope(*self.command, self.folder / "other").stdout

    def begin(self, library, ranks):
        """Starts the run again; returns its launcher, and its ranks stopped as soon as their state has been saved."""
        for _ in range(4):
            self.state.unlink(missing_ok=True)
            command = [ROOT / "tools" / "mpirun.sh", library, ranks, mpi.PROGRAM, *self.command, self.state]
            run = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + 60
            while not self.state.exists() and run.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            stopped = [pid for pid in family(run.pid) if is_rank(pid)]
            signal_to(stopped, signal.SIGSTOP)
            while any(lives(pid) and not is_held(pid) for pid in stopped) and time.monotonic() < until:
                time.sleep(0.005)
            if self.state.exists() and len(stopped) == ranks:
                return run, stopped
            signal_to(stopped, signal.SIGCONT)
            out, said = run.communicate(timeout=60)
            assert run.returncode == 0, (out, said)
            self.resize(2 * self.texts)  # the run was over before this process saw its state
        raise AssertionError(f"{self.texts} texts are not enough")

    def goes_on(self, done):
        assert done.returncode == 0, done.stderr
        assert "resuming after" in done.stderr
        assert done.stdout == self.whole
        assert not self.state.exists()


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    return LongRun(tmp_path_factory.mktemp("long"))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_killed_run_resumes_with_another_number_of_ranks(library, long_run, tmp_path):
    run, _ = long_run.begin(library, 3)
    signal_to(reversed(family(run.pid)), signal.SIGKILL)
    run.communicate(timeout=30)
    kept = shutil.copy(long_run.state, tmp_path / "kept")
    long_run.goes_on(attnscope(*long_run.command, long_run.state))
    shutil.copy(kept, long_run.state)
    long_run.goes_on(mpirun(library, 2, *long_run.command, long_run.state))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_resumes(library, stop, long_run):
    for _ in range(4):
        run, ranks = long_run.begin(library, 2)
        run.send_signal(stop)
        until = time.monotonic() + 20
        while any(map(is_held, ranks)) and time.monotonic() < until:
            time.sleep(0.01)  # until the launcher has passed the signal on
        signal_to(ranks, signal.SIGCONT)
        out, said = run.communicate(timeout=60)
        if "heads" not in out:
            break
        long_run.resize(2 * long_run.texts)  # Open MPI's launcher can take a second: the run was over before
    assert "heads" not in out
    assert run.returncode != 0 or library == "mpich"  # whose launcher may call it a success
    assert said.count("rerun the command to resume") <= 1  # launchers kill those that take more than a second
    long_run.goes_on(attnscope(*long_run.command, long_run.state))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rank_that_dies_ends_the_others(library, long_run):
    run, ranks = long_run.begin(library, 3)
    os.kill(ranks[1], signal.SIGKILL)
    signal_to(ranks, signal.SIGCONT)
    run.communicate(timeout=30)
    assert run.returncode != 0
    until = time.monotonic() + 10
    while any(map(lives, ranks)):
        assert time.monotonic() < until
        time.sleep(0.05)
    long_run.goes_on(attnscope(*long_run.command, long_run.state))


# ---- errors ----


@pytest.fixture
def otherwise(monkeypatch, tmp_path):
    """Gives rank 1 different arguments from the others."""

    def set_arguments(*arguments):
        script = tmp_path / "program"
        of_rank_1 = " ".join(f"'{argument}'" for argument in arguments)
        script.write_text(
            "#!/bin/sh\n"
            f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ]; then set -- {of_rank_1}; fi\n'
            f'exec "{mpi.PROGRAM}" "$@"\n'
        )
        script.chmod(0o755)
        monkeypatch.setattr(mpi, "PROGRAM", script)

    return set_arguments


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_rank_without_its_corpus_ends_all(library, corpus, otherwise, tmp_path):
    otherwise(*on_corpus(tmp_path / "missing.txt"))
    said = said_once(mpirun(library, 3, *on_corpus(corpus)), 1)
    assert "rank 1: " in said and "missing.txt" in said


@pytest.mark.parametrize(
    "option, says",
    [
        ("--corpus", "rank 1 reads a different corpus than rank 0"),
        ("--model", "rank 1 has a different model than rank 0"),
        ("--limit", "rank 1 has different options than rank 0"),
    ],
)
@pytest.mark.parametrize("library", ANY)
def test_a_rank_of_another_run_ends_all(library, option, says, corpus, otherwise, tmp_path):
    other = {
        "--corpus": on_corpus(write_corpus(tmp_path / "other.txt", 20)),
        "--model": ["analyze", "--model", model_folder("distilbert"), "--corpus", corpus],
        "--limit": on_corpus(corpus, "--limit", 9),
    }
    otherwise(*other[option])
    assert said_once(mpirun(library, 2, *on_corpus(corpus)), 1) == says


@pytest.mark.parametrize("library", ANY)
def test_an_error_of_rank_0_ends_all(library, corpus, long_run, tmp_path):
    (tmp_path / "old").write_text('{"format": "attnscope corpus 1"}')
    old = mpirun(library, 2, *on_corpus(corpus, "--state", tmp_path / "old"))
    assert "was saved by another version" in said_once(old, 1)
    nowhere = tmp_path / "no" / "state"
    assert str(nowhere) in said_once(mpirun(library, 2, *long_run.command, nowhere), 1)
    (tmp_path / "empty.txt").write_text("\n \n")
    assert "there is no text" in said_once(mpirun(library, 2, *on_corpus(tmp_path / "empty.txt")), 1)


@pytest.mark.parametrize("library", ANY)
def test_a_broken_line_is_reported_once(library, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "the cat"}\n' * 400 + "{\n")
    assert "bad.jsonl" in said_once(mpirun(library, 3, *on_corpus(bad)), 1)
