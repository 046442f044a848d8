#!/usr/bin/env bash
# steps.sh NAME=COMMAND...: runs each command line in turn and ends at the first that
# fails. It prints the seconds of each at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
table="" status=0
for step in "$@"; do
  name=${step%%=*}
  echo "== $name"
  from=$SECONDS
  bash -c "${step#*=}" || status=$?
  result=""
  [ "$status" = 0 ] || result=" failed, exit $status"
  table+=$(printf '%7d s  %s' $((SECONDS - from)) "$name$result")$'\n'
  [ "$status" = 0 ] || break
done
printf '\n%s%7d s  in all\n' "$table" "$SECONDS"
exit "$status"
