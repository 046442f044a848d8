#!/usr/bin/env bash
# dist-proof.sh [DIST]: proves what scripts/dist.sh made in out/dist or DIST, as users meet it: on bare trees of
# Debian 12 and 13 the debs install, record, replace each other, upgrade, purge without a trace and open a window; the
# wheel works with Debian's own Pythons and numpys; and the image runs read-only, for any user, with little memory.
#
# It needs root, for chroots, and mmdebstrap. The trees are kept in .cache/debian.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-out/dist}")
cache=$PWD/.cache/debian
work=$(mktemp -d)
mounted=() server=""
finish() { [ -z "$server" ] || kill "$server"; for m in "${mounted[@]}"; do umount -l "$m" || true; done; rm -rf --one-file-system "$work"; }
trap finish EXIT

step() { echo "-- $*"; }
fail() { echo "dist-proof.sh: $*" >&2; exit 1; }

# tree SUITE: a bare Debian at $root, with Python and numpy beside apt.
tree() {
  local archive=$cache/$1.tar mirror
  if [ ! -e "$archive" ]; then
    mkdir -p "$cache"
    mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -1 || true)
    mmdebstrap --quiet --format=tar --variant=minbase --include=python3,python3-numpy,python3-venv "$1" "$archive.part" ${mirror:+"$mirror"}
    mv "$archive.part" "$archive"
  fi
  root=$work/$1
  mkdir -p "$root"
  tar -C "$root" -xf "$archive" --exclude='./dev/*'
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/dev" "$root/proc"
  mount -t proc proc "$root/proc"; mounted=("$root/proc" "${mounted[@]}")
  mknod -m 666 "$root/dev/null" c 1 3; mknod -m 666 "$root/dev/zero" c 1 5; mknod -m 666 "$root/dev/urandom" c 1 9; mknod -m 666 "$root/dev/random" c 1 8
}

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/tmp/home "$@"; }
install_deb() { inside apt-get install -qq -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" >&2; fail "apt-get can't install $*"; }; }
# files: what is there, without what apt and dpkg themselves keep.
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune -o -print | sort); }

# older DEB: the same package, as of a version before.
older() {
  rm -rf "$work/older" && dpkg-deb -R "$1" "$work/older"
  sed -i 's/^Version: .*/Version: 0.0.1/' "$work/older/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone -b "$work/older" "$root/tmp/older.deb" >/dev/null
}

debs() {
  local headless=$1 windowed=$2
  cp "$headless" "$root/tmp/headless.deb"; cp "$windowed" "$root/tmp/windowed.deb"
  inside apt-get -qq update
  files >"$work/before"
  step "$suite: the headless package records"
  install_deb /tmp/headless.deb
  inside raybridge demo --duration 1s --out /tmp/demo >/dev/null 2>&1
  inside python3 -c 'import os; assert os.path.getsize("/tmp/demo/recording/recording_0.mcap") > 1e6'
  [[ $(inside raybridge-ros2dds bridges list) == *ros2dds:* ]] || fail "raybridge-ros2dds lists no ros2dds"
  ros2dds
  step "$suite: without libEGL --gpu software says what to install"
  set +e
  inside raybridge run --gpu software --duration 1s --bridge mcap:x.mcap --out /tmp/none >"$work/out" 2>&1
  [ $? = 3 ] && grep -q libegl1 "$work/out" || { cat "$work/out" >&2; fail "it must exit with 3 and name libegl1"; }
  set -e
  step "$suite: the windowed package takes its place"
  install_deb /tmp/windowed.deb
  inside raybridge demo --duration 1s --out /tmp/demo >/dev/null 2>&1
  [[ $(inside dpkg -s raybridge-headless 2>&1 || true) != *"install ok installed"* ]] || fail "both packages are installed"
  older "$headless"
  step "$suite: an upgrade"
  inside apt-get -qq -y purge raybridge >/dev/null 2>&1
  install_deb /tmp/older.deb
  install_deb /tmp/headless.deb
  inside raybridge version
  step "$suite: a purge leaves nothing"
  inside apt-get -qq -y purge raybridge-headless >/dev/null 2>&1
  inside apt-get -qq -y autoremove --purge >/dev/null 2>&1
  files >"$work/after"
  diff "$work/before" "$work/after" || fail "these files are left, or gone"
  window
}

# window: with what apt recommends for it, the package draws by Mesa's software OpenGL, and its window is on a display.
window() {
  local number shown=""
  step "$suite: a window"
  install_deb /tmp/windowed.deb libegl1 libgl1-mesa-dri xvfb x11-utils
  exec 3< <(exec chroot "$root" Xvfb -displayfd 1 -screen 0 1600x1000x24 -nolisten tcp 2>/dev/null)
  server=$!
  read -r -t 30 -u 3 number || fail "Xvfb did not start"
  inside env DISPLAY=":$number" raybridge run --gpu software --window --duration 2s --quiet >"$work/out" 2>&1 &
  while kill -0 $! 2>/dev/null; do
    [[ $(inside xwininfo -root -tree -display ":$number" 2>&1 || true) != *'"raybridge'*1280x* ]] || shown=yes
    sleep 0.2
  done
  wait $! && [ -n "$shown" ] || { cat "$work/out" >&2; fail "no window has opened"; }
  kill "$server"
  server=""
}

# ros2dds: a node joins a domain on the loopback interface, with the libraries that the package carries and no others of
# their names.
ros2dds() {
  step "$suite: a node of ROS 2"
  inside bash -c 'mkdir /tmp/decoys; for lib in /usr/lib/raybridge/*.so*; do echo decoy >/tmp/decoys/${lib##*/}; done'
  inside env ROS_LOCALHOST_ONLY=1 LD_LIBRARY_PATH=/tmp/decoys raybridge-ros2dds run --realtime --duration 1s --bridge ros2dds:77 --quiet
}

wheel() {
  step "$suite: the wheel, with $(inside python3 -c 'import sys, numpy; print("Python", sys.version.split()[0], "and numpy", numpy.__version__)')"
  cp "$1" "$root/tmp/"
  inside python3 -m venv --system-site-packages /tmp/venv
  inside /tmp/venv/bin/pip install -q --no-index --no-deps "/tmp/$(basename "$1")"
  cp docs/python.md "$root/tmp/page.md"
  inside /tmp/venv/bin/python -c '
import re
exec(re.search("(?s)```python\n(import raybridge as rb\n.*?)```", open("/tmp/page.md").read())[1])'
}

# image FILE: its root, read-only, for a user who has no name, no home and no /dev/shm, on one core.
image() {
  local top=$work/image
  step "image: one core, read-only, another user"
  mkdir -p "$top/root" "$top/files"
  tar -C "$top/files" -xf "$1"
  python3 - "$top/files" >"$top/layers" <<'PY'
import json, os, sys
blob = lambda digest: sys.argv[1] + "/blobs/sha256/" + digest.split(":")[1]
manifest = json.load(open(blob(json.load(open(sys.argv[1] + "/index.json"))["manifests"][0]["digest"])))
os.symlink(blob(manifest["config"]["digest"]), sys.argv[1] + "/config.json")
print(*(blob(layer["digest"]) for layer in manifest["layers"]), sep="\n")
PY
  while read -r layer; do tar -C "$top/root" -xzf "$layer"; done <"$top/layers"
  echo "image: $(du -sh --apparent-size "$top/root" | cut -f1) unpacked, $(du -h "$1" | cut -f1) packed"
  mount --bind "$top/root" "$top/root"; mounted=("$top/root" "${mounted[@]}")
  mount -o remount,ro,bind "$top/root"
  for folder in out tmp; do mount -t tmpfs -o mode=1777 tmpfs "$top/root/$folder"; mounted=("$top/root/$folder" "${mounted[@]}"); done
  mount -t proc proc "$top/root/proc"; mounted=("$top/root/proc" "${mounted[@]}")
  python3 - "$top/root" "$top/files/config.json" <<'PY'
import json, os, resource, signal, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def enter():
    os.chroot(sys.argv[1]); os.chdir("/out"); os.setgroups([]); os.setgid(54321); os.setuid(54321)
subprocess.run(["/usr/local/bin/raybridge", "run", "--duration", "1s", "--bridge", "mcap:drive.mcap", "--out", "/out", "--quiet"],
               preexec_fn=enter, env={"PATH": "/usr/local/bin"}, check=True)
config = json.load(open(sys.argv[2]))["config"]
default = subprocess.Popen(config["Entrypoint"] + config["Cmd"], preexec_fn=enter, env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
healthy = False
for _ in range(600):
    if default.poll() is not None:
        sys.exit("dist-proof.sh: the image's command line has ended by itself")
    if subprocess.run(config["Healthcheck"]["Test"][1:], preexec_fn=enter, env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        healthy = True
        break
    time.sleep(0.1)
default.send_signal(signal.SIGINT)
if default.wait() != 0 or not healthy:
    sys.exit("dist-proof.sh: the image's command line isn't healthy within a minute")
print("image: its command line runs, and is healthy")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
size = os.path.getsize(sys.argv[1] + "/out/drive.mcap")
print(f"image: recorded {size / 1e6:.1f} MB, peak memory {peak:.0f} MB")
if peak > 450 or size < 1e6:
    sys.exit("dist-proof.sh: the image must record, with at most 450 MB")
PY
}

step "lintian"
# nfpm writes the field License, which Debian's packages don't have.
lintian --fail-on error,warning --suppress-tags unknown-field "$dist"/*.deb 2>"$work/lintian" || { cat "$work/lintian" >&2; fail "lintian finds faults"; }
step "each program has its SBOM"
for program in raybridge=headless raybridge-ros2dds=ros2dds raybridge-window=window; do
  sum=$(tar -xOf "$(ls "$dist"/raybridge-*-linux-amd64.tar.gz)" --wildcards "*/bin/${program%=*}" | sha256sum | cut -d' ' -f1)
  grep -q "$sum" "$dist"/raybridge-"${program#*=}"-*-linux-amd64.cdx.json || fail "${program%=*} of the tar.gz is not the program of its SBOM"
done
for suite in ${SUITES:-bookworm trixie}; do
  tree "$suite"
  debs "$(ls "$dist"/raybridge-headless_*_amd64.deb)" "$(ls "$dist"/raybridge_*_amd64.deb)"
  wheel "$(ls "$dist"/raybridge-*_x86_64.whl)"
done
image "$(ls "$dist"/raybridge-*-linux-amd64.oci.tar)"
step "all good"
