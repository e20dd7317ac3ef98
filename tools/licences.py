"""tools/licences.py FOLDER FILE... - collects the licences of attnscope's components.

Writes one file to FOLDER for each Debian package that owns one of the FILEs (libraries, fonts), for each crate, and
for everything compiled into the program or the page."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMON = pathlib.Path("/usr/share/common-licenses")
HEADERS = ["libcli11-dev", "nlohmann-json3-dev"]  # header-only: compiled into the program
IN_THE_PAGE = ["svelte"]


def package_of(file):
    """If /lib is a link to /usr/lib, dpkg may list the file under either name."""
    whole = os.path.realpath(file)
    for name in (file, whole, whole.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    sys.exit(f"{file} belongs to no package, so that its licence is not known")


def crates():
    cargo = subprocess.run([ROOT / "tools/cargo.sh"], check=True, capture_output=True, text=True).stdout.strip()
    target = f"{platform.machine()}-unknown-linux-gnu"
    command = [cargo, "metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", target]
    folder = ROOT / "src/text/tokenizer/crate"
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    return [crate for crate in json.loads(said)["packages"] if crate["source"]]


def texts_in(folder):
    pattern = re.compile("LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE", re.IGNORECASE)
    files = sorted(path for path in folder.iterdir() if pattern.match(path.name) and path.is_file())
    return "\n".join(f"---- {path.name} ----\n{path.read_text(errors='replace')}" for path in files)


def main(out, files):
    out.mkdir(parents=True, exist_ok=True)
    pointed_at = set()
    for package in sorted({package_of(file) for file in files} | set(HEADERS)):
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
        (out / f"{package}.txt").write_text(text)
        pointed_at |= set(re.findall(rf"{COMMON}/([A-Za-z0-9.-]*[A-Za-z0-9])", text))
    for name in sorted(pointed_at):
        if (COMMON / name).is_file():
            (out / f"{name}.txt").write_text((COMMON / name).read_text())
    for crate in crates():
        head = f"{crate['name']} {crate['version']}: {crate['license']}\n{crate['repository'] or ''}\n\n"
        text = head + texts_in(pathlib.Path(crate["manifest_path"]).parent)
        (out / f"crate-{crate['name']}-{crate['version']}.txt").write_text(text)
    for name in IN_THE_PAGE:
        (out / f"npm-{name}.txt").write_text(texts_in(ROOT / "web/node_modules" / name))


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
