#!/usr/bin/env bash
# golden.sh BASE: compares what the program of the commit BASE and that of the work tree
# write, byte by byte, and fails where they differ. Sensors of a type that one of them lacks are left out. Both run on this machine, because the
# pixels of software OpenGL follow the processor. golden.py says what is compared.
# Software OpenGL and Python 3 must be installed: make setup-test.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "usage: scripts/golden.sh BASE" >&2; exit 2; }
repo=$PWD work=$(mktemp -d)
trap 'git -C "$repo" worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$1"
# Without the commit in the binary, which recordings name as their writer.
(cd "$work/tree" && go build -buildvcs=false -o "$work/base" ./cmd/raybridge)
go build -buildvcs=false -o "$work/new" ./cmd/raybridge
for side in base new; do
  other=new
  [ $side = base ] || other=base
  echo "== $side"
  python3 scripts/golden.py "$work/$side" "$work/$other" "$work/out/$side"
done
cd "$work/out"
diff -rq base new || { echo "golden.sh: what the two programs write differs" >&2; exit 1; }
echo "golden.sh: $(find new -type f | wc -l) files are equal, $(du -sh new | cut -f1)"
