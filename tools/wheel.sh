#!/usr/bin/env bash
# tools/wheel.sh - makes a wheel of the Python package, puts the libraries that it needs into it, and tries it: in a
# fresh environment, with nothing of this folder in reach. PYTHON=/path/to/python3 says for which (default: .venv's).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-.venv/bin/python}
raw=build-wheel/raw
rm -rf "$raw"
mkdir -p "$raw" dist
"$python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --wheel-dir "$raw"
PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair "$raw"/attnscope-*.whl --wheel-dir build-wheel/whole >build-wheel/auditwheel.log 2>&1 ||
  { cat build-wheel/auditwheel.log >&2; exit 1; }
wheel=$(ls -t build-wheel/whole/attnscope-*.whl | head -n 1)

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
(cd "$fresh" && venv/bin/python -I - <<'PY')
import attnscope as at

rec = at.load("tiny-bert").record("The cat sat on the mat.")
assert abs(rec.weights(layer=0, head=0).sum(axis=1) - 1).max() < 1e-5
rec.figure(kind="heads", layer=0).save("heads.svg")
rec.figure(kind="heatmap", layer=0, head=0).save("head.png")
assert b"attnscope" in rec.html()
PY
mv "$wheel" dist/
echo "dist/$(basename "$wheel")"
