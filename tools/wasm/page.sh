#!/usr/bin/env bash
# tools/wasm/page.sh FOLDER - builds the pages of web/ that carry or fetch attnscope.wasm into FOLDER: app.html, site/,
# and offline.html, which they export.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
node=$(tools/node.sh)
cmake -DNODE="$node" -DWEB="$PWD/web" -P cmake/web.cmake # npm's packages
cd web
for mode in offline file site; do
  ATTNSCOPE_DIST=$folder "$node" node_modules/vite/bin/vite.js build --mode "$mode" --logLevel warn
done
