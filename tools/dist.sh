#!/usr/bin/env bash
# tools/dist.sh - packs the program that `make build` built into dist/attnscope-VERSION-linux-MACHINE.tar.gz, with every
# library that it needs, fonts and licences. Then tests it in minimal systems (tests/dist/try_archive.sh).
#
# The same program gives the same bytes. ATTNSCOPE_PROGRAM=/path/to/attnscope packs another program than
# build/attnscope.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/carry.sh

most=40000000 # bytes
program=${ATTNSCOPE_PROGRAM:-build/attnscope}

fail() {
  echo "dist: $*" >&2
  exit 1
}

[[ -x $program ]] || fail "$program is not there: run make build"
command -v patchelf >/dev/null || fail "patchelf is not there: run tools/setup.sh dist"
version=$("$program" --version)
name=attnscope-${version#attnscope }-linux-$(uname -m)
tree=build-dist/$name
rm -rf "$tree"
mkdir -p "$tree"/{bin,lib} dist

libraries=$(libraries_of "$program")
while read -r library path; do
  install -m 644 "$path" "$tree/lib/$library"
  strip --strip-unneeded "$tree/lib/$library"
  patchelf --set-rpath '$ORIGIN' "$tree/lib/$library"
done <<<"$libraries"
install -m 755 "$program" "$tree/bin/attnscope"
strip "$tree/bin/attnscope"
patchelf --set-rpath '$ORIGIN/../lib' "$tree/bin/attnscope"

fonts=$(font_files)
mapfile -t fonts <<<"$fonts"
install -m 644 -D -t "$tree/share/attnscope/fonts" "${fonts[@]}"
install -m 644 LICENSE "$tree/LICENSE"
install -m 644 docs/install.md "$tree/README.md"
mapfile -t carried < <(cut -d ' ' -f 2 <<<"$libraries")
python3 tools/licences.py "$tree/licences" "${carried[@]}" "${fonts[@]}"

archive=dist/$name.tar.gz
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w --mtime=@"${SOURCE_DATE_EPOCH:-946684800}" \
  -C build-dist -cf - "$name" | gzip -9 -n >"$archive.part"
size=$(stat -c %s "$archive.part")
((size <= most)) || fail "$archive would have $size bytes, more than $most"
mv "$archive.part" "$archive"
echo "$archive: $((size / 1000000)) MB, $(wc -l <<<"$libraries") libraries"
tests/dist/try_archive.sh "$archive" "$program"
