# tests/dist/land.sh - to be sourced: bare user lands, to try in them what is given away.

lands=build-dist/lands # what was fetched; a land itself is unpacked for one run

apart=(--mount --pid --fork --kill-child)
((EUID == 0)) || apart+=(--user --map-root-user)

# why_no_lands: says in a few words what is missing here; nothing if user lands can be made.
why_no_lands() {
  if ! command -v mmdebstrap >/dev/null; then
    echo "mmdebstrap is not installed (tools/setup.sh dist)"
  elif ! unshare "${apart[@]}" true 2>/dev/null; then
    echo "namespaces cannot be made here (try it as root, outside of a container)"
  fi
}

# Ubuntu's keys, which Debian 12 has no package of, from a release that has.
ubuntu_keys() {
  local there=usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [[ ! -f $lands/$there ]]; then
    mmdebstrap --quiet --format=tar --variant=extract --include=ubuntu-keyring trixie - |
      tar -x -C "$lands" "./$there" || return
  fi
  realpath "$lands/$there"
}

# new_land FOLDER SUITE VARIANT [PACKAGE...]: unpacks into FOLDER what mmdebstrap calls VARIANT, which is fetched once.
# Where it cannot be, the last line on standard error says why.
new_land() {
  local folder=$1 suite=$2 variant=$3 options=() kept packages keys
  packages=$(IFS=,; echo "${*:4}")
  kept=$lands/$suite-$variant${packages:+-$packages}.tar
  if [[ ! -f $kept ]]; then
    mkdir -p "$lands"
    if [[ $suite == noble ]]; then
      keys=$(ubuntu_keys) || return
      options+=(--keyring="$keys")
    fi
    options+=(${packages:+--include="$packages"})
    mmdebstrap --quiet --format=tar --variant="$variant" "${options[@]}" "$suite" "$kept.part" || return
    mv "$kept.part" "$kept"
  fi
  mkdir -p "$folder"
  tar -x -C "$folder" --exclude='./dev/*' -f "$kept"
}

# in_land FOLDER COMMAND...: as a user without rights and without a home, where we are root; with an empty environment.
in_land() {
  local folder=$1 user=()
  shift
  ((EUID != 0)) || user=(--userspec=65534:65534)
  unshare "${apart[@]}" sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"' "$folder" "${user[@]}" "$folder" \
    /usr/bin/env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C.UTF-8 "$@"
}
