#!/usr/bin/env bash
# arm64-proof.sh [DIST]: runs arm64's program of a release (out/dist or DIST) on an emulated machine, in the city with
# a small camera and a small lidar, and holds its recording against that of amd64's program: the same topics, as many
# messages of each. Bytes are equal within one architecture alone, since Go's compiler rounds x*y+z once on arm64 and
# twice on amd64; the first message that differs is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-out/dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arch in amd64 arm64; do
  mkdir "$work/$arch"
  tar -xf "$dist"/raybridge-*-linux-$arch.tar.gz -C "$work/$arch" --strip-components 1
done
scripts/debian-tree.sh arm64 "$work/root" libc6
cat >"$work/rig.yaml" <<'YAML'
sensors:
  - {id: sensor.camera.rgb, name: front, image_size_x: 64, image_size_y: 48, rate: 10, pose: {x: 1.5, z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: lidar, channels: 8, points_per_second: 7200, rotation_frequency: 10, range: 60, pose: {z: 1.8}}
YAML
arguments=(run --rig "$work/rig.yaml" --gpu host --duration 500ms --quiet --out "$work")
"$work/amd64/bin/raybridge" "${arguments[@]}" --bridge mcap:amd64.mcap
qemu-aarch64 -L "$work/root" "$work/arm64/bin/raybridge" "${arguments[@]}" --bridge mcap:arm64.mcap
rc=0
"$work/amd64/bin/raybridge" mcap diff "$work/amd64.mcap" "$work/arm64.mcap" >"$work/diff" 2>/dev/null || rc=$?
cat "$work/diff"
[ "$rc" -le 1 ] || { echo "arm64-proof.sh: the recordings can't be read" >&2; exit 1; }
awk '$1 ~ "^/" {n++; if ($3 != $4 || $3 == 0) bad = bad " " $1} END {if (n < 6 || bad) {print "arm64-proof.sh: not as many messages:" bad > "/dev/stderr"; exit 1}}' "$work/diff"
echo "arm64-proof.sh: both have as many messages of each topic"
