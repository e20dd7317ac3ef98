#!/usr/bin/env bash
# tools/wheel.sh - builds a wheel of the Python package, adds the libraries and fonts that it needs, and tests it: in a
# fresh environment isolated from this folder, and in a minimal system (tests/dist/try_wheel.sh).
# PYTHON=/path/to/python3 selects the Python (default: .venv's).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/carry.sh

python=${PYTHON:-.venv/bin/python}
raw=build-wheel/raw whole=build-wheel/whole
rm -rf "$raw" "$whole"
mkdir -p "$raw" "$whole" dist
"$python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --wheel-dir "$raw"
fonts=$(font_files)
mapfile -t fonts <<<"$fonts"
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python tools/whole_wheel.py "$raw"/attnscope-*.whl "$whole" "${fonts[@]}" \
  >build-wheel/auditwheel.log 2>&1 || { cat build-wheel/auditwheel.log >&2; exit 1; }
wheel=$(echo "$whole"/attnscope-*.whl)

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
cp tests/dist/wheel_works.py "$fresh"
(cd "$fresh" && venv/bin/python -I wheel_works.py)
tests/dist/try_wheel.sh "$wheel" "$python"
mv "$wheel" dist/
echo "dist/$(basename "$wheel")"
