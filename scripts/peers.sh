#!/usr/bin/env bash
# peers.sh: installs the software that nobody here wrote and that the bridges are tested
# against: Cyclone DDS and Fast DDS, ROS 1's master and tools, Python's protobuf and BSON,
# and the npm packages of scripts/peers/package.json (into .cache/peers). The second
# time it installs nothing. Debian 12 and its like, as root or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

apt="g++ cyclonedds-dev cyclonedds-tools libfastrtps-dev fastddsgen
 python3-rosmaster python3-rostopic python3-rosservice python3-rosbag python3-rosnode
 python3-sensor-msgs python3-rosgraph-msgs python3-geometry-msgs python3-nav-msgs python3-tf2-msgs python3-std-srvs
 python3-protobuf protobuf-compiler python3-bson python3-cbor2"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then apt+=" nodejs npm"; fi

missing=""
for package in $apt; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=" $package"
done
if [ -n "$missing" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "the tests with real peers need Debian's packages:$missing" >&2
    exit 2
  fi
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  echo "installing peers:$missing"
  # shellcheck disable=SC2086 # the list is meant to be split
  {
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  }
fi

mkdir -p .cache/peers
if ! cmp -s scripts/peers/package.json .cache/peers/installed.json; then
  cp scripts/peers/package.json .cache/peers/package.json
  (cd .cache/peers && npm install --no-audit --no-fund --loglevel=error)
  cp scripts/peers/package.json .cache/peers/installed.json
fi
