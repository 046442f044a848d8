#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME each.
set -euo pipefail
duration=${1:-5s}
cd "$(dirname "$0")/.."
mapfile -t targets < <(grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | sed -E 's|/[^/]*:func | |' | sort -u)
[ "${#targets[@]}" -gt 0 ] || { echo "fuzz.sh: found no fuzz target" >&2; exit 1; }
for target in "${targets[@]}"; do
  read -r package name <<<"$target"
  echo "fuzz $package $name"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$duration" "$package" </dev/null
done
