#!/usr/bin/env bash
# dist.sh [OUT]: makes what a release consists of, in out/dist or OUT, for linux amd64 and arm64: tar.gz, debs,
# wheels, images, SBOMs, and SHA256SUMS. With the same versions of Debian's packages, a commit gives the same bytes in
# every clone: packaging/go-version names the Go that compiles it, which Go fetches where it isn't the machine's.
#
# ARCHES="amd64" makes one architecture's. Only committed files are packed: it refuses a changed checkout.
# PROGRAM=FILE packs a program that was built without a window, and nothing else, as the tar.gz of this machine's
# architecture, from a changed checkout too: that tries the packing alone.
# It runs on Debian 12, whose libc is the oldest that the programs then run with, and needs `setup.sh dist`.
set -euo pipefail
umask 022
out=$(realpath -m "${1:-$(dirname "$0")/../out/dist}")
program=${PROGRAM:+$(realpath "$PROGRAM")}
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
work=$PWD/.cache/dist
tools=$PWD/.cache/bin
arches=${ARCHES:-amd64 arm64}

refuse() { echo "dist.sh: $*" >&2; exit 1; }

[ ! -e "$out" ] || [ -e "$out/SHA256SUMS" ] || [ -z "$(ls -A "$out")" ] || refuse "$out has other files: name a folder that is empty, or that it has made"
if [ -z "$program" ]; then
  GOTOOLCHAIN=go$(cat packaging/go-version)
  export GOTOOLCHAIN
  [ "$(go env GOVERSION)" = "$GOTOOLCHAIN" ] || refuse "releases are compiled with $GOTOOLCHAIN alone, since other versions give other bytes, and it isn't here: install it, or let Go reach its module proxy"
fi
case " $arches " in *" $(go env GOARCH) "*) ;; *) refuse "ARCHES lacks $(go env GOARCH), whose program writes the man pages" ;; esac
case $PWD in *[[:space:]]*) refuse "$PWD has a space, at which compilers would part it" ;; esac

[ -n "$program" ] || [ -z "$(git status --porcelain)" ] || refuse "the checkout has changes that are not committed: commit or remove them, since a package names its commit"
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
export SOURCE_DATE_EPOCH
number=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/raybridge/__init__.py)
version=$(scripts/version.sh)
name=${version#v}
# Debian and Python each write a build before the next release in their own way.
case $name in
  "$number" | "$number"+dirty) debian=$number wheel=$number ;;
  "$number"-dev.*) debian=$number~dev${name#*-dev.} wheel=$(cut -d. -f1-4 <<<"$number.dev${name#*-dev.}") ;;
  *) refuse "the tag is $version and python/raybridge/__init__.py says $number: make them one" ;;
esac

triplet() { case $1 in amd64) echo x86_64-linux-gnu ;; arm64) echo aarch64-linux-gnu ;; *) refuse "unknown architecture $1: amd64 and arm64 are known" ;; esac; }

# The libraries that the bridge ros2dds needs besides libc and the C++ runtime, in lib/raybridge: library=package of Debian. The
# program names each by its own place, so that no other version is ever taken: the bridge uses inner structures of
# Cyclone DDS 0.10.2. The C++ runtime is the system's, since a driver of OpenGL may need one newer than Debian 12's.
carried="libddsc.so.0debian=libddsc0debian libiceoryx_binding_c.so.2=libiceoryx-binding-c2 libiceoryx_posh.so.2=libiceoryx-posh2
 libiceoryx_hoofs.so.2=libiceoryx-hoofs2 libiceoryx_platform.so.2=libiceoryx-platform2
 libssl.so.3=libssl3 libcrypto.so.3=libssl3 libacl.so.1=libacl1"

# sysroot ARCH: Debian's libraries and headers of an architecture, and copies of what ros2dds needs whose names
# have the place from which the program is to load them.
sysroot() {
  local root=$work/$1/root lib from file
  rm -rf "$work/$1"
  mkdir -p "$work/$1/link" "$work/$1/lib"
  scripts/debian-tree.sh "$1" "$root" libgl-dev cyclonedds-dev base-files $([ "$1" != amd64 ] || echo libx11-dev libxcursor-dev libxi-dev libxinerama-dev libxrandr-dev libxxf86vm-dev)
  grep -q '^libddsc0debian 0\.10\.2-' "$root/PACKAGES" || refuse "Debian's Cyclone DDS is not 0.10.2, whose inner structures ros2dds uses: run this on Debian 12"
  for lib in $carried; do
    lib=${lib%=*}
    from=$(realpath "$(ls -d "$root"/{usr/,}lib/"$(triplet "$1")/$lib" 2>/dev/null | head -1)")
    cp "$from" "$work/$1/lib/$lib"
    file=$work/$1/link/${lib%%.so*}.so
    cp "$from" "$file"
    patchelf --set-soname "\$ORIGIN/../lib/raybridge/$lib" "$file"
  done
}

# compile ARCH NAME TAGS [LINKED]: one program, .cache/dist/ARCH/NAME.
compile() {
  local root=$work/$1/root t
  t=$(triplet "$1")
  echo "compiling $2 for $1"
  # The sysroot's paths are in no output: -trimpath leaves them out, and the build's id, which depends on them, is empty.
  env GOOS=linux GOARCH="$1" CGO_ENABLED=1 CC="$t-gcc" PKG_CONFIG_SYSROOT_DIR="$root" \
    PKG_CONFIG_LIBDIR="$root/usr/lib/$t/pkgconfig:$root/usr/share/pkgconfig" \
    CGO_CFLAGS="-O2 -I$root/usr/include -I$root/usr/include/$t" CGO_LDFLAGS="-L$work/$1/link -L$root/usr/lib/$t" \
    go build -trimpath -buildvcs=true -buildmode=pie -tags "$3" -o "$work/$1/$2" \
    -ldflags "-s -w -buildid= -X github.com/raybridge/raybridge.linked=$version -extldflags '-Wl,-z,relro,-z,now -Wl,-rpath-link,$root/usr/lib/$t ${4-}'" ./cmd/raybridge
}

# programs ARCH: the programs and the libraries that one carries.
programs() {
  local lib
  sysroot "$1"
  compile "$1" raybridge-headless nowindow,nonatsserver
  compile "$1" raybridge-ros2dds nowindow,ros2dds "-Wl,--no-as-needed $(for lib in $carried; do printf -- '-l:%s ' "${lib%%.so*}.so"; done)"
  [ "$1" != amd64 ] || compile "$1" raybridge-window ""
}

# texts PROGRAM WRITER: man pages and completions, by the commands' own help. WRITER is PROGRAM with the build tag man.
texts() {
  local program=$1 share=$work/share
  rm -rf "$share"
  mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
  "$2" man "$share/man/man1"
  gzip -9n "$share"/man/man1/*
  "$program" completion bash >"$share/bash-completion/completions/raybridge"
  "$program" completion zsh >"$share/zsh/vendor-completions/_raybridge"
  "$program" completion fish >"$share/fish/vendor_completions.d/raybridge.fish"
}

# place FROM... TO: files as they lie in a package.
place() { install -m "${mode:-644}" -D "$@"; }

# ros2dds ARCH DIR: DIR/bin/raybridge-ros2dds and its libraries, with the versions and licences that Debian gives them.
ros2dds() {
  local lib package text to=$2/lib/raybridge
  [ -z "$program" ] || return 0
  mode=755 place "$work/$1/raybridge-ros2dds" "$2/bin/raybridge-ros2dds"
  mkdir -p "$to/licences"
  for lib in $carried; do
    package=${lib#*=}
    place "$work/$1/lib/${lib%=*}" "$to/${lib%=*}"
    place "$work/$1/root/usr/share/doc/$package/copyright" "$to/licences/$package"
    grep "^$package " "$work/$1/root/PACKAGES"
  done | sort -u >"$to/licences/PACKAGES"
  # Debian's copyright files refer to these by their names.
  for text in Apache-2.0 GPL-2 GPL-3 LGPL-2.1; do place "$work/$1/root/usr/share/common-licenses/$text" "$to/licences/$text"; done
}

# archive ARCH: raybridge-VERSION-linux-ARCH.tar.gz.
archive() {
  local file top=raybridge-$name-linux-$1 dir=$work/$1/tar
  rm -rf "$dir"
  mode=755 place "$work/$1/raybridge-headless" "$dir/$top/bin/raybridge"
  [ ! -e "$work/$1/raybridge-window" ] || mode=755 place "$work/$1/raybridge-window" "$dir/$top/bin/raybridge-window"
  ros2dds "$1" "$dir/$top"
  cp -r "$work/share" "$dir/$top/share"
  for file in LICENSE NOTICE CHANGELOG.md action.yml; do place $file "$dir/$top/$file"; done
  scripts/pack.sh "$dir" "$top" "$out/$top.tar.gz"
}

# deb ARCH PACKAGE PROGRAM: a Debian package with a program as /usr/bin/raybridge.
deb() {
  local dir=$work/$1/deb/$2
  rm -rf "$dir"
  mode=755 place "$work/$1/$3" "$dir/usr/bin/raybridge"
  ros2dds "$1" "$dir/usr"
  cp -r "$work/share" "$dir/usr/share"
  ln -s raybridge.1.gz "$dir/usr/share/man/man1/raybridge-ros2dds.1.gz"
  place NOTICE "$dir/usr/share/doc/$2/NOTICE"
  place packaging/copyright "$dir/usr/share/doc/$2/copyright"
  printf 'raybridge (%s) unstable; urgency=medium\n\n  * CHANGELOG.md of the source has what is new.\n\n -- raybridge developers <raybridge@example.org>  %s\n' \
    "$debian" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$dir/usr/share/doc/$2/changelog.gz"
  find "$dir" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  ARCH=$1 VERSION=$debian TREE=$dir "$tools/nfpm" package --packager deb --config "packaging/$2.yaml" --target "$out/$2_${debian}_$1.deb" >/dev/null
  echo "$out/$2_${debian}_$1.deb"
}

# sbom PROGRAM NAME [PACKAGES]: the modules that a program is linked with, and Debian's packages that it comes with, in
# CycloneDX's form: NAME.cdx.json.
sbom() {
  "$tools/cyclonedx-gomod" bin -json -std -noserial -version "$version" -output "$out/$2.cdx.json" "$1"
  python3 scripts/sbom.py "$out/$2.cdx.json" "${@:3}"
  echo "$out/$2.cdx.json"
}

# sboms ARCH: one for each program, and one for the image.
sboms() {
  local program
  for program in headless ros2dds window; do
    [ -e "$work/$1/raybridge-$program" ] || continue
    sbom "$work/$1/raybridge-$program" "raybridge-$program-$name-linux-$1" $([ $program != ros2dds ] || echo "$work/$1/tar/raybridge-$name-linux-$1/lib/raybridge/licences/PACKAGES")
  done
  sbom "$work/$1/raybridge-headless" "raybridge-$name-linux-$1.oci" "$work/$1/image-packages"
}

rm -rf "$out"
mkdir -p "$out" "$tools"
if [ -n "$program" ]; then
  arches=$(go env GOARCH) work=$PWD/.cache/dist-part
  rm -rf "$work"
  mode=755 place "$program" "$work/$arches/raybridge-headless"
  go build -tags nowindow,man -ldflags "-X github.com/raybridge/raybridge.linked=$version" -o "$work/$arches/raybridge-man" ./cmd/raybridge
else
  # Neither a user's settings of Go nor this folder's name may change a program, nor a tool: an SBOM has the sum of the
  # tool that wrote it.
  export GOENV=off GOFLAGS= GOEXPERIMENT= GOAMD64=v1 GOARM64=v8.0
  GOBIN=$tools CGO_ENABLED=0 go -C tools install -trimpath github.com/goreleaser/nfpm/v2/cmd/nfpm github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
  for arch in $arches; do programs "$arch"; done
  compile "$(go env GOARCH)" raybridge-man nowindow,man
fi
native=$work/$(go env GOARCH)/raybridge-headless
says=$("$native" version)
if [ -z "$program" ]; then
  [ "$says" = "raybridge version $version" ] || refuse "the program says '$says', and its packages $version"
  go version -m "$native" | grep -q "vcs.revision=$(git rev-parse HEAD)$" || refuse "Go hasn't noted the commit in the program: run this in a clone, not in a linked work tree"
fi
texts "$native" "$(dirname "$native")/raybridge-man"
for arch in $arches; do
  archive "$arch"
  [ -z "$program" ] || continue
  [ "$arch" != amd64 ] || deb "$arch" raybridge raybridge-window
  deb "$arch" raybridge-headless raybridge-headless
  scripts/wheel.py --version "$wheel" --binary "$work/$arch/raybridge-headless" --out "$out"
  scripts/image.sh "$arch" "$work/$arch/raybridge-headless" "$name" "$out/raybridge-$name-linux-$arch.oci.tar" "$work/$arch/image-packages"
  sboms "$arch"
done
[ -n "$program" ] || scripts/wheel.py --version "$wheel" --out "$out"
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "$says: $(ls "$out" | wc -l) files, $(du -sh "$out" | cut -f1), in $out"
