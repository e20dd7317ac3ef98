"""tools/whole_wheel.py WHEEL OUT FONT... - writes to the folder OUT a wheel with the fonts and every library it needs.

auditwheel leaves out libraries that desktops have, such as libX11 and glib, but servers and containers lack. Here only
glibc and the compiler's runtime, which numpy needs as well, stay the system's."""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import auditwheel.main
import auditwheel.policy
from auditwheel.libc import Libc

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOT_THE_SYSTEMS = {
    *("libX11.so.6", "libXext.so.6", "libXrender.so.1", "libICE.so.6", "libSM.so.6", "libGL.so.1"),
    *("libglib-2.0.so.0", "libgobject-2.0.so.0", "libgthread-2.0.so.0", "libexpat.so.1", "libz.so.1"),
}


def libraries_of(wheel, folder):
    """Paths of the libraries that its modules need, as tools/carry.sh finds them."""
    with zipfile.ZipFile(wheel) as file:
        modules = [file.extract(name, folder) for name in file.namelist() if name.endswith(".so")]
    script = 'source tools/carry.sh; for module in "$@"; do libraries_of "$module"; done'
    command = ["bash", "-euo", "pipefail", "-c", script, "bash", *modules]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted({line.split(" ", 1)[1] for line in lines})


def add_files(wheel, fonts, folder):
    """auditwheel lists them in RECORD."""
    licences = folder / "licences"
    command = [sys.executable, ROOT / "tools/licences.py", licences, *libraries_of(wheel, folder), *fonts]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as file:
        info = next(name for name in file.namelist() if name.endswith(".dist-info/WHEEL")).partition("/")[0]
        for font in fonts:
            file.write(font, f"attnscope/fonts/{pathlib.Path(font).name}")
        for licence in sorted(licences.iterdir()):
            file.write(licence, f"{info}/licenses/{licence.name}")


def repair(wheel, out, folder):
    policies = json.loads(auditwheel.policy._POLICY_JSON_MAP[Libc.GLIBC].read_text())
    for policy in policies:
        policy["lib_whitelist"] = [name for name in policy["lib_whitelist"] if name not in NOT_THE_SYSTEMS]
    ours = folder / "policy.json"
    ours.write_text(json.dumps(policies))
    auditwheel.policy._POLICY_JSON_MAP[Libc.GLIBC] = ours
    sys.argv = ["auditwheel", "repair", str(wheel), "--wheel-dir", str(out)]
    return auditwheel.main.main()


def main(wheel, out, *fonts):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        add_files(wheel, fonts, folder)
        return repair(wheel, out, folder)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
