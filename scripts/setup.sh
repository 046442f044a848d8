#!/usr/bin/env bash
# setup.sh build|headless|ros2dds|test...: installs the system packages that raybridge
# needs to be built (with a window, or headless without one; with ROS 2's DDS) and
# tested, if they are missing. Debian and Ubuntu only, as root or with sudo; elsewhere it names the
# packages and what to run then.
set -euo pipefail

headless_apt="gcc libc6-dev pkg-config libegl-dev libegl1 libgl1-mesa-dri"
headless_dnf="gcc glibc-devel pkgconf-pkg-config mesa-libEGL-devel mesa-dri-drivers"
headless_pacman="gcc pkgconf libglvnd mesa"
window_apt="libgl-dev libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev"
window_dnf="mesa-libGL-devel libX11-devel libXcursor-devel libXrandr-devel libXinerama-devel libXi-devel libXxf86vm-devel"
window_pacman="libx11 libxcursor libxrandr libxinerama libxi libxxf86vm"
ros2dds_apt="cyclonedds-dev"
ros2dds_dnf="cyclonedds-devel"
ros2dds_pacman="cyclonedds"
test_apt="xvfb libgl1"
test_dnf="xorg-x11-server-Xvfb mesa-libGL"
test_pacman="xorg-server-xvfb"

apt="" dnf="" pacman="" headers="" programs="gcc pkg-config" again="make demo"
need() { apt+=" $1" dnf+=" $2" pacman+=" $3"; }
for set in "$@"; do
  case "$set" in
    build)
      need "$headless_apt $window_apt" "$headless_dnf $window_dnf" "$headless_pacman $window_pacman"
      headers+=" egl gl x11 xcursor xrandr xinerama xi xxf86vm" ;;
    headless)
      need "$headless_apt" "$headless_dnf" "$headless_pacman"
      headers+=" egl" again="make demo WINDOW=0" ;;
    ros2dds)
      need "$ros2dds_apt" "$ros2dds_dnf" "$ros2dds_pacman"
      headers+=" CycloneDDS" again="make build-ros2dds" ;;
    test)
      need "$test_apt" "$test_dnf" "$test_pacman"
      programs+=" Xvfb" again="make test" ;;
    *) echo "setup.sh: unknown set $set, known are build, headless, ros2dds and test" >&2; exit 2 ;;
  esac
done

if ! command -v go >/dev/null; then
  echo "raybridge is written in Go and finds none: install Go 1.26 or later from https://go.dev/dl/, then run '$again' again." >&2
  exit 2
fi

# driver tells whether something is there to draw with: Mesa's software OpenGL, or
# a vendor's EGL.
driver() {
  local file
  for file in {/usr,}/lib{,64,/*}/{dri/swrast_dri.so,libgallium*.so,libEGL_nvidia.so*}; do
    if [ -e "$file" ]; then return 0; fi
  done
  return 1
}

# satisfied tells by what is there, not by who installed it.
satisfied() {
  local program
  for program in $programs; do command -v "$program" >/dev/null || return 1; done
  gcc -E -include stdlib.h -x c /dev/null >/dev/null 2>&1 || return 1
  # shellcheck disable=SC2086 # the list is meant to be split
  pkg-config --exists $headers && driver
}

if satisfied; then exit 0; fi

explain() {
  {
    echo "raybridge needs system packages that are not installed, and $1."
    echo "Install them, then run '$again' again:"
    echo "  Debian, Ubuntu:  apt-get install -y$apt"
    echo "  Fedora:          dnf install -y$dnf"
    echo "  Arch:            pacman -S --needed$pacman"
    case "$headers" in *x11*) echo "Without a window fewer are needed: 'make demo WINDOW=0' says which." ;; esac
  } >&2
  exit 2
}

command -v apt-get >/dev/null || explain "this is neither Debian nor Ubuntu"
as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || explain "installing them needs root or sudo"
  # A person at a terminal can be asked for the password, a script can't.
  [ -t 0 ] || sudo -n true 2>/dev/null || explain "installing them needs root or sudo"
  as_root="sudo"
fi
echo "installing system packages:$apt"
# shellcheck disable=SC2086 # both lists are meant to be split
{
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $apt >/dev/null
}
satisfied || explain "installing them did not help"
