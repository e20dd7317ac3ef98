# tools/phase.sh - to be sourced: runs the phases of a long command, one line each, and explains failures in one
# sentence.
#
#   phase NAME USUAL TITLE COMMAND...    runs COMMAND with its output in build/log/NAME.log. A terminal shows a line
#                                        with progress; otherwise prints a line at the start, per minute and at the end.
#                                        USUAL: seconds it takes on two cores; the last run's time replaces it.
#                                        0: unknown, since it depends on what has changed. Phases with nothing to do
#                                        print nothing.
#   beside NAME COMMAND...               starts COMMAND in the background, its output in build/log/NAME.log
#   joined NAME USUAL TITLE              waits for it, shown as a phase if it takes longer than the others
#   try PHASE...                         the same for `phase` or `joined`, but returns the failure
#   fail SENTENCE                        prints it last and exits
#
# A command that fails ends the script: its last output, then one sentence on what failed and what to do. Ctrl-C ends
# everything that was started.

phase_log=build/log
mkdir -p "$phase_log"
declare -A phase_beside=()
phase_trying=0

if [[ -t 2 ]]; then phase_tty=1; else phase_tty=0; fi

phase_end() {
  local status=$?
  trap - EXIT INT TERM
  local group
  for group in $(jobs -p); do kill -TERM -- "-$group" 2>/dev/null || true; done
  if ((phase_tty)); then printf '\r\033[K' >&2; fi
  exit "$status"
}
trap phase_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  printf 'attnscope: %s\n' "$*" >&2
  exit 1
}

phase_duration() {
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}
phase_about() {
  if (($1 < 10)); then
    echo "a few seconds"
  elif (($1 < 50)); then
    echo "about $((($1 + 5) / 10 * 10)) s"
  else
    echo "about $((($1 + 30) / 60)) min"
  fi
}

# Extracts progress from a log: the count of ninja, Playwright or ctest, the percentage of pytest, else the last status
# line of tools/setup.sh. Sets phase_done and phase_total (0: unknown) and phase_detail.
phase_look() {
  local last
  phase_done=0 phase_total=0 phase_detail=""
  last=$(tail -c 4000 "$1" 2>/dev/null | tr '\r' '\n' |
    grep -aoE '\[[0-9]+/[0-9]+\]|^ *[0-9]+/[0-9]+ Test|^setup: .*|\[ *[0-9]+%\]' | tail -n 1) || return 0
  if [[ $last =~ ([0-9]+)/([0-9]+) ]]; then
    phase_done=${BASH_REMATCH[1]} phase_total=${BASH_REMATCH[2]}
    phase_detail="$phase_done of $phase_total"
  elif [[ $last =~ ([0-9]+)% ]]; then
    phase_done=${BASH_REMATCH[1]} phase_total=100
    phase_detail="$phase_done%"
  elif [[ $last == setup:* ]]; then
    phase_detail=${last#setup: }
  fi
}

# phase_status LOG SECONDS USUAL: "118 of 210, about 2 min left". If a usual time is known, it is used for the estimate,
# since steps differ too much in length.
phase_status() {
  local left=$(($3 - $2)) text
  phase_look "$1"
  if (($3 == 0 && phase_done > 0 && $2 > 5)); then
    left=$(($2 * (phase_total - phase_done) / phase_done))
  fi
  text=$phase_detail
  if ((left > 4)); then
    text+="${text:+, }$(phase_about "$left") left"
  elif [[ -z $text ]]; then
    text=$(phase_duration "$2")
  fi
  echo "$text"
}

phase_usual() { # NAME DEFAULT
  local name seconds
  if (($2 == 0)); then
    echo 0
    return
  fi
  while read -r name seconds; do [[ $name == "$1" ]] && { echo "$seconds"; return; }; done \
    < <(cat "$phase_log/times" 2>/dev/null)
  echo "$2"
}
phase_remember() { # NAME SECONDS
  { grep -v "^$1 " "$phase_log/times" 2>/dev/null || true; echo "$1 $2"; } >"$phase_log/times.new"
  mv "$phase_log/times.new" "$phase_log/times"
}

# The sentence that explains a log; the first match wins.
phase_reason() {
  local log=$1 own
  own=$(grep -E '^setup: .*;|^setup: (no|not|packages|only|PYTHON)' "$log" | tail -n 1) || true
  if grep -qiE 'no space left on device|not enough free space|disk quota exceeded' "$log"; then
    echo "the disk is full: free some space ($(df -h --output=avail . | tail -n 1 | xargs) is left here) and run the command again"
  elif grep -qE 'Killed signal|fatal error: Killed|out of memory' "$log"; then
    echo "the compiler ran out of memory: close other programs, or build with fewer jobs (JOBS=1)"
  elif [[ -n $own ]]; then
    echo "${own#setup: }"
  elif grep -qiE 'could not resolve|temporary failure (in name|resolving)|failed to fetch|unable to fetch|network is unreachable|connection (refused|timed out|reset)|enotfound|eai_again|etimedout|could not connect|failed to download|spurious network error|name or service not known' "$log"; then
    echo "a download failed: check the network connection (and proxy settings), then run the command again"
  elif grep -q '^CMake Error' "$log"; then
    grep -A 4 '^CMake Error' "$log" | sed -n '2,5p' | grep -v '^--' | xargs | cut -c 1-300
  elif grep -qE '^FAILED: |error:|^error' "$log"; then
    echo "see the error above"
  else
    echo "see its last lines above"
  fi
}

phase_failed() { # TITLE LOG
  if ((phase_tty)); then printf '\r\033[K' >&2; fi
  local from
  from=$(grep -nE '^FAILED: |^CMake Error|^error' "$2" | head -n 1 | cut -d : -f 1) || true
  { if [[ -n $from ]]; then tail -n "+$from" "$2" | head -n 30; else tail -n 15 "$2"; fi; } | cut -c 1-400 >&2
  printf '\n' >&2
  fail "$1 failed: $(phase_reason "$2"). Everything it printed is in $2."
}

phase_wait() { # NAME USUAL TITLE PID BEGAN
  local name=$1 usual=$2 title=$3 pid=$4 began=$5 log="$phase_log/$1.log" elapsed status=0 told=0
  while kill -0 "$pid" 2>/dev/null; do
    elapsed=$((SECONDS - began))
    if ((phase_tty && elapsed >= 1)); then
      printf '\r  %-24s %s\033[K' "$title" "$(phase_status "$log" "$elapsed" "$usual" | cut -c "1-$((${COLUMNS:-80} - 28))")" >&2
    elif ((!phase_tty && elapsed >= 2 && told == 0)); then
      printf '  %-24s %s\n' "$title" "$( ((usual > 0)) && echo "usually takes $(phase_about "$usual")" || echo "...")" >&2
      told=$elapsed
    elif ((!phase_tty && told > 0 && elapsed >= told + 60)); then
      printf '  %-24s %s\n' "$title" "$(phase_status "$log" "$elapsed" "$usual")" >&2
      told=$elapsed
    fi
    sleep "$((elapsed < 2 ? 0 : 1)).1" # poll quickly at first, then once a second
  done
  wait "$pid" || status=$?
  elapsed=$((SECONDS - began))
  if ((status != 0 && !phase_trying)); then phase_failed "$title" "$log"; fi
  if ((elapsed >= 2 || status != 0)); then
    if ((phase_tty)); then printf '\r' >&2; fi
    printf '  %-24s %s' "$title" "$( ((status == 0)) || echo "failed after ")$(phase_duration "$elapsed")" >&2
    if ((phase_tty)); then printf '\033[K' >&2; fi
    printf '\n' >&2
    if ((usual > 0 && status == 0)); then phase_remember "$name" "$elapsed"; fi
  fi
  return "$status"
}

phase() {
  local name=$1 usual title=$3
  usual=$(phase_usual "$1" "$2")
  shift 3
  local began=$SECONDS
  beside "$name" "$@"
  phase_wait "$name" "$usual" "$title" "${phase_beside[$name]}" "$began"
}

beside() {
  local name=$1
  shift
  set -m # gives the command its own process group, which can be ended as a whole
  "$@" </dev/null >"$phase_log/$name.log" 2>&1 &
  set +m
  phase_beside[$name]=$!
}

joined() { phase_wait "$1" "$2" "$3" "${phase_beside[$1]}" "$SECONDS"; }

try() {
  local status=0
  phase_trying=1
  "$@" || status=$?
  phase_trying=0
  return "$status"
}
