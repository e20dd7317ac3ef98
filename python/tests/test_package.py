"""Tests the package itself: docstring examples, cost of import, threads, and concurrent calls."""

import doctest
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import threading
import time

import attnscope as at
import numpy as np
import pytest
from beside import turns_beside


def documented():
    """Every public name, and the public members of the package's own classes."""
    found = {"attnscope": at}
    for name in at.__all__:
        found[name] = thing = getattr(at, name)
        if not isinstance(thing, type) or thing.__module__ == "attnscope._attnscope":
            continue
        for member, value in vars(thing).items():
            if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                found[f"{name}.{member}"] = value
    return found


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_examples_run(name, tmp_path, monkeypatch):
    text = DOCUMENTED[name].__doc__
    assert text
    monkeypatch.chdir(tmp_path)  # some write files
    (tmp_path / "README.md").write_text("no recording")
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failures = []
    runner.run(test, out=failures.append)
    assert runner.failures == 0, "".join(failures)


def python(code, **environment):
    folder = str(pathlib.Path(at.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": folder, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_is_quick_and_loads_neither_torch_nor_numpy_nor_figures():
    code = (
        "import sys, time; begin = time.process_time(); import attnscope; end = time.process_time();"
        "print(*[name for name in ('torch', 'numpy', 'attnscope._scope') if name in sys.modules], end - begin)"
    )
    runs = [python(code) for _ in range(3)]
    assert all(len(run) == 1 for run in runs), runs
    assert min(float(run[0]) for run in runs) < 0.2


def test_models_and_recordings_do_not_import_torch():
    code = (
        "import sys, attnscope as at; rec = at.load('tiny-bert').record('The cat sat.'); rec.analyze();"
        "rec.figure('overview').svg(); print('torch' in sys.modules)"
    )
    assert python(code) == ["False"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'heatmaps'"):
        at.heatmaps
    assert {"load", "heatmap", "torch", "attention"} <= set(dir(at))


def test_numpy_alone_does_not_import_torch():
    code = (
        "import sys, numpy as np, attnscope as at; q = np.ones((2, 4), np.float32);"
        "at.attention(q, q, q, mask=at.mask(np.ones((2, 2), bool))); print('torch' in sys.modules)"
    )
    assert python(code) == ["False"]


def test_the_environment_sets_the_number_of_threads():
    assert python("import attnscope as at; print(at.get_num_threads())", ATTNSCOPE_THREADS="3") == ["3"]


def test_version_is_that_of_the_installed_package():
    try:
        installed = importlib.metadata.version("attnscope")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed: imported from the build tree")
    assert installed == at.__version__


@pytest.mark.parametrize(("count", "error"), [(0, ValueError), (-1, ValueError), (10**6, ValueError), (1.5, TypeError)])
def test_invalid_thread_counts_are_rejected(count, error):
    before = at.get_num_threads()
    with pytest.raises(error):
        at.set_num_threads(count)
    assert at.get_num_threads() == before


def test_many_threads_may_call_while_the_pool_is_replaced(rng, threads_restored):
    q = rng.standard_normal((1, 2, 100, 16), dtype=np.float32)
    wanted = at.attention(q, q, q, mask="causal")
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(at.attention(q, q, q, mask="causal"), wanted):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for count in (1, 2, 3, 4) * 5:
        at.set_num_threads(count)
        time.sleep(0.001)
    for worker in workers:
        worker.join()
    assert not wrong


def test_other_python_threads_run_during_a_call(rng, threads_restored):
    at.set_num_threads(1)
    q = rng.standard_normal((1, 8, 1500, 64), dtype=np.float32)
    assert turns_beside(lambda: at.attention(q, q, q)) > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_computes_and_exits(threads_restored):
    code = (
        "import os, numpy as np, attnscope as at; at.set_num_threads(3); q = np.ones((1, 4, 300, 32), np.float32);"
        "out = at.attention(q, q, q); child = os.fork();\n"
        "same = np.array_equal(at.attention(q, q, q), out) and at.get_num_threads() == 3\n"
        "if child == 0: at.set_num_threads(2); os._exit(0 if same else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), same)"
    )
    assert python(code) == ["0", "True"]
