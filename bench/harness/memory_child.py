"""memory_child.py CONTENDER N THREADS - prints by how many MB a call of that length raises this process' peak."""

from __future__ import annotations

import importlib
import json
import resource
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # bench/

import torch  # noqa: E402

from harness.case import make_inputs  # noqa: E402
from harness.measure import Threads  # noqa: E402
from memory import LONG  # noqa: E402

STATUS = Path("/proc/self/status")


def status_bytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def forget_peak() -> bool:
    """Linux can set the peak back to what is in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def main() -> None:
    contender, n, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    module = importlib.import_module(f"memory.{contender}")
    Threads().use(threads)
    warm, case = LONG.with_(n=512), LONG.with_(n=n)
    module.make(warm, make_inputs(warm))()  # what is loaded or started once is not this call's
    x = make_inputs(case)
    call = module.make(case, x)
    before = status_bytes("VmRSS") if forget_peak() else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    out = call()
    after = status_bytes("VmHWM")
    print(json.dumps({"extra_mb": (after - before - out.nbytes) / 1e6}))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
