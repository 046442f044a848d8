#!/usr/bin/env bash
# test-peers.sh: runs the tests that meet software of others, and those that need
# Cyclone DDS, with the race detector. The packages of a group share the builds of one
# call. Those that speak DDS run alone: DDS finds every peer of the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
tags=peers,ros2dds
mapfile -t files < <(grep -rlE '^//go:build .*\bpeers\b' --include='*_test.go' bridges cmd sensors world | sort)
[ "${#files[@]}" -gt 0 ] || { echo "test-peers.sh: found no test with the build tag peers" >&2; exit 1; }
mapfile -t packages < <(printf '%s\n' "${files[@]}" | xargs -n1 dirname | sort -u | grep -v '^bridges/ros2dds$' | sed 's|^|./|')
# `make test` runs the other tests of these packages.
names=$(grep -hoE '^func Test[A-Za-z0-9_]+' "${files[@]}" | sed 's/^func //' | sort -u | paste -sd'|')
status=0
go test -race -count=1 -timeout 20m -tags "$tags" -run "^($names)\$" "${packages[@]}" || status=$?
go test -race -count=1 -p 1 -timeout 20m -tags "$tags" ./bridges/ros2dds/... || status=$?
exit "$status"
