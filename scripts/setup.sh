#!/usr/bin/env bash
# setup.sh build|test...: installs the system packages that raybridge needs to be
# built and tested, if they are missing. Debian and Ubuntu only, as root or with
# sudo; elsewhere it names the packages and what to run then.
set -euo pipefail

build_apt="gcc pkg-config libegl-dev libgl-dev libegl1 libgl1-mesa-dri libx11-dev libxcursor-dev libxrandr-dev libxinerama-dev libxi-dev libxxf86vm-dev"
build_dnf="gcc pkgconf-pkg-config mesa-libEGL-devel mesa-libGL-devel mesa-dri-drivers libX11-devel libXcursor-devel libXrandr-devel libXinerama-devel libXi-devel libXxf86vm-devel"
build_pacman="gcc pkgconf mesa libglvnd libx11 libxcursor libxrandr libxinerama libxi libxxf86vm"
test_apt="xvfb libgl1"
test_dnf="xorg-x11-server-Xvfb mesa-libGL"
test_pacman="xorg-server-xvfb"

apt="" dnf="" pacman="" target=demo
for set in "$@"; do
  case "$set" in
    build) apt+=" $build_apt"; dnf+=" $build_dnf"; pacman+=" $build_pacman" ;;
    test) apt+=" $test_apt"; dnf+=" $test_dnf"; pacman+=" $test_pacman"; target=test ;;
    *) echo "setup.sh: unknown set $set, known are build and test" >&2; exit 2 ;;
  esac
done

# satisfied tells by what is there, not by who installed it.
satisfied() {
  command -v gcc >/dev/null && command -v pkg-config >/dev/null || return 1
  pkg-config --exists egl gl x11 xcursor xrandr xinerama xi xxf86vm || return 1
  compgen -G '/usr/lib*/dri/swrast_dri.so' >/dev/null || compgen -G '/usr/lib/*/dri/swrast_dri.so' >/dev/null ||
    compgen -G '/usr/lib*/libgallium*.so' >/dev/null || compgen -G '/usr/lib/*/libgallium*.so' >/dev/null || return 1
  [ "$target" != test ] || command -v Xvfb >/dev/null || return 1
}

if satisfied; then exit 0; fi

explain() {
  cat >&2 <<TEXT
raybridge needs system packages that are not installed, and $1.
Install them, then run 'make $target' again:
  Debian, Ubuntu:  apt-get install -y$apt
  Fedora:          dnf install -y$dnf
  Arch:            pacman -S --needed$pacman
TEXT
  exit 2
}

command -v apt-get >/dev/null || explain "this is neither Debian nor Ubuntu"
as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null && sudo -n true 2>/dev/null || explain "installing them needs root or sudo"
  as_root="sudo"
fi
echo "installing system packages:$apt"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
$as_root apt-get install -y -qq --no-install-recommends $apt >/dev/null
satisfied || explain "installing them did not help"
