#!/usr/bin/env bash
# tools/version.sh - prints the version, which is defined only in CMakeLists.txt.
# tools/version.sh --is VERSION - fails unless VERSION matches and CHANGELOG.md has a dated section for it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -nE 's/^project\(attnscope VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
if [[ ${1:-} != --is ]]; then
  echo "$version"
  exit
fi
if [[ $version != "$2" ]]; then
  echo "CMakeLists.txt has the version $version, not $2" >&2
  exit 1
fi
if ! grep -qE "^## ${version//./\\.} - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md; then
  echo "CHANGELOG.md has no section '## $version - YYYY-MM-DD'" >&2
  exit 1
fi
