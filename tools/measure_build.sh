#!/usr/bin/env bash
# tools/measure_build.sh [run|test|change]... - measures how long a first build takes: each in a clean clone of HEAD, in
# a temporary folder and without ccache. Default: run test. Run it on an idle machine.
#
#   run     make run until it prints the page's address, and again
#   test    make test, and again with everything built
#   change  the preset dev: change one .cc file of a large folder, then rebuild the program and its tests
#
# Prints the time of each phase and the ten files that took longest to compile. Missing packages are installed as in any
# build; if they are installed already, add about a minute for that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($# > 0)) || set -- run test

folder=$(mktemp -d)
server=0
finish() {
  if ((server)); then kill -INT "$server" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM
project=$PWD
export CCACHE_DISABLE=1
fresh_clone() {
  cd "$folder"
  rm -rf attnscope
  git clone --quiet --no-hardlinks "$project" attnscope
  cd attnscope
}

duration() { printf '%d min %02d s' "$(($1 / 60))" "$(($1 % 60))"; }
report() { printf '%-44s %s\n' "$1" "$(duration "$2")"; }
phases() {
  local name seconds
  while read -r name seconds; do report "  $name" "$seconds"; done <build/log/times
}
# From ninja's log: start and end in milliseconds, and the output file. The last entry of a file counts.
dearest() {
  echo "The ten files that took longest, in seconds of wall time:"
  awk -F '\t' '$4 ~ /\.o$/ { took[$4] = ($2 - $1) / 1000 } END { for (f in took) printf "  %6.1f  %s\n", took[f], f }' \
    "$1/.ninja_log" | sort -rn | head -n 10
}

# make run does not exit by itself; the measurement ends when the address appears.
measure_run() {
  local began=$SECONDS
  make run >run.log 2>&1 &
  server=$!
  until grep -q 'http://' run.log; do
    kill -0 "$server" 2>/dev/null || { cat run.log >&2; exit 1; }
    sleep 0.2
  done
  report "$1" "$((SECONDS - began))"
  pkill -INT -P "$server" || true
  wait "$server" || true
  server=0
}

for what in "$@"; do
  fresh_clone
  case "$what" in
    run)
      measure_run "make run, from a clean clone"
      phases
      dearest build
      measure_run "make run, again"
      ;;
    test)
      began=$SECONDS
      make test >test.log 2>&1 || { tail -n 60 test.log >&2; exit 1; }
      report "make test, from a clean clone" "$((SECONDS - began))"
      phases
      dearest build
      began=$SECONDS
      make test >test.log 2>&1 || { tail -n 60 test.log >&2; exit 1; }
      report "make test, again" "$((SECONDS - began))"
      phases
      tail -n 4 test.log
      ;;
    change)
      tools/setup.sh build
      cmake --preset dev --log-level=ERROR >/dev/null
      began=$SECONDS
      cmake --build --preset dev --target attnscope insight_tests >/dev/null
      report "dev: the program and one test binary, from nothing" "$((SECONDS - began))"
      echo "// changed" >>src/insight/statistics/statistics.cc
      began=$SECONDS
      cmake --build --preset dev --target attnscope insight_tests >/dev/null
      report "dev: the same after a change in one .cc file" "$((SECONDS - began))"
      ;;
    *)
      echo "usage: tools/measure_build.sh [run|test|change]..." >&2
      exit 2
      ;;
  esac
done
