#!/usr/bin/env bash
# tools/crate.sh CARGO FOLDER - builds src/text/tokenizer/crate with that cargo into
# FOLDER/release/libattn_tokenizers.a.
#
# Used by CMake, and by tools/build.sh, which starts it before CMake is installed; cargo's lock serializes the two.
set -euo pipefail
cargo=$1 folder=$2
# Uses the rustc next to it (a distribution's cargo-1.85 has rustc-1.85), not another one on PATH.
name=${cargo##*/}
rustc=${cargo%/*}/rustc${name#cargo}
if [[ -x $rustc ]]; then export RUSTC=$rustc; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../src/text/tokenizer/crate"
CARGO_TARGET_DIR=$folder exec "$cargo" build --release --locked --quiet
