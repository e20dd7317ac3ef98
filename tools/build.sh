#!/usr/bin/env bash
# tools/build.sh program|product|tests - installs missing packages and builds into build/, one line per phase.
#
#   program   build/attnscope with the embedded page: what `make run` needs
#   product   also the Python package, installed into .venv
#   tests     also the tests and benchmarks, and the tools that run them
#
# JOBS=N limits the number of parallel compilers (default: ninja's, two more than there are cores).
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

# Disk space for what is still to be built.
free=$(($(df --output=avail -k . | tail -n 1) / 1048576))
if [[ ! -x build/attnscope ]] && ((free < space)); then
  fail "building needs about $space GB of disk space, and $PWD has $free GB: free some, or clone to a larger disk."
fi

# The installed MPI libraries, found as in cmake/mpi.cmake: a newly installed one is built for, too.
mpi_packages() {
  local name
  for name in ompi-c mpich; do if pkg-config --exists "$name"; then echo "$name"; fi; done
}

is_configured() {
  [[ build/build.ninja -nt CMakePresets.json && "$(mpi_packages)" == "$(<build/mpi-packages)" ]] || return 1
  # Either preset can build the program alone; a folder configured for more stays as it is.
  [[ $preset == program ]] || grep -q '^ATTNSCOPE_PYTHON:BOOL=ON' build/CMakeCache.txt
}

phase packages 60 "Installing packages" tools/setup.sh "$stage"
if [[ $what == tests ]]; then beside rest tools/setup.sh test; else beside rest tools/setup.sh fonts; fi
# Started first: it takes longest, and ninja would start it late.
if [[ ! -f build/cargo/release/libattn_tokenizers.a ]]; then beside crate tools/crate.sh "$(tools/cargo.sh)" "$PWD/build/cargo"; fi
if ! is_configured; then
  configure=(cmake --preset "$preset" --log-level=WARNING)
  # A folder configured for more keeps its configuration.
  if [[ $preset == program ]] && grep -qs '^ATTNSCOPE_PYTHON:BOOL=ON' build/CMakeCache.txt; then
    configure=(cmake --preset release --log-level=WARNING)
  fi
  phase configure 10 "Configuring" "${configure[@]}"
fi
if grep -qs "^compile-$what " build/log/times; then usual=0; fi # an incremental build takes as long as its changes
export NINJA_STATUS="[%f/%t] "
phase "compile-$what" "$usual" "Compiling" cmake --build build --target "${targets[@]}" ${JOBS:+--parallel "$JOBS"}
if [[ $what != program ]]; then phase install 2 "Installing into .venv" cmake --install build --component python; fi
joined rest 30 "$([[ $what == tests ]] && echo "Installing test tools" || echo "Installing fonts")"
