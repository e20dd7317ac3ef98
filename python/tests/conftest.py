"""Reports whether torch is installed: without it, comparisons with it are skipped."""

import importlib.util
import os
import pathlib
import sys

import attnscope as at
import numpy as np
import pytest

# torch's second thread mostly waits in a loop, and takes the core from the tests beside.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

_TORCH_IS_THERE = importlib.util.find_spec("torch") is not None


def pytest_report_header():
    return [
        f"attnscope {at.__version__} from {pathlib.Path(at.__file__).parent}, {at.get_num_threads()} threads",
        "torch: there" if _TORCH_IS_THERE else "torch: MISSING, every test that compares with it is SKIPPED",
    ]


def pytest_terminal_summary(terminalreporter):
    if not _TORCH_IS_THERE:
        terminalreporter.write_line("torch is not installed: the comparisons with it were SKIPPED", yellow=True)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def qkv(rng):
    return tuple(rng.standard_normal((2, 3, 10, 8), dtype=np.float32) for _ in range(3))


@pytest.fixture
def threads_restored():
    before = at.get_num_threads()
    yield
    at.set_num_threads(before)
