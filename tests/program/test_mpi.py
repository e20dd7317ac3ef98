"""The program under mpirun: errors are printed once."""

import os
import shutil
import subprocess

import pytest
from mpi import LIBRARIES, PROGRAM, mpirun, said_once


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_process_commands_are_refused_once(library):
    done = mpirun(library, 3, "tokenize", "--text", "a")
    assert said_once(done, 2) == "tokenize runs in a single process; only record, analyze and train can use several"
    assert done.stdout == ""


@pytest.mark.parametrize("library", LIBRARIES)
def test_wrong_usage_is_printed_once(library):
    done = mpirun(library, 2, "record", "--no-such-option")
    assert "--no-such-option" in said_once(done, 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_rank_is_one_process(library, tmp_path):
    done = mpirun(library, 1, "tokenize", "--text", "the cat", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1


def test_a_program_without_that_mpi_names_what_to_install(tmp_path):
    program = tmp_path / "attnscope"
    shutil.copy(PROGRAM, program)
    launched = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    done = subprocess.run(
        [program, "record", "--text", "a cat"],
        capture_output=True,
        text=True,
        env={**os.environ, **launched},
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "attnscope: 2 processes were started together, but this program was built without openmpi; install "
        "libopenmpi-dev or libmpich-dev, rebuild, and start it with the mpirun of that library\n"
    )
    assert not (tmp_path / "recording.attn").exists()
