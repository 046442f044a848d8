#!/usr/bin/env bash
# peers.sh: installs the software that nobody here wrote and that the bridges, worlds and lenses are
# tested against: Cyclone DDS and Fast DDS, ROS 1's master and tools, SUMO, Python's protobuf,
# BSON, CBOR and JSON modules, PyTorch, Pillow and OpenCV, PCL, and the npm packages of scripts/peers/package-lock.json (into
# .cache/peers). Prometheus and Slurm are unpacked there: installed, their services would run. So are
# PCL's headers: their package brings 400 others. The second time it installs nothing and needs no network. Debian 12, as
# root or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

apt="g++ cyclonedds-dev cyclonedds-tools libfastrtps-dev fastddsgen
 python3-rosmaster python3-rostopic python3-rosservice python3-rosbag python3-rosnode
 python3-sensor-msgs python3-rosgraph-msgs python3-geometry-msgs python3-nav-msgs python3-tf2-msgs python3-std-srvs
 python3-protobuf protobuf-compiler python3-bson python3-cbor2 python3-ujson python3-simplejson
 python3-torch python3-pil python3-opencv
 sumo
 libpcl-io1.13 libeigen3-dev libboost-dev
 libdbus-1-3 libhwloc15 libjson-c5 libnuma1 libyaml-0-2" # the last line is what Slurm is linked with
command -v node >/dev/null || apt+=" nodejs"
command -v npm >/dev/null || apt+=" npm"
least_node=18 # Debian 12's, and what the npm packages are tested with

# explain says why nothing was installed, and what to type.
explain() {
  {
    echo "the tests with real peers need software that is not installed, and $1."
    echo "On Debian 12 (a container of it will do) install it, then run 'make test-peers' again:"
    echo "  apt-get install -y --no-install-recommends $2"
    echo "'make test' runs all other tests and needs none of it."
  } >&2
  exit 2
}

installed=$(dpkg-query -W -f '${Package} ${Status}\n' 2>/dev/null | sed -n 's/ install ok installed$//p' || true)
missing=""
for package in $apt; do
  grep -qxF "$package" <<<"$installed" || missing+=" $package"
done
missing=${missing# }
if [ -n "$missing" ]; then
  command -v apt-get >/dev/null || explain "this is not Debian" "$missing"
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || explain "installing it needs root or sudo" "$missing"
    # A person at a terminal can be asked for the password, a script can't.
    [ -t 0 ] || sudo -n true 2>/dev/null || explain "installing it needs root or sudo" "$missing"
    as_root="sudo"
  fi
  echo "installing peers (2 GB on a bare system; takes minutes): $missing"
  # shellcheck disable=SC2086 # the list is meant to be split
  {
    $as_root apt-get update -qq &&
      $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  } || explain "apt-get has failed to install it" "$missing"
fi

version=$(node --version) # v18.20.4
version=${version#v}
if [ "${version%%.*}" -lt "$least_node" ]; then
  echo "the tests with real peers need Node $least_node or later, and $(command -v node) is $version: install Debian's nodejs or a later one." >&2
  exit 2
fi

# A folder that npm has filled to the end says what with.
stamp=.cache/peers/node_modules/.installed
wanted=$(cat scripts/peers/package.json scripts/peers/package-lock.json)
if [ ! -e "$stamp" ] || [ "$wanted" != "$(cat "$stamp")" ]; then
  echo "installing peers from npm into .cache/peers"
  mkdir -p .cache/peers
  cp scripts/peers/package.json scripts/peers/package-lock.json .cache/peers/
  (cd .cache/peers && npm ci --ignore-scripts --engine-strict=false --no-audit --no-fund --loglevel=error \
    --fetch-retry-mintimeout=2000 --fetch-retry-maxtimeout=8000) || {
    echo "npm could not install the packages of scripts/peers/package-lock.json; run 'make setup-peers' again when its registry can be reached." >&2
    exit 2
  }
  echo "$wanted" >"$stamp"
fi

# unpack FOLDER FILE PACKAGE...: unpacks Debian's packages into .cache/peers/FOLDER, unless FILE is there.
unpack() {
  local folder=$1 to=.cache/peers/$1 file=$2 unpacked deb
  shift 2
  [ ! -e "$to/$file" ] || return 0
  echo "unpacking Debian's $* into .cache/peers"
  unpacked=$(mktemp -d)
  if ! (cd "$unpacked" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq "$@"); then
    rm -rf "$unpacked"
    echo "Debian's $* could not be downloaded: run apt-get update, and 'make setup-peers' again." >&2
    exit 2
  fi
  mkdir -p "$unpacked/$folder" .cache/peers
  for deb in "$unpacked"/*.deb; do
    dpkg -x "$deb" "$unpacked/$folder"
  done
  rm -rf "$to"
  mv "$unpacked/$folder" "$to"
  rm -rf "$unpacked"
}

unpack prometheus usr/bin/promtool prometheus
unpack pcl usr/include/pcl-1.13/pcl/io/vlp_grabber.h libpcl-dev
unpack slurm usr/sbin/slurmd-wlm slurmctld slurmd slurm-client slurm-wlm-basic-plugins
