#!/bin/sh
# Makes the vectors in the folder above anew. Needs Debian's cyclonedds-dev,
# cyclonedds-tools, libfastrtps-dev, fastddsgen, gcc and g++.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here/ros2.idl" "$here/vectors.h" "$here/vectors.c" "$here/detections.c" "$here/kinds.c" "$here/check.cpp" .
mkdir cyclone fast vectors
(cd cyclone && idlc -l c ../ros2.idl)
(cd fast && fastddsgen -replace ../ros2.idl -d . >/dev/null)
# fastddsgen 2.3 writes arrays of strings, but its readers pass over them; Fast CDR itself reads them.
grep -q 'dcdr >> m_three_text;' fast/ros2.cxx || sed -i 's/^\( *\)dcdr >> m_took;/\1dcdr >> m_three_text;\n&/' fast/ros2.cxx
gcc -O1 -Wall -Wno-missing-braces -o vectors.bin vectors.c detections.c kinds.c cyclone/ros2.c -I. -Icyclone -lddsc -lm
g++ -std=c++17 -O1 -o check.bin check.cpp fast/ros2.cxx -Ifast -lfastcdr
./vectors.bin vectors
./check.bin vectors
cp vectors/*.cdr "$here/.."
