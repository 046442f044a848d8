#!/usr/bin/env bash
# unchanged.sh COMMAND...: runs COMMAND and fails if it changed the work tree, which
# need not be committed.
set -euo pipefail
state() { git status --porcelain && git diff | cksum; }
before=$(state)
"$@"
after=$(state)
[ "$before" = "$after" ] || {
  echo "unchanged.sh: '$*' changed the tree:" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  exit 1
}
