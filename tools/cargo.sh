#!/usr/bin/env bash
# tools/cargo.sh - prints the path of a cargo that can build src/text/tokenizer/crate; otherwise explains the problem
# and fails.
#
# CARGO=/path/to/cargo selects one. Distributions ship newer ones next to an old `cargo` under names such as cargo-1.85.
set -euo pipefail
shopt -s nullglob

least=85 # 1.85: rust-version in src/text/tokenizer/crate/Cargo.toml

is_new_enough() {
  local version
  version=$("$1" --version 2>/dev/null) || return 1
  [[ $version =~ ^cargo\ 1\.([0-9]+)\. ]] && ((BASH_REMATCH[1] >= least))
}

if [[ -n ${CARGO:-} ]]; then
  candidates=("$CARGO")
else
  mapfile -t versioned < <(printf '%s\n' /usr/bin/cargo-1.* | sort -rV)
  candidates=("$(command -v cargo || true)" "${HOME:-}/.cargo/bin/cargo" /usr/bin/cargo "${versioned[@]}")
fi
for candidate in "${candidates[@]}"; do
  if [[ -n $candidate ]] && is_new_enough "$candidate"; then
    command -v "$candidate"
    exit
  fi
done
echo "no cargo 1.$least or newer was found${CARGO:+ at $CARGO}; tools/setup.sh build installs one where it can" >&2
exit 1
