"""Every command with little memory: it works, or ends with one line that says so. It never dies of an exception. Five
limits per command; ATTNSCOPE_MEMORY_STEPS=50 for more, and for commands that draw: the libraries that load fonts do not
check every allocation, so that single limits can end in them."""

import functools
import os
import resource
import subprocess

import pytest
from conftest import PROGRAM, model_folder

STEPS = int(os.environ.get("ATTNSCOPE_MEMORY_STEPS", "5"))
MEGABYTE = 1 << 20
ROOM = 81  # megabytes, from which on every command has enough


def run(limit, *arguments, cwd=None, **options):
    """The program with at most `limit` bytes of address space."""
    return subprocess.run(
        [PROGRAM, "--threads", "2", *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        **options,
    )


@functools.cache
def least():
    """Megabytes of address space in which the program can be loaded at all."""
    low, high = 1, 4096
    while low + 1 < high:
        middle = (low + high) // 2
        fits = run(middle * MEGABYTE, "--version").returncode == 0
        low, high = (low, middle) if fits else (middle, high)
    return high


COMMANDS = [
    "tokenize --text cat",
    "weights --text cat --layer 0 --head 0",
    "weights --text cat --json out.json --npy out.npy",
    "analyze --text the_cat_sat",
    "analyze --corpus texts.txt --json out.json",
    "find --text the_cat_sat previous",
    "record --text the_cat_sat --all -o out.attn",
    "fill --text the_[MASK]_sat",
    "generate --model GPT2 --prompt cat --tokens 4",
    "models",
    "explain --text the_cat_sat --layer 0",
    "ablate --text the_[MASK]_sat --all",
    "rollout --text the_cat_sat",
    "flow --text the_cat_sat --all",
    "compare --model GPT2 the_cat the_dog",
    "mask causal",
    "lesson self-attention --json",
    "train mlm --data texts.txt --to out --steps 2 --layers 1 --heads 1 --width 8 --batch 2 --length 8 --vocabulary 30",
]

MORE_COMMANDS = [
    "heatmap --text the_cat_sat --layer 0 --head 0 -o out.png",
    "heads --text the_cat_sat --layer 0 -o out.svg",
    "headview --text the_cat_sat --layer 0 -o out.pdf",
    "overview --text the_cat_sat -o out.svg",
    "tour",
]


@pytest.mark.parametrize("command", COMMANDS + (MORE_COMMANDS if STEPS > 5 else []))
def test_little_memory_is_one_line_and_exit_code_1(tmp_path, command):
    (tmp_path / "texts.txt").write_text("the cat sat on the mat\na dog ran to the sea\n" * 30)
    words = [model_folder("gpt2") if word == "GPT2" else word.replace("_", " ") for word in command.split()]
    for step in range(STEPS):
        limit = int((least() + ROOM * (step / (STEPS - 1)) ** 2) * MEGABYTE)
        done = run(limit, *words, cwd=tmp_path)
        said = f"{limit / MEGABYTE:.0f} MB: exit code {done.returncode}, {done.stderr}"
        if done.returncode < 0 and "Fatal glibc error" in done.stderr:
            continue  # the C library itself gave up, for want of a few bytes
        assert done.returncode in (0, 1), said
        if done.returncode == 1:
            assert done.stderr.startswith("attnscope: ") and done.stderr.count("\n") == 1, said
            assert "std::" not in done.stderr and "terminate" not in done.stderr, said
    assert run(4096 * MEGABYTE, *words, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("command", ["record --text cat --all -o out.attn", "weights --text cat --npy out.npy"])
def test_limit_on_the_size_of_files_is_one_line_and_leaves_nothing(tmp_path, command):
    done = subprocess.run(
        [PROGRAM, *command.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "cannot be written: File too large" in done.stderr
    assert not list(tmp_path.iterdir())
