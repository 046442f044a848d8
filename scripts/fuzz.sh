#!/usr/bin/env bash
# fuzz.sh FUZZTIME: runs every fuzz target of the module, each for so many inputs
# (30000x) or so long (10m). Decoders need no cgo, and the fuzzer would compile the
# kernels once more.
set -euo pipefail
fuzztime=${1:-30000x}
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(go env GOCACHE)/fuzz
mapfile -t packages < <(grep -rlE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' --exclude-dir={bin,out,.cache} . | xargs -n1 dirname | sort -u)
[ "${#packages[@]}" -gt 0 ] || { echo "fuzz.sh: found no fuzz target" >&2; exit 1; }
for package in "${packages[@]}"; do
  go test -c -fuzz=. -o "$work/fuzz.test" "$package"
  cache=$found/$(go list "$package")
  mkdir -p "$cache"
  for name in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$package"/*_test.go | sed 's/^func //'); do
    echo "fuzz $package $name"
    (cd "$package" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$fuzztime" -test.fuzzcachedir "$cache" </dev/null)
  done
done
