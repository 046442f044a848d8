#!/usr/bin/env bash
# with-display.sh COMMAND...: runs COMMAND with a display: the one there is, or a
# virtual one that ends with the command.
set -euo pipefail
if [ -n "${DISPLAY:-}" ] || ! command -v Xvfb >/dev/null; then exec "$@"; fi
ready=$(mktemp)
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp 3>"$ready" >/dev/null 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true; rm -f "$ready"' EXIT
for _ in $(seq 100); do [ -s "$ready" ] && break; sleep 0.1; done
[ -s "$ready" ] || { echo "with-display.sh: Xvfb did not start" >&2; exit 1; }
DISPLAY=":$(cat "$ready")" "$@"
