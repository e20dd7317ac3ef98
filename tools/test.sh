#!/usr/bin/env bash
# tools/test.sh - runs the tests of what `make build` made: C++, Python, and the page in a browser. All run even if one
# of them fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What passed is in build/ctest.log; what failed is shown.
ctest --test-dir build --parallel 2 --output-on-failure --no-tests=error 2>&1 | tee build/ctest.log |
  grep --line-buffered -vE '^ *Start |Passed +[0-9.]+ sec$'
cpp=${PIPESTATUS[0]}
.venv/bin/python -m pytest -q -n 2 --dist loadfile python/tests tests/program 2>&1 | tee build/pytest.log
python=${PIPESTATUS[0]}
PATH="$(dirname "$(tools/node.sh)"):$PATH"
(cd web && npm run --silent test && ATTNSCOPE="${ATTNSCOPE:-$PWD/../build/attnscope}" CI=1 npm run --silent test:page) \
  2>&1 | tee build/page.log
page=${PIPESTATUS[0]}

# plain FILE: without colours
plain() { sed 's/\x1b\[[0-9;]*[A-Za-z]//g' "$1"; }
echo
echo "C++     $(grep -E '[0-9]+% tests passed' build/ctest.log || echo 'did not run')"
echo "Python  $(grep -E '[0-9]+ (passed|failed|error)' build/pytest.log | tail -n 1 || echo 'did not run')"
echo "Page    $(plain build/page.log | grep -E '^ *(Tests +)?[0-9]+ (passed|failed)' | xargs || echo 'did not run')"
((cpp == 0 && python == 0 && page == 0))
