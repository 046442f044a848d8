#!/usr/bin/env bash
# image.sh ARCH PROGRAM VERSION FILE.oci.tar PACKAGES: makes an OCI image with a program built without windows, for
# linux ARCH, and writes Debian's packages in it to PACKAGES. No daemon and no privilege is needed, and nothing of it
# runs.
#
# The layer below has Debian's libc and libegl1 with what they depend on, as they are today; the layer above has
# the program, LICENSE and NOTICE, and is the same for one commit.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$1 program=$2 version=$3 file=$4 packages=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scripts/debian-tree.sh "$arch" "$work/base/root" libc6 libegl1 base-files
# Documents, translations and character sets that nothing reads go; licences stay.
find "$work/base/root/usr/share" -mindepth 1 -maxdepth 1 ! -name doc ! -name glvnd ! -name drirc.d ! -name common-licenses -exec rm -rf {} +
rm -rf "$work"/base/root/usr/lib/*/gconv
find "$work/base/root/usr/share/doc" -type f ! -name copyright -delete
mkdir -p "$work/base/root"/{etc,tmp,proc,sys,dev} "$work/own/root/usr/local/bin" "$work/own/root/usr/share/doc/raybridge" "$work/own/root/out"
cp "$work/base/root/PACKAGES" "$packages"
mv "$work/base/root/PACKAGES" "$work/base/root/etc/packages"
printf 'root:x:0:0:root:/root:/usr/sbin/nologin\nraybridge:x:65532:65532:raybridge:/out:/usr/sbin/nologin\n' >"$work/base/root/etc/passwd"
printf 'root:x:0:\nraybridge:x:65532:\n' >"$work/base/root/etc/group"
install -m 755 "$program" "$work/own/root/usr/local/bin/raybridge"
install -m 644 LICENSE NOTICE "$work/own/root/usr/share/doc/raybridge/"
# Any user may write recordings, also one that an orchestrator chooses.
chmod 1777 "$work/base/root/tmp" "$work/own/root/out"
python3 scripts/image.py "$arch" "$version" "$(git rev-parse HEAD)" "$work/base/root" "$work/own/root" "$file"
