#!/usr/bin/env bash
# tools/test_web_app.sh - tests what tools/web_app.sh built: the module against the program, request by request, and the
# page's journeys against dist/attnscope.html (from file://, without a network) and dist/site (under a sub-path), and the
# file in Firefox.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/phase.sh

run_parity() {
  PATH="$(dirname "$(tools/node.sh)"):$PATH"
  cd web
  ATTNSCOPE_NEEDS_WASM=1 node_modules/.bin/vitest run tests/app
}
run_journeys() {
  PATH="$(dirname "$(tools/node.sh)"):$PATH"
  cd web
  CI=1 ATTNSCOPE_NEEDS_WASM=1 npm run --silent test:app
}

# A driver comes with npm, into a folder of its own: only this test needs it.
run_firefox() {
  PATH="$(dirname "$(tools/node.sh)"):$PATH"
  (cd web/tests/firefox && npm ci --loglevel=error --no-progress >/dev/null)
  node web/tests/firefox/smoke.mjs dist/attnscope.html
}

failed=()
try phase test-wasm 20 "Comparing with the program" run_parity || failed+=(test-wasm)
try phase test-web-app 300 "Testing the one-file page" run_journeys || failed+=(test-web-app)
if [[ -x /usr/bin/firefox-esr ]]; then
  try phase test-firefox 20 "Testing it in Firefox" run_firefox || failed+=(test-firefox)
else
  echo "  Firefox                  skipped: firefox-esr is not packaged here" >&2
fi
log() { sed 's/\x1b\[[0-9;]*[A-Za-z]//g' "$phase_log/$1.log"; }
for name in ${failed[@]+"${failed[@]}"}; do log "$name" | tail -n 100; done
echo
echo "Module  $(log test-wasm | grep -E '^ *Tests +[0-9]+ (passed|failed)' | xargs || echo 'did not end')"
echo "Page    $(log test-web-app | grep -E '^ *[0-9]+ (passed|failed)' | xargs || echo 'did not end')"
((${#failed[@]} == 0)) || fail "tests failed: what they said is above, and whole in build/log (${failed[*]/%/.log})."
