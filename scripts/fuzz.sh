#!/usr/bin/env bash
# fuzz.sh FUZZTIME: runs every fuzz target of the module, each for so many inputs
# (30000x) or so long (10m).
set -euo pipefail
fuzztime=${1:-30000x}
cd "$(dirname "$0")/.."
mapfile -t targets < <(grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' --exclude-dir={bin,out,.cache} . | sed -E 's|/[^/]*:func | |' | sort -u)
[ "${#targets[@]}" -gt 0 ] || { echo "fuzz.sh: found no fuzz target" >&2; exit 1; }
for target in "${targets[@]}"; do
  read -r package name <<<"$target"
  echo "fuzz $package $name"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" "$package" </dev/null
done
