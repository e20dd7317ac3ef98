#!/usr/bin/env bash
# tools/build.sh program|product|tests - installs what is missing and builds into build/, a line per phase.
#
#   program   build/attnscope, the page inside it: what `make run` needs
#   product   also the Python package, installed into .venv
#   tests     also the tests and benchmarks, and what runs them
#
# JOBS=N limits the compilers that run at the same time (default: ninja's, two more than there are cores).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-}
case "$what" in
  program) stage=program preset=program targets=(attnscope) space=2 usual=240 ;;
  product) stage=build preset=release targets=(product) space=3 usual=270 ;;
  tests) stage=test-packages preset=release targets=(all) space=10 usual=420 ;;
  *)
    echo "usage: tools/build.sh program|product|tests" >&2
    exit 2
    ;;
esac
source tools/phase.sh

# Room for what is still to come. What is built already needs none.
free=$(($(df --output=avail -k . | tail -n 1) / 1048576))
if [[ ! -x build/attnscope ]] && ((free < space)); then
  fail "building needs about $space GB of disk space, and $PWD has $free GB: free some, or clone to a larger disk."
fi

# MPI libraries that are here, as cmake/mpi.cmake looks for them: one that has come since is built for.
mpi_packages() {
  local name
  for name in ompi-c mpich; do if pkg-config --exists "$name"; then echo "$name"; fi; done
}

is_configured() {
  [[ build/build.ninja -nt CMakePresets.json && "$(mpi_packages)" == "$(<build/mpi-packages)" ]] || return 1
  # The program alone can be built from either preset, and what was configured for more stays so.
  [[ $preset == program ]] || grep -q '^ATTNSCOPE_PYTHON:BOOL=ON' build/CMakeCache.txt
}

phase packages 60 "Installing packages" tools/setup.sh "$stage"
if [[ $what == tests ]]; then beside rest tools/setup.sh test; else beside rest tools/setup.sh fonts; fi
# ninja would start this late, and it takes longest.
if [[ ! -f build/cargo/release/libattn_tokenizers.a ]]; then beside crate tools/crate.sh "$(tools/cargo.sh)" "$PWD/build/cargo"; fi
if ! is_configured; then
  configure=(cmake --preset "$preset" --log-level=WARNING)
  # A folder that was configured for more keeps what it has.
  if [[ $preset == program ]] && grep -qs '^ATTNSCOPE_PYTHON:BOOL=ON' build/CMakeCache.txt; then
    configure=(cmake --preset release --log-level=WARNING)
  fi
  phase configure 10 "Configuring" "${configure[@]}"
fi
if grep -qs "^compile-$what " build/log/times; then usual=0; fi # what changed since then takes its own time
export NINJA_STATUS="[%f/%t] "
phase "compile-$what" "$usual" "Compiling" cmake --build build --target "${targets[@]}" ${JOBS:+--parallel "$JOBS"}
if [[ $what != program ]]; then phase install 2 "Installing into .venv" cmake --install build --component python; fi
joined rest 30 "$([[ $what == tests ]] && echo "Installing test tools" || echo "Installing fonts")"
