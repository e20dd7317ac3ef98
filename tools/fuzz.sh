#!/usr/bin/env bash
# tools/fuzz.sh [TARGET]... - fuzzes what reads foreign bytes: each target of tests/fuzz (default: all) for FUZZ_SECONDS
# (default 60) under libFuzzer, ASan and UBSan, as many at a time as there are cores; every second one on the AVX2 kernels
# if the machine has better.
#
# Needs the preset `fuzz` to be built (make fuzz). What was learned is kept in build-fuzz/corpus, so that the next run
# goes on from there. A finding is saved in build-fuzz/findings and ends in exit code 1: fix it, and copy it to
# tests/fuzz/seeds/TARGET.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${FUZZ_SECONDS:-60}
if (($# == 0)); then mapfile -t targets < <(find tests/fuzz/seeds -mindepth 1 -maxdepth 1 -printf '%f\n' | sort); else targets=("$@"); fi
for target in "${targets[@]}"; do
  program=build-fuzz/tests/fuzz_$target
  [[ -x $program ]] || { echo "fuzz: $program is not there: run make fuzz, or choose one of tests/fuzz/seeds" >&2; exit 2; }
done

mkdir -p build-fuzz/findings build-fuzz/log
rm -f build-fuzz/log/failed
export LSAN_OPTIONS=suppressions=$PWD/tests/leaks.supp:print_suppressions=0
place=${TMPDIR:-/tmp}
if [[ -d /dev/shm ]]; then place=/dev/shm; fi # inputs that must be files are written thousands of times
TMPDIR=$(mktemp -d "$place/attnscope-fuzz.XXXXXX")
export TMPDIR
finish() {
  jobs -p | xargs -r kill 2>/dev/null || true
  rm -rf "$TMPDIR"
}
trap finish EXIT
trap 'exit 130' INT TERM

fuzz_target() { # TARGET NUMBER
  local target=$1 log=build-fuzz/log/$1.log status=ok runs
  mkdir -p "build-fuzz/corpus/$target"
  if (($2 % 2)); then export ATTNSCOPE_FUZZ_AVX2=1; fi
  "build-fuzz/tests/fuzz_$target" "build-fuzz/corpus/$target" "tests/fuzz/seeds/$target" -max_total_time="$seconds" \
    -max_len=16384 -timeout=60 -rss_limit_mb=3000 -artifact_prefix="build-fuzz/findings/$target-" \
    -dict=tests/fuzz/words.dict -print_final_stats=1 >"$log" 2>&1 || status=FINDING
  runs=$(grep -oE 'number_of_executed_units: [0-9]+' "$log" | grep -oE '[0-9]+$' || echo '?')
  printf '  %-12s %-8s %s inputs\n' "$target" "$status" "$runs"
  [[ $status == ok ]] || echo "$target" >>build-fuzz/log/failed
}

for number in "${!targets[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
  fuzz_target "${targets[number]}" "$number" &
done
wait
if [[ -s build-fuzz/log/failed ]]; then
  echo "fuzz: $(xargs <build-fuzz/log/failed): see build-fuzz/log and build-fuzz/findings" >&2
  exit 1
fi
