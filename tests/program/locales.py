"""Locales that write numbers or letters in other ways, built into a folder of their own: no test depends on which
locales a machine has installed."""

import os
import shutil
import subprocess

import pytest

NAMES = ["de_DE.UTF-8", "tr_TR.UTF-8"]  # a decimal comma; and the capital of i is not I


def made_in(folder):
    """Builds the locales; returns the environment that makes a program find them."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef is missing: apt install libc-bin locales")
    for name in NAMES:
        language, coding = name.split(".")
        made = subprocess.run(
            ["localedef", "--no-archive", "-i", language, "-f", coding, str(folder / name)],
            capture_output=True,
            text=True,
        )
        if not (folder / name / "LC_NUMERIC").exists():
            pytest.skip(f"localedef cannot make {name}: {made.stderr.strip()} (apt install locales)")
    return {**os.environ, "LOCPATH": str(folder), "HF_HUB_OFFLINE": "1"}


def under(environment, name):
    without = {key: value for key, value in environment.items() if not key.startswith("LC_") and key != "LANG"}
    return {**without, "LC_ALL": name}
