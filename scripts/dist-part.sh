#!/usr/bin/env bash
# dist-part.sh PROGRAM: packs a program that was built without a window, twice and from files of other times, and
# fails where the packages differ, or what is unpacked doesn't work. Besides it tries that no release is compiled by a Go
# that wasn't asked for.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1") part=out/dist-part
rm -rf $part
PROGRAM=$program scripts/dist.sh $part/first
cp "$program" $part/program # of another time
PROGRAM=$part/program scripts/dist.sh $part/second
diff -r $part/first $part/second
(cd $part/first && sha256sum --quiet --check SHA256SUMS)
mkdir $part/tar
tar -xf $part/first/*.tar.gz -C $part/tar --strip-components 1
[ "$($part/tar/bin/raybridge version)" = "$("$program" version)" ]
zcat $part/tar/share/man/man1/raybridge-run.1.gz | grep -q -- --bridge
grep -q __start_raybridge $part/tar/share/bash-completion/completions/raybridge
[ -e $part/tar/action.yml ] && [ -e $part/tar/NOTICE ]
mkdir -p $part/other/scripts $part/other/packaging
cp scripts/dist.sh $part/other/scripts
echo 1.26.999 >$part/other/packaging/go-version
[[ $(GOPROXY=off $part/other/scripts/dist.sh 2>&1) == *"compiled with go1.26.999 alone"* ]]
rm -rf $part
