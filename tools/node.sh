#!/usr/bin/env bash
# tools/node.sh - prints the path of a node that can build web/; otherwise explains the problem and fails.
#
# NODE=/path/to/node selects one, with the npm next to it. The default is the node on PATH or, if that is too old, in
# .venv.
set -euo pipefail

is_new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
    >/dev/null 2>&1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -n ${NODE:-} ]]; then
  candidates=("$NODE")
else
  candidates=("$(command -v node || true)" "$root/.venv/bin/node")
fi
for candidate in "${candidates[@]}"; do
  if [[ -n $candidate ]] && is_new_enough "$candidate"; then
    command -v "$candidate"
    exit
  fi
done
echo "no node 20.19 or newer was found${NODE:+ at $NODE}; tools/setup.sh build installs one into .venv" >&2
exit 1
