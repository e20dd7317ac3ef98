"""check_steps.py PROGRAM EXPECTED - checks that the numbers which a lesson's steps print are those of numpy."""

import json
import subprocess
import sys
from pathlib import Path


def flat(lists):
    return [number for each in lists for number in flat(each)] if isinstance(lists, list) else [lists]


def main() -> None:
    printed = json.loads(subprocess.run([sys.argv[1]], capture_output=True, check=True, text=True).stdout)
    expected = json.loads(Path(sys.argv[2]).read_text())
    known = [name for name in printed if name in expected]
    if not known:
        sys.exit(f"none of {', '.join(printed)} is expected")
    for name in known:
        for found, right in zip(flat(printed[name]), flat(expected[name]), strict=True):
            if right is not None and abs(found - right) > 1e-4 * (1 + abs(right)):
                sys.exit(f"{name}: {found} instead of {right}")


main()
