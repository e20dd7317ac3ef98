#!/usr/bin/env bash
# tests/dist/try_archive.sh ARCHIVE PROGRAM - unpacks the archive in user lands that hold nothing but what their
# distribution cannot do without, and runs it there. It must say and draw what PROGRAM, which it was made of, does here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/dist/land.sh

archive=$1
here=$(realpath "$2")
text="The film was great and the actors were wonderful."
chinese="小猫喜欢学习"

fail() {
  echo "dist: in ${suite:-no land}, $*" >&2
  exit 1
}

# run ARGUMENT...: in the land; what it says goes to $work/out and $work/err.
run() {
  in_land "$land" "$program" "$@" >"$work/out" 2>"$work/err" </dev/null || fail "attnscope $* fails: $(<"$work/err")"
}

# quiet ARGUMENT...: and says nothing on standard error.
quiet() {
  run "$@"
  [[ ! -s $work/err ]] || fail "attnscope $* says: $(<"$work/err")"
}

# same ARGUMENT...: and prints what the program does here, but for how long things took.
same() {
  quiet "$@"
  "$here" "$@" </dev/null | without_times | cmp -s - <(without_times <"$work/out") ||
    fail "attnscope $* prints something else than it does here"
}

without_times() { sed -E 's|[0-9.]+ ms +[0-9.]+ GFLOP/s||; s/ +$//'; }

# same_picture FILE ARGUMENT...
same_picture() {
  quiet "${@:2}" -o "/tmp/$1"
  "$here" "${@:2}" -o "$work/$1" </dev/null
  cmp -s "$land/tmp/$1" "$work/$1" || fail "attnscope ${*:2} -o $1 draws something else than it does here"
}

try_words() {
  same --version
  same tour
  same analyze -t "$text"
  same analyze -t "$text" --json
  same classify -t "$text"
  same lesson masks --all
}

try_pictures() {
  local kind
  for kind in svg png pdf; do
    same_picture "heatmap.$kind" heatmap -t "$text" --layer 1 --head 2 --title "One head"
    same_picture "mask.$kind" mask "causal & window(4)" --size 16
  done
  quiet heatmap -t "$text" --layer 1 --head 2 --title "→ − √ ≤ ∞ Ω Я" -o /tmp/signs.png
}

# Without a font the note is all that is said, once; with one, nothing is said.
try_chinese() {
  local kind font note="note: no installed font has 小 (U+5C0F), *fonts-noto-cjk"
  local heatmap=(heatmap -m tiny-translate -t "$chinese" --layer 0 --head 0)
  quiet "${heatmap[@]}" -o /tmp/chinese.svg
  for kind in png pdf; do
    run "${heatmap[@]}" -o "/tmp/chinese.$kind"
    # shellcheck disable=SC2053  # a pattern
    [[ $(<"$work/err") == $note && $(wc -l <"$work/err") == 1 ]] || fail "the note is: $(<"$work/err")"
  done
  font=$(fc-match --format='%{file}' "Noto Sans CJK SC:style=Regular")
  install -m 644 -D -t "$land/usr/share/fonts" "$font"
  quiet "${heatmap[@]}" -o /tmp/chinese.png
  # Nor where fontconfig is set up, and has no place for a cache.
  mkdir "$land/etc/fonts"
  echo "<fontconfig><dir>/usr/share/fonts</dir><cachedir>/var/cache/fontconfig</cachedir></fontconfig>" \
    >"$land/etc/fonts/fonts.conf"
  quiet "${heatmap[@]}" -o /tmp/chinese.png
}

# ask PATH: what the server at $port answers.
ask() {
  local socket answer
  exec {socket}<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$1" "$port" >&"$socket"
  answer=$(tr -d '\0' <&"$socket")
  exec {socket}>&-
  [[ $answer == "HTTP/1.1 200 "* ]] || fail "the server answers GET $1 with: ${answer:0:200}"
  printf '%s' "$answer"
}

stop_server() {
  [[ -n $server ]] || return 0
  kill -KILL -- -"$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=
}

try_page() {
  local port
  set -m # a process group of its own, which ends as a whole
  in_land "$land" "$program" view --no-open --port 0 -t "$text" >"$work/served" 2>&1 </dev/null &
  server=$!
  set +m
  for _ in {1..200}; do
    grep -qs '^Ctrl-C' "$work/served" && break
    sleep 0.1
  done
  port=$(grep -o 'http://127.0.0.1:[0-9]*' "$work/served" | cut -d : -f 3) || fail "view says: $(<"$work/served")"
  [[ $(ask /) == *"<title>"*attnscope* ]] || fail "the page is not served"
  [[ $(ask /api/recordings/1) == *wonderful* ]] || fail "the page's server does not know its text"
  try_without_certificates "https://127.0.0.1:$port"
  stop_server
}

# A server that answers, so that the certificates are what is missed.
try_without_certificates() {
  if in_land "$land" /usr/bin/env HF_ENDPOINT="$1" HF_HOME=/tmp/hub "$program" pull a/b >"$work/out" 2>"$work/err"; then
    fail "pull needs no certificates"
  fi
  [[ $(<"$work/err") == attnscope:*certificates* && $(wc -l <"$work/err") == 1 ]] ||
    fail "pull without certificates says: $(<"$work/err")"
}

why=$(why_no_lands)
if [[ -n $why ]]; then
  echo "$archive was not tried: $why"
  exit
fi
work=$(mktemp -d)
server=
trap 'stop_server; rm -rf "$work"' EXIT
for suite in bookworm trixie noble; do
  land=$work/$suite
  if ! new_land "$land" "$suite" essential 2>"$work/err"; then
    echo "$archive was not tried in $suite: its packages cannot be fetched ($(tail -n 1 "$work/err"))"
    continue
  fi
  tar -xz -C "$land/opt" -f "$archive"
  program=/opt/$(basename "$archive" .tar.gz)/bin/attnscope
  try_words
  try_pictures
  try_chinese
  try_page
  rm -rf "$land"
  echo "$archive works in $suite"
done
