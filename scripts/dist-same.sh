#!/usr/bin/env bash
# dist-same.sh [OUT]: makes a release's files in two clones of this commit and fails where they differ. Of images it
# compares the program's own layer; Debian's packages below it are those of the day. The files are left in out/dist
# or OUT.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-out/dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for clone in first second; do
  git clone -q . "$work/$clone"
  mkdir -p "$work/$clone/.cache" .cache/debian
  ln -s "$PWD/.cache/debian" "$work/$clone/.cache/debian" # what has been fetched
  (cd "$work/$clone" && scripts/dist.sh "$work/$clone.dist")
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
