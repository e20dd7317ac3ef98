#!/usr/bin/env bash
# tools/setup.sh STAGE - installs missing packages by name; silent and quick if there are none.
#
#   program compiler, cargo, node, CMake and libraries to build build/attnscope
#   fonts   fonts for figures; can be installed while the compiler runs
#   build   program and fonts, and what the Python module needs in .venv
#   test    also pytest, torch, a browser and two MPI libraries; test-packages: the same without the pip packages, which
#           take minutes and can be installed while the compiler runs
#   bench   also the programs that benchmarks compare with
#   models  packages to train the shipped models
#   wheel   tools that build a wheel and add the libraries that it needs
#   web-app program, and the compilers for WebAssembly
#   browsers Chromium and Firefox, for the tests of the page without a server
#   dist    tools that build the archive of the program, and a minimal Debian to test it in
#   lint    tools for tools/lint.sh: shellcheck, ruff, mypy, clang-format, and rustfmt and clippy where packaged
#   check   lint, clang, clang-tidy and the sanitizers' runtimes
#
# Never prompts: packages are installed as root or through a sudo that needs no password, otherwise one line says what
# to run. PYTHON=/path/to/python3 selects the interpreter for .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program_packages=(g++ make cmake ninja-build ccache pkg-config ca-certificates libhwy-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libcpp-httplib-dev libcurl4-openssl-dev libssl-dev libcairo2-dev libpango1.0-dev libspng-dev
  zlib1g-dev)
font_packages=(fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-dejavu-core)
python_packages=(python3-dev python3-venv)
gtest_packages=(libgtest-dev libgmock-dev)
mpi_packages=(libopenmpi-dev openmpi-bin libmpich-dev mpich)
dist_packages=(patchelf mmdebstrap)
bench_packages=(libopenblas-dev libdnnl-dev)
lint_packages=(git shellcheck)
# Sources of Rust's own library, for a target that no package has compiled.
wasm_packages=(rustc-web cargo-web rust-web-src)
check_packages=(clang-19 clang-tidy-19 libclang-rt-19-dev)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Without dpkg, checks for the tools themselves and leaves installing them to the user.
need_commands() {
  local absent=()
  local name
  for name in "$@"; do command -v "$name" >/dev/null || absent+=("$name"); done
  ((${#absent[@]} == 0)) || fail "not found: ${absent[*]}; install them with your system's package manager"
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo -n "$@"
  fi
}

# An index that could not be refreshed may still be good enough; otherwise the install reports the problem.
index_is_fresh=0
refresh_index() {
  ((index_is_fresh == 0)) || return 0
  index_is_fresh=1
  as_root apt-get update -qq >/dev/null || say "the package index could not be refreshed"
}

# apt-get that waits for its lock: another stage may be installing.
install_packages() {
  # An interrupted dpkg refuses everything until it is asked to finish.
  [[ -z $(ls /var/lib/dpkg/updates 2>/dev/null) ]] || as_root dpkg --configure -a >/dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 "$@" >/dev/null
}

need_packages() {
  local installed absent=() name
  installed=" $(dpkg-query -W -f '${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do [[ $installed == *" $name=installed "* ]] || absent+=("$name"); done
  ((${#absent[@]} > 0)) || return 0
  as_root true 2>/dev/null || fail "packages are missing; as root run: apt-get install ${absent[*]}"
  say "installing ${absent[*]}"
  refresh_index
  install_packages "${absent[@]}"
}

# A python3 with headers and venv. The system's own comes first: python3-dev belongs to it, whereas another one earlier
# on PATH may lack Python.h.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} /usr/bin/python3 python3; do
    if "$candidate" - 2>/dev/null <<'PY'; then
import os, sys, sysconfig, ensurepip, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not (sys.version_info >= (3, 10) and os.path.exists(header)))
PY
      echo "$candidate"
      return
    fi
    [[ -z ${PYTHON:-} ]] || fail "PYTHON=$PYTHON is not a Python 3.10 or newer with Python.h and venv"
  done
  fail "no python3 with Python.h and venv (Debian: python3-dev python3-venv)"
}

need_venv() {
  if ! .venv/bin/python -c '' 2>/dev/null; then
    rm -rf .venv
    local python
    python=$(find_python)
    "$python" -m venv .venv
  fi
}

# need_wheels NAME: installs the packages of tools/requirements-NAME.txt. A stamp stores the list's hash, so that pip
# runs only when the list changes.
need_wheels() {
  local list="tools/requirements-$1.txt" stamp=".venv/.attnscope-$1" hash
  hash=$(sha256sum <"$list")
  [[ -f $stamp && $(<"$stamp") == "$hash" ]] && return
  say "installing $(grep -o '^[a-z][a-z0-9-]*' "$list" | paste -sd ' ') into .venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "$list"
  echo "$hash" >"$stamp"
}

need_system() {
  if command -v dpkg-query >/dev/null; then
    need_packages "$@"
  else
    need_commands cmake ninja c++ python3
  fi
}

# The newest cargo that the distribution ships next to one that is too old: Debian 12 cargo-web, Ubuntu cargo-1.NN.
cargo_packages() {
  local versioned
  versioned=$(apt-cache pkgnames cargo-1. | grep -E '^cargo-1\.[0-9]+$' | sort -V | tail -n 1 || true)
  if [[ -n $(apt-cache pkgnames cargo-web | grep -x cargo-web || true) ]]; then
    echo cargo-web rustc-web
  elif [[ -n $versioned ]]; then
    echo "$versioned" "${versioned/cargo/rustc}"
  else
    echo cargo rustc
  fi
}

# rustfmt and clippy for a packaged cargo; another one, such as rustup's, brings its own. Without such packages
# tools/lint.sh reports what it skips.
need_rust_lint() {
  local cargo name packages=()
  cargo=$(tools/cargo.sh)
  if "$cargo" fmt --version >/dev/null 2>&1 && "$cargo" clippy --version >/dev/null 2>&1; then return; fi
  if [[ $cargo != /usr/bin/* ]] || ! command -v dpkg-query >/dev/null; then return; fi
  for name in $(cargo_packages); do
    case "$name" in
      cargo-web) packages+=(rustfmt-web rust-web-clippy) ;;
      cargo-*) packages+=("rustfmt-${name#cargo-}" "rust-${name#cargo-}-clippy") ;;
      cargo) packages+=(rustfmt rust-clippy) ;;
    esac
  done
  for name in "${packages[@]}"; do
    if [[ -n $(apt-cache pkgnames "$name" | grep -x "$name" || true) ]]; then need_packages "$name"; fi
  done
}

need_node() {
  if ! tools/node.sh >/dev/null 2>&1; then
    need_venv
    need_wheels node
  fi
  tools/node.sh >/dev/null
}

# Any Chromium-based browser will do. The headless one starts and draws in three quarters of the time. Ubuntu has only a
# snap, which needs a running snapd.
need_browser() {
  local name
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then return; fi
  done
  if [[ -n $(apt-cache pkgnames chromium-headless-shell) ]]; then
    need_packages chromium-headless-shell
  else
    need_packages chromium
  fi
}

# Debian packages Firefox; Ubuntu has only a snap.
need_firefox() {
  if [[ -n $(apt-cache pkgnames firefox-esr 2>/dev/null | grep -x firefox-esr || true) ]]; then need_packages firefox-esr; fi
}

# Users install the MPI library of their machines themselves; without dpkg none is requested.
need_mpi() {
  if command -v dpkg-query >/dev/null; then need_packages "${mpi_packages[@]}"; fi
}

# Installs everything that is missing with one apt-get, cargo included.
need_program() {
  local packages=("${program_packages[@]}" "$@")
  tools/node.sh >/dev/null 2>&1 || packages+=("${python_packages[@]}") # node is installed by pip
  if command -v dpkg-query >/dev/null && ! tools/cargo.sh >/dev/null 2>&1; then
    if as_root true 2>/dev/null; then refresh_index; fi # looking up cargo's package names needs an index
    read -ra cargo <<<"$(cargo_packages)"
    packages+=("${cargo[@]}")
  fi
  need_system "${packages[@]}"
  tools/cargo.sh >/dev/null
  need_node
}

need_fonts() {
  if command -v dpkg-query >/dev/null; then need_packages "${font_packages[@]}"; fi
}

need_lint() {
  need_program "${python_packages[@]}" "${lint_packages[@]}" "$@"
  need_rust_lint
  need_venv
  need_wheels build # numpy, whose types the package uses
  need_wheels check
}

# A rustc that can build for WebAssembly, such as one of rustup with that target, makes Debian's packages unnecessary.
has_wasm_rust() {
  local rustc library
  for rustc in rustc "${HOME:-}/.cargo/bin/rustc"; do
    library=$("$rustc" --print target-libdir --target wasm32-wasip1 2>/dev/null) && [[ -d $library ]] && return
  done
  return 1
}

need_web_app() {
  need_program "${python_packages[@]}"
  if ! has_wasm_rust; then
    if command -v dpkg-query >/dev/null && as_root true 2>/dev/null; then refresh_index; fi
    need_system "${wasm_packages[@]}"
  fi
  need_venv
  need_wheels wasm
}

need_build() {
  need_program "${python_packages[@]}" "${gtest_packages[@]}"
  need_venv
  need_wheels build
}

need_test_packages() {
  need_build
  need_mpi
  need_browser
}

case "${1:-}" in
  program) need_program ;;
  fonts) need_fonts ;;
  build)
    need_build
    need_fonts
    ;;
  test-packages) need_test_packages ;;
  test)
    need_test_packages
    need_fonts
    need_wheels test
    ;;
  bench)
    need_test_packages
    need_fonts
    need_system "${bench_packages[@]}"
    need_wheels test
    need_wheels bench
    ;;
  models)
    need_build
    need_fonts
    need_wheels models
    ;;
  wheel)
    need_build
    need_fonts
    if command -v dpkg-query >/dev/null; then need_packages "${dist_packages[@]}"; fi
    need_wheels wheel
    ;;
  dist)
    need_program "${dist_packages[@]}"
    need_fonts
    ;;
  web-app) need_web_app ;;
  browsers)
    need_browser
    need_firefox
    ;;
  lint) need_lint ;;
  check)
    need_lint "${gtest_packages[@]}" "${check_packages[@]}"
    need_fonts
    ;;
  *) fail "usage: tools/setup.sh program|fonts|build|test-packages|test|bench|models|wheel|dist|web-app|browsers|lint|check" ;;
esac
