#!/usr/bin/env bash
# tools/test.sh - runs the tests that tools/build.sh built: C++, Python, and the page in a browser. All run even if one
# of them fails; logs are in build/log, and failures are shown at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/phase.sh

run_cpp() { ctest --test-dir build --parallel 2 --output-on-failure --no-tests=error; }
run_python() { .venv/bin/python -m pytest -q -n 3 --dist worksteal python/tests tests/program; }
run_page() {
  PATH="$(dirname "$(tools/node.sh)"):$PATH"
  cd web
  npm run --silent test
  ATTNSCOPE="${ATTNSCOPE:-$PWD/../build/attnscope}" CI=1 npm run --silent test:page
}

# Pages, ranks and killed runs mostly wait, so the page's tests run beside the others, and Python's on three workers.
failed=()
beside test-page run_page
try phase test-cpp 180 "Testing C++" run_cpp || failed+=(test-cpp)
try phase test-python 170 "Testing Python" run_python || failed+=(test-python)
try joined test-page 20 "Testing the page" || failed+=(test-page)

# log NAME: prints it without colours. The output of an unfinished runner is quoted too.
log() { sed 's/\x1b\[[0-9;]*[A-Za-z]//g' "$phase_log/$1.log"; }
for name in ${failed[@]+"${failed[@]}"}; do
  echo
  log "$name" | grep -vE '^ *Start |Passed +[0-9.]+ sec$|^[.sx]+( +\[ *[0-9]+%\])?$|^\[[0-9]+/[0-9]+\]' | tail -n 200
done
echo
echo "C++     $(log test-cpp | grep -E '[0-9]+% tests passed' || echo 'did not end')"
echo "Python  $(log test-python | grep -E '[0-9]+ (passed|failed|error)' | tail -n 1 || echo 'did not end')"
echo "Page    $(log test-page | grep -E '^ *(Tests +)?[0-9]+ (passed|failed)' | xargs || echo 'did not end')"
((${#failed[@]} == 0)) || fail "tests failed: what they said is above, and whole in build/log (${failed[*]/%/.log})."
