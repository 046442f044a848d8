#!/usr/bin/env bash
# version.sh: prints the version of the checkout, which programs say and packages are called by. A commit with a tag
# has the tag's. Others are builds before the next release, in the order of their time: v0.2.0-dev.TIME.COMMIT, with
# +dirty where something isn't committed.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! version=$(git describe --tags --exact-match --match 'v*' 2>/dev/null); then
  number=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/raybridge/__init__.py)
  version=v$number-dev.$(TZ=UTC git show -s --format=%cd --date=format-local:%Y%m%d%H%M%S HEAD).$(git rev-parse --short=12 HEAD)
fi
changes=$(git status --porcelain)
echo "$version${changes:++dirty}"
