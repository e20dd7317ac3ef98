#!/usr/bin/env bash
# tools/crate.sh CARGO FOLDER - builds src/text/tokenizer/crate with that cargo, into FOLDER/release/libattn_tokenizers.a.
#
# For CMake, and for tools/build.sh, which starts it before CMake is there: the two wait for each other by cargo's lock.
set -euo pipefail
cargo=$1 folder=$2
# The rustc beside it (a distribution's cargo-1.85 has rustc-1.85), not another one that PATH may hold.
name=${cargo##*/}
rustc=${cargo%/*}/rustc${name#cargo}
if [[ -x $rustc ]]; then export RUSTC=$rustc; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../src/text/tokenizer/crate"
CARGO_TARGET_DIR=$folder exec "$cargo" build --release --locked --quiet
