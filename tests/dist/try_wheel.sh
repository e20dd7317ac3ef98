#!/usr/bin/env bash
# tests/dist/try_wheel.sh WHEEL PYTHON - installs a wheel that was made for PYTHON in a user land that has python3 and
# python3-venv, and nothing that a desktop or a compiler brings. It must compute and draw there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/dist/land.sh

wheel=$(realpath "$1")
python=$2

why=$(why_no_lands)
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case "$version" in
  3.11) suite=bookworm ;;
  3.12) suite=noble ;;
  3.13) suite=trixie ;;
  *) why=${why:-no user land here has a Python $version} ;;
esac
if [[ -n $why ]]; then
  echo "$1 was not tested in a minimal system: $why"
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
land=$work/land
if ! new_land "$land" "$suite" minbase python3 python3-venv 2>"$work/err"; then
  echo "$1 was not tried in $suite: its packages cannot be fetched ($(tail -n 1 "$work/err"))"
  exit
fi
# The land has no certificates to fetch anything with.
mkdir -m 777 "$land/tmp/wheels" "$land/tmp/try"
"$python" -m pip download --quiet --disable-pip-version-check --dest "$land/tmp/wheels" "$wheel"
chmod 644 "$land"/tmp/wheels/*
install -m 644 tests/dist/wheel_works.py "$land/tmp/try/"
in_land "$land" /bin/sh -euc '
  cd /tmp/try
  python3 -m venv /tmp/venv
  /tmp/venv/bin/python -m pip install --quiet --no-cache-dir --no-index --find-links /tmp/wheels attnscope
  /tmp/venv/bin/python -I wheel_works.py'
echo "$1 works in $suite"
