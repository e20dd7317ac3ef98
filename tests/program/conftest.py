"""Runs the program as a user does."""

import json
import os
import pathlib
import resource
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
# torch's second thread mostly spins, and would take a core from the tests that run in parallel.
os.environ.setdefault("OMP_NUM_THREADS", "1")
PROGRAM = pathlib.Path(os.environ.get("ATTNSCOPE_PROGRAM", ROOT / "build" / "attnscope"))


@pytest.fixture(scope="session")
def golden():
    return json.loads((GOLDEN / "program.json").read_text(encoding="utf-8"))


def seconds_of_children():
    """CPU seconds of all child processes that have ended, independent of the machine's load."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def model_folder(name):
    return str(GOLDEN / "models" / name)


@pytest.fixture
def broken_model(tmp_path):
    """A model whose weights are all NaN."""
    folder = tmp_path / "broken"
    shutil.copytree(GOLDEN / "models" / "gpt2", folder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    begin = 8 + int.from_bytes(weights[:8], "little")
    weights[begin:] = b"\xff" * (len(weights) - begin)
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def attnscope(*arguments, check=True, **options):
    """Runs the program; standard output and error as text."""
    options.setdefault("env", {**os.environ, "HF_HUB_OFFLINE": "1"})
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=60, **options)
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if check and done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return done


def refused(code, *arguments, **options):
    """Runs a command that must fail with this exit code; returns its one line on standard error."""
    done = attnscope(*arguments, check=False, **options)
    assert done.returncode == code, f"exit code {done.returncode}, said: {done.stderr}"
    assert done.stdout == ""
    assert done.stderr.startswith("attnscope: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr
