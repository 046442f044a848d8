#!/usr/bin/env bash
# pack.sh DIR NAME FILE.tar.gz: packs DIR/NAME. Equal files with equal modes give equal bytes: names are sorted,
# root owns all, and the time of all is SOURCE_DATE_EPOCH.
set -euo pipefail
mkdir -p "$(dirname "$3")"
LC_ALL=C tar --directory "$1" --sort=name --mtime="@${SOURCE_DATE_EPOCH:?}" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$2" | gzip -9n >"$3"
echo "$3"
