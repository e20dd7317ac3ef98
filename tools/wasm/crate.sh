#!/usr/bin/env bash
# tools/wasm/crate.sh FOLDER - builds apps/wasm/crate into FOLDER/wasm32-wasip1/release/libattn_wasm.a.
#
# A rustc that has the target (rustup target add wasm32-wasip1) is used as it is. Debian's has not: rust-web-src has the
# sources of Rust's own library, which cargo builds with the crate (-Zbuild-std, unlocked by RUSTC_BOOTSTRAP).
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../apps/wasm/crate"
export CARGO_TARGET_DIR=$folder
target=wasm32-wasip1
for rustc in rustc "${HOME:-}/.cargo/bin/rustc"; do
  library=$("$rustc" --print target-libdir --target "$target" 2>/dev/null) || continue
  [[ -d $library ]] || continue
  RUSTC=$rustc "$(dirname "$(command -v "$rustc")")/cargo" build --release --locked --quiet --target "$target"
  exit
done
if [[ ! -d /usr/lib/rustlib/src/rust/library ]]; then
  echo "no rustc for $target: install Debian's rust-web-src, or run: rustup target add $target" >&2
  exit 1
fi
RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 exec /usr/bin/cargo build --release --locked --quiet \
  -Zbuild-std=std,panic_abort --target "$target"
