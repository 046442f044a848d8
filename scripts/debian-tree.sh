#!/usr/bin/env bash
# debian-tree.sh ARCH DIR PACKAGE...: extracts packages of this machine's Debian for an architecture, with all
# that they depend on and without what they recommend, into DIR. Nothing is installed and no script of a package
# runs, so it needs neither root nor a machine of that architecture. Packages stay in .cache/debian/ARCH once they
# were fetched, and DIR/PACKAGES names each package with its version.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
arch=$1 dir=$2 cache=$PWD/.cache/debian/$1
shift 2
command -v apt-get >/dev/null || { echo "debian-tree.sh: packages come by apt-get: run this on Debian 12" >&2; exit 2; }
mkdir -p "$cache/lists/partial" "$cache/archives/partial" "$cache/none/partial" "$dir"

# An empty state of its own: as if nothing were installed, and for that architecture alone.
apt() {
  apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$cache" -o Dir::State::lists="$cache/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$cache" -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@" || {
    echo "debian-tree.sh: apt-get has failed with Debian's packages for $arch: $*" >&2
    exit 2
  }
}
apt update
# Where no archive is there yet, it names all that are wanted.
wanted=$(apt -o Dir::Cache::archives="$cache/none" install --print-uris --no-install-recommends -y "$@" | awk '{print $2}')
apt install --download-only --no-install-recommends -y "$@" >/dev/null
for archive in $wanted; do
  dpkg-deb -x "$cache/archives/$archive" "$dir"
  dpkg-deb -W --showformat='${Package} ${Version} ${Architecture}\n' "$cache/archives/$archive"
done | sort >"$dir/PACKAGES"
