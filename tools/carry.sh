# tools/carry.sh - to be sourced: which libraries and fonts the archive and the wheel include.

# glibc stays the system's: it depends on the kernel and the name service, and a newer one runs programs built with an
# older one.
glibc_libraries=(linux-vdso.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libmvec.so.1
  libpthread.so.0 libdl.so.2 librt.so.1 libresolv.so.2 libutil.so.1 libanl.so.1 libnss_files.so.2 libnss_dns.so.2
  libthread_db.so.1 libBrokenLocale.so.1 libc_malloc_debug.so.0)

# libraries_of FILE: one line per library that it needs, directly or not, except glibc's: name, then path.
libraries_of() {
  local name arrow path rest
  while read -r name arrow path rest; do
    [[ " ${glibc_libraries[*]} " != *" $(basename "$name") "* ]] || continue
    if [[ $arrow != "=>" || $path != /* ]]; then
      echo "$1 needs $name, which is not installed" >&2
      return 1
    fi
    echo "$name $path"
  done < <(ldd "$1") | sort
}

# font_files: the fonts for figures. DejaVu Sans has the arrows and signs that Noto Sans lacks.
font_files() {
  local pattern found
  for pattern in "Noto Sans:style=Regular" "Noto Sans:style=Bold" "DejaVu Sans:style=Book"; do
    found=$(fc-match --format='%{family}:style=%{style} %{file}' "$pattern")
    if [[ $found != "$pattern "* ]]; then
      echo "the font ${pattern/:style=/ } is not installed (Debian: fonts-noto-core fonts-dejavu-core)" >&2
      return 1
    fi
    echo "${found#"$pattern "}"
  done
}
