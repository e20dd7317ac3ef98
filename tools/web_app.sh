#!/usr/bin/env bash
# tools/web_app.sh - builds the microscope that needs no server: dist/attnscope.html and dist/site/.
#
# Everything is cached between builds: the C++ library in build-wasm/runtime, Rust in build-wasm/cargo, the module in
# build-wasm, the pages in build-wasm/page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/phase.sh

phase packages-web-app 90 "Installing packages" tools/setup.sh web-app
beside wasm-crate tools/wasm/crate.sh build-wasm/cargo
phase wasm-runtime 60 "Building the C++ library" tools/wasm/runtime.sh build-wasm/runtime
if [[ ! build-wasm/build.ninja -nt CMakePresets.json ]]; then
  phase wasm-configure 10 "Configuring" cmake --preset wasm --log-level=WARNING
fi
export NINJA_STATUS="[%f/%t] "
# The libraries need no Rust, which takes longest; linking does.
phase wasm-compile 150 "Compiling" cmake --build build-wasm --target attnscope_wasm_parts
joined wasm-crate 150 "Building the tokenizers"
phase wasm-link 5 "Linking" cmake --build build-wasm
phase wasm-page 30 "Building the page" tools/wasm/page.sh build-wasm/page
node=$(tools/node.sh)
phase wasm-pack 5 "Packing" "$node" web/pack/pack.mjs --wasm build-wasm/attnscope.wasm --page build-wasm/page \
  --models models --lessons lessons --offline build-wasm/page/offline.html --out dist
printf 'Wrote dist/attnscope.html (%s) and dist/site (%s)\n' "$(du -h --apparent-size dist/attnscope.html | cut -f 1)" \
  "$(du -sh --apparent-size dist/site | cut -f 1)"
