#!/usr/bin/env bash
# tools/lint.sh [PIECE...] - checks the sources without building them; runs all tools, one line per tool.
#
#   cpp      clang-format            python   ruff check, ruff format, mypy
#   shell    shellcheck              page     svelte-check, prettier, eslint
#   rust     cargo fmt, clippy
#
# Without a PIECE: all of them. Exits with 1 if a tool found a problem; its output follows its line. Files that passed
# are not checked again until they change (build/lint, .ruff_cache, .cache/mypy). tools/setup.sh lint installs the
# tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kept=$PWD/build/lint
mkdir -p "$kept"
failed=()

# files PATTERN...: files of the working tree, new ones included, removed ones not.
files() {
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" |
    while IFS= read -r -d '' file; do if [[ -f $file ]]; then printf '%s\0' "$file"; fi; done
}

# run NAME COMMAND...: prints one line, and the output of COMMAND if it failed.
run() {
  local name=$1 began=$SECONDS said
  shift
  if said=$("$@" 2>&1); then
    printf '  %-14s ok      %3d s\n' "$name" $((SECONDS - began))
  else
    printf '  %-14s failed  %3d s\n' "$name" $((SECONDS - began))
    head -n 60 <<<"$said" | sed 's/^/    /'
    if (($(wc -l <<<"$said") > 60)); then echo "    ..."; fi
    failed+=("$name")
  fi
}
skip() { printf '  %-14s skipped: %s\n' "$1" "$2"; }

# unless_known NAME FILES COMMAND...: runs COMMAND on the files (printed by the function FILES) that have changed since
# it last passed. Stores their hashes together with that of other inputs (standard input).
unless_known() {
  local name=$1 list=$2 rules known="$kept/$1" hashes="$kept/$1.new" status=0
  shift 2
  rules=$(sha256sum | cut -c 1-64)
  "$list" | xargs -0 -r sha256sum | sed "s/^/$rules /" >"$hashes"
  touch "$known"
  { grep -vxFf "$known" "$hashes" || true; } | cut -c 132- | tr '\n' '\0' | xargs -0 -r "$@" || status=1
  if ((status == 0)); then mv "$hashes" "$known"; fi
  return "$status"
}

cpp_files() { files '*.cc' '*.h'; }
shell_files() { files '*.sh' .ci/run; }
crates=(src/text/tokenizer/crate apps/wasm/crate)
crate_files() { files "${crates[@]}"; }

clang_format() {
  cat .clang-format tools/requirements-check.txt | unless_known clang-format cpp_files .venv/bin/clang-format --dry-run -Werror
}
# Sourced scripts are checked on their own.
shell_check() { unless_known shellcheck shell_files shellcheck <.shellcheckrc; }

lint_cpp() { run clang-format clang_format; }
lint_python() {
  run "ruff check" .venv/bin/ruff check --quiet --output-format concise .
  run "ruff format" .venv/bin/ruff format --quiet --check .
  run mypy .venv/bin/mypy
}
lint_shell() { run shellcheck shell_check; }

# Through CMake, which waits for a build that is installing them.
page_modules() { cmake -DNODE="$(tools/node.sh)" -DWEB="$PWD/web" -P cmake/web.cmake; }
page_files() { files web; }
svelte_check() { # has no cache, and files depend on each other: all or nothing
  local hash
  hash=$(page_files | xargs -0 sha256sum | sha256sum)
  if [[ -f $kept/svelte-check && $(<"$kept/svelte-check") == "$hash" ]]; then return; fi
  (cd web && npm run --silent check) && echo "$hash" >"$kept/svelte-check"
}
page_prettier() (
  cd web && node_modules/.bin/prettier --check --log-level warn --cache --cache-strategy content \
    --cache-location "$kept/prettier" src tests build pack ./*.ts ./*.js index.html
)
page_eslint() (cd web && npm run --silent lint -- --cache --cache-strategy content --cache-location "$kept/eslint")

lint_page() {
  local folder
  folder=$(dirname "$(tools/node.sh)")
  local -x PATH="$folder:$PATH" # only here: that folder may have another cargo, too
  run "node modules" page_modules
  run svelte-check svelte_check
  run prettier page_prettier
  run eslint page_eslint
}

clippy() {
  local hash
  hash=$({ crate_files | xargs -0 sha256sum; "$cargo" --version; } | sha256sum)
  if [[ -f $kept/clippy && $(<"$kept/clippy") == "$hash" ]]; then return; fi
  local crate
  for crate in "${crates[@]}"; do
    (cd "$crate" && CARGO_TARGET_DIR=$kept/cargo "$cargo" clippy --locked --quiet --all-targets -- -D warnings) || return
  done
  echo "$hash" >"$kept/clippy"
}
cargo_fmt() {
  local crate
  for crate in "${crates[@]}"; do (cd "$crate" && "$cargo" fmt --check) || return; done
}

# Distributions package rustfmt and clippy separately, and not for every version of rustc.
lint_rust() {
  cargo=$(tools/cargo.sh)
  if "$cargo" fmt --version >/dev/null 2>&1; then
    run "cargo fmt" cargo_fmt
  else
    skip "cargo fmt" "the Rust of $cargo has no rustfmt"
  fi
  if "$cargo" clippy --version >/dev/null 2>&1; then
    run clippy clippy
  else
    skip clippy "the Rust of $cargo has no clippy"
  fi
}

if (($# == 0)); then set -- cpp python shell page rust; fi
for piece in "$@"; do
  case "$piece" in
    cpp | python | shell | page | rust) "lint_$piece" ;;
    *)
      echo "usage: tools/lint.sh [cpp|python|shell|page|rust]..." >&2
      exit 2
      ;;
  esac
done
if ((${#failed[@]} > 0)); then
  printf -v names '%s, ' "${failed[@]}"
  echo "lint: ${names%, } found something; make format fixes the layout" >&2
  exit 1
fi
