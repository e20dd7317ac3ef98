"""Weights that are cut short while the program uses them: one line that names the file, and exit code 1."""

import shutil
import signal
import subprocess
import urllib.error

import pytest
from conftest import PROGRAM, ROOT
from served import Served

MODEL = ROOT / "models" / "tiny-gpt"


def cut_while_it_generates(folder):
    """Truncates the weights in place after the first word; returns the exit code and the last line."""
    shutil.copytree(MODEL, folder)
    process = subprocess.Popen(
        [PROGRAM, "generate", "--model", folder, "--prompt", "Once", "--tokens", "10000", "--temperature", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.read(1)
    process.send_signal(signal.SIGSTOP)
    with open(folder / "model.safetensors", "r+b") as weights:
        weights.truncate(4096)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=30)
    return process.returncode, said.decode()


needs_model = pytest.mark.skipif(not (MODEL / "model.safetensors").exists(), reason="this build has no tiny-gpt")


@needs_model
def test_truncated_weights_end_the_program_with_their_name(tmp_path):
    for attempt in range(20):  # a program that is done before it is stopped proves nothing
        folder = tmp_path / str(attempt)
        code, said = cut_while_it_generates(folder)
        assert code in (0, 1), said
        if code == 1:
            break
    assert code == 1
    assert said.startswith(f"attnscope: {folder / 'model.safetensors'}: became shorter") and said.count("\n") == 1


@needs_model
def test_truncated_weights_end_the_server_too(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    with Served("--model", folder, "--text", "Once") as page:
        with open(folder / "model.safetensors", "r+b") as weights:
            weights.truncate(4096)
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            page.post("api/recordings", {"model": "model", "text": "upon a time there was a film"})
        assert page.process.wait(20) == 1
        said = page.process.stderr.read()
    assert said.count("model.safetensors: became shorter") == 1
