#!/usr/bin/env bash
# with-display.sh COMMAND...: runs COMMAND with a display: the one there is, or a
# virtual one that ends with the command.
set -euo pipefail
if [ -n "${DISPLAY:-}" ] || ! command -v Xvfb >/dev/null; then exec "$@"; fi
# Xvfb picks a free number and writes it once it takes connections.
exec 3< <(exec Xvfb -displayfd 1 -screen 0 1600x1000x24 -nolisten tcp 2>/dev/null)
server=$!
trap 'kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true' EXIT
read -r -t 30 -u 3 number || { echo "with-display.sh: Xvfb did not start" >&2; exit 1; }
DISPLAY=":$number" "$@"
