#!/usr/bin/env bash
# setup.sh build|portable|ros2dds|embree|test|browser|cpus|dist|proof...: installs the system packages that raybridge
# needs to be built (build), without its window (portable), with ROS 2's DDS (ros2dds), to be compared with
# Embree (embree), to be tested, Mesa's OpenGL among them (test), with its live page in a browser (browser),
# on emulated CPUs (cpus), to be packed for releases (dist), and to be tried on bare systems (proof), if they are
# missing. Debian and Ubuntu only, as root or with sudo; elsewhere it names the packages and what to run then.
set -euo pipefail

portable_apt="gcc libc6-dev pkg-config libgl-dev"
portable_dnf="gcc glibc-devel pkgconf-pkg-config mesa-libGL-devel"
portable_pacman="gcc pkgconf libglvnd libx11"
window_apt="libx11-dev libxcursor-dev libxi-dev libxinerama-dev libxrandr-dev libxxf86vm-dev"
window_dnf="libX11-devel libXcursor-devel libXi-devel libXinerama-devel libXrandr-devel libXxf86vm-devel"
window_pacman="mesa libxcursor libxi libxinerama libxrandr libxxf86vm"
ros2dds_apt="cyclonedds-dev"
ros2dds_dnf="cyclonedds-devel"
ros2dds_pacman="cyclonedds"
embree_apt="libembree-dev"
embree_dnf="embree3-devel libgomp"
embree_pacman="embree3"
test_apt="libegl1 libgl1-mesa-dri mesa-vulkan-drivers xvfb glslang-tools spirv-tools xz-utils python3-numpy python3-venv mypy"
test_dnf="mesa-libEGL mesa-dri-drivers mesa-vulkan-drivers xorg-x11-server-Xvfb glslang spirv-tools xz python3-numpy python3-mypy"
test_pacman="libglvnd mesa vulkan-swrast xorg-server-xvfb glslang spirv-tools xz python-numpy mypy"
browser_apt="chromium"
browser_dnf="chromium"
browser_pacman="chromium"
cpus_apt="qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
cpus_dnf="qemu-user gcc-aarch64-linux-gnu glibc-devel.aarch64"
cpus_pacman="qemu-user aarch64-linux-gnu-gcc"
dist_apt="gcc libc6-dev pkg-config gcc-aarch64-linux-gnu libc6-dev-arm64-cross patchelf python3"
dist_dnf="dpkg apt gcc gcc-aarch64-linux-gnu patchelf python3"
dist_pacman="dpkg apt gcc aarch64-linux-gnu-gcc patchelf python"
proof_apt="mmdebstrap lintian qemu-user"
proof_dnf="mmdebstrap lintian qemu-user"
proof_pacman="mmdebstrap lintian qemu-user"

apt="" dnf="" pacman="" headers="stdlib.h" programs="gcc pkg-config" modules="" draws="" again="make demo"
need() { apt+=" $1" dnf+=" $2" pacman+=" $3"; }
for set in "$@"; do
  case "$set" in
    build)
      need "$portable_apt $window_apt" "$portable_dnf $window_dnf" "$portable_pacman $window_pacman"
      headers+=" GL/glx.h X11/Xlib.h X11/Xcursor/Xcursor.h X11/extensions/XInput2.h X11/extensions/Xinerama.h"
      headers+=" X11/extensions/Xrandr.h X11/extensions/xf86vmode.h" ;;
    portable)
      need "$portable_apt" "$portable_dnf" "$portable_pacman"
      headers+=" GL/glx.h" again="make build-portable" ;;
    ros2dds)
      need "$ros2dds_apt" "$ros2dds_dnf" "$ros2dds_pacman"
      headers+=" dds/dds.h" again="make build-ros2dds" ;;
    embree)
      need "$embree_apt" "$embree_dnf" "$embree_pacman"
      headers+=" embree3/rtcore.h" again="make bench WHAT=embree" ;;
    test)
      need "$test_apt" "$test_dnf" "$test_pacman"
      programs+=" Xvfb glslangValidator spirv-val xz mypy" modules="numpy ensurepip" draws=yes again="make test" ;;
    browser)
      need "$browser_apt" "$browser_dnf" "$browser_pacman"
      programs+=" chromium" again="make test" ;;
    cpus)
      need "$cpus_apt" "$cpus_dnf" "$cpus_pacman"
      programs+=" qemu-x86_64 qemu-aarch64 aarch64-linux-gnu-gcc" again="make nightly" ;;
    dist)
      need "$dist_apt" "$dist_dnf" "$dist_pacman"
      programs+=" aarch64-linux-gnu-gcc patchelf python3 dpkg-deb" again="make dist" ;;
    proof)
      need "$proof_apt" "$proof_dnf" "$proof_pacman"
      programs+=" mmdebstrap lintian qemu-aarch64" again="make dist-proof" ;;
    *) echo "setup.sh: unknown set $set, known are build, portable, ros2dds, embree, test, browser, cpus, dist and proof" >&2; exit 2 ;;
  esac
done

if ! command -v go >/dev/null; then
  echo "raybridge is written in Go and finds none: install Go 1.26 or later from https://go.dev/dl/, then run '$again' again." >&2
  exit 2
fi

# there tells whether one of some files is there.
there() {
  local file
  for file in "$@"; do
    if [ -e "$file" ]; then return 0; fi
  done
  return 1
}

# driver tells whether something is there to draw with: EGL, Mesa's software OpenGL or a vendor's
# driver, and Mesa's software Vulkan, on which zink draws.
driver() {
  there {/usr,}/lib{,64,/*}/libEGL.so.1 && there {/usr,}/lib{,64,/*}/{dri/swrast_dri.so,libgallium*.so,libEGL_nvidia.so*} &&
    there /usr/share/vulkan/icd.d/lvp_icd*.json
}

# satisfied tells by what is there, not by who installed it.
satisfied() {
  local program header module
  for program in $programs; do command -v "$program" >/dev/null || return 1; done
  for header in $headers; do gcc -E -include "$header" -x c /dev/null >/dev/null 2>&1 || return 1; done
  for module in $modules; do
    # One in a home folder may stand before the system's.
    python3 -c "import $module" 2>/dev/null || /usr/bin/python3 -c "import $module" 2>/dev/null || return 1
  done
  [ -z "$draws" ] || driver
}

if satisfied; then exit 0; fi

explain() {
  {
    echo "raybridge needs system packages that are not installed, and $1."
    echo "Install them, then run '$again' again:"
    echo "  Debian, Ubuntu:  apt-get install -y$apt"
    echo "  Fedora:          dnf install -y$dnf"
    echo "  Arch:            pacman -S --needed$pacman"
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
