"""Several processes of the program, started by an MPI library's own launcher."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ATTNSCOPE_PROGRAM", ROOT / "build" / "attnscope"))


def _library(name):
    launcher = f"mpirun.{name}"
    module = PROGRAM.parent / f"attnscope_{name}.so"
    missing = [
        str(what) for what, there in ((launcher, shutil.which(launcher)), (module, module.exists())) if not there
    ]
    return pytest.param(name, marks=pytest.mark.skipif(bool(missing), reason=f"no {' and no '.join(missing)}"))


LIBRARIES = [_library("openmpi"), _library("mpich")]


def mpirun(library, ranks, *arguments, timeout=120, **more):
    """Runs the program on `ranks` ranks; a hang is a failure. `more` goes to subprocess.run: cwd, env, ..."""
    environment = {**os.environ, "ATTNSCOPE_THREADS": "1", "NO_COLOR": "1", **more.pop("env", {})}
    command = [ROOT / "tools" / "mpirun.sh", library, ranks, PROGRAM, *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout, env=environment, **more
    )


def said_once(done, code):
    """The one line of error that all ranks print together, without the program's name and the launcher's own lines."""
    assert done.returncode == code, done.stderr
    assert done.stdout == "" or "attnscope" not in done.stdout
    ours = [line for line in done.stderr.splitlines() if line.startswith("attnscope: ")]
    assert len(ours) == 1, done.stderr
    return ours[0].removeprefix("attnscope: ")
