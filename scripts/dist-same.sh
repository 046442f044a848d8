#!/usr/bin/env bash
# dist-same.sh [OUT]: makes a release's files in two clones of this commit, for users with other settings, and fails
# where they differ. Of images it
# compares the program's own layer; Debian's packages below it are those of the day. The files are left in out/dist
# or OUT.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../out/dist}")
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || { echo "dist-same.sh: the checkout has changes that are not committed, which clones would lack" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for clone in first another-user/second; do
  [ "$clone" = first ] || umask 077
  git clone -q . "$work/$clone"
  mkdir -p "$work/$clone/.cache" .cache/debian
  ln -s "$PWD/.cache/debian" "$work/$clone/.cache/debian" # what has been fetched
  settings=()
  [ "$clone" = first ] || settings=(LC_ALL=C.UTF-8 TZ=Asia/Tokyo GOCACHE="$work/cache" GOAMD64=v2)
  (cd "$work/$clone" && env "${settings[@]}" scripts/dist.sh "$work/$(basename "$clone").dist")
done

# own FILE: the digest of an image's topmost layer.
own() {
  python3 - "$1" <<'PY'
import json, sys, tarfile
with tarfile.open(sys.argv[1]) as image:
    read = lambda name: json.load(image.extractfile(name))
    manifest = read("blobs/sha256/" + read("index.json")["manifests"][0]["digest"].split(":")[1])
print(manifest["layers"][-1]["digest"])
PY
}

[ "$(ls "$work/first.dist")" = "$(ls "$work/second.dist")" ] || { echo "dist-same.sh: the clones made other files" >&2; exit 1; }
differ=""
for first in "$work"/first.dist/*; do
  second=$work/second.dist/$(basename "$first")
  case $first in
    *.oci.tar) [ "$(own "$first")" = "$(own "$second")" ] ;;
    */SHA256SUMS) [ "$(grep -v '\.oci\.tar$' "$first")" = "$(grep -v '\.oci\.tar$' "$second")" ] ;;
    *) cmp -s "$first" "$second" ;;
  esac || differ+=" $(basename "$first")"
done
[ -z "$differ" ] || { echo "dist-same.sh: not the same bytes in two clones:$differ" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$work/first.dist" "$out"
echo "dist-same.sh: $(ls "$out" | wc -l) files are the same in two clones"
