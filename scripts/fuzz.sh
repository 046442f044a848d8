#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME each.
set -euo pipefail
duration=${1:-5s}
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r package; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$package"/*_test.go | awk '{print $2}' | sort -u | while read -r target; do
    echo "fuzz $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" "$package"
  done
done
