#!/usr/bin/env bash
# gpu-proof-bundle.sh DIR [PACKAGE...]: puts into DIR what proves raybridge on a machine that has a GPU
# and neither Go nor a network: the portable program, a live test binary of each package (or of each
# PACKAGE alone) in its folder, all testdata, the assets beside the checkout, libglvnd, and
# gpu-proof.sh, which runs it all. BUNDLE=FILE.tar.xz packs DIR besides.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
dir=$1 && shift
limit=$((40 << 20)) # bytes of the packed bundle

# A package is live if it asks gputest or eglctx for a device. The tests of internal/deps need Go.
live=("$@")
if [ $# = 0 ]; then
  readarray -t live < <(grep -rlE --include='*_test.go' --exclude-dir={bin,out,.cache} '(gputest\.(Thread|Opener)|eglctx\.Open)\(' . | xargs -n1 dirname | sort -u |
    grep -vE '^\./(internal/deps|cmd/raybridge|cmd/raybridge/internal/viewer)$')
fi

rm -rf "$dir"
root=$dir/raybridge # of the tests' relative paths; what they read beside the checkout lies beside it
mkdir -p "$root" "$dir/lib" "$dir/tests"
# The sources that lie here are of another module: ./... of the checkout is to leave them out.
echo 'module gpuproof' >"$dir/go.mod"
go test -c -tags nowindow -ldflags='-s -w' -o "$dir/tests/" "${live[@]}"
for package in "${live[@]}"; do
  name=$(basename "$(go list "$package")").test
  mkdir -p "$root/$package"
  mv "$dir/tests/$name" "$root/$package/$name"
  find "$package" -maxdepth 1 -type f ! -name '.*' ! -name '*.test' -exec cp {} "$root/$package/" \; # some tests read their sources
done
# Tests read the testdata of other packages, too.
find . \( -name bin -o -name out -o -name .cache \) -prune -o -type d -name testdata -exec cp -r --parents {} "$root/" \; -prune
rmdir "$dir/tests"
if [ -d ../shared/assets ]; then mkdir "$dir/shared" && cp -rL ../shared/assets "$dir/shared/"; fi
strip -o "$dir/raybridge-portable" bin/raybridge-portable
cp scripts/gpu-proof.sh LICENSE NOTICE "$dir/"

# EGL's dispatch by itself: drivers bring their own EGL and OpenGL, but not always what finds them.
for library in libEGL.so.1 libGLdispatch.so.0; do
  file=""
  for folder in {/usr,}/lib {/usr,}/lib/"$(gcc -print-multiarch)" {/usr,}/lib64; do
    if [ -e "$folder/$library" ]; then file=$folder/$library; fi # the last has this CPU's
  done
  [ -n "$file" ] || { echo "gpu-proof-bundle.sh: no $library here: make setup-test installs it" >&2; exit 1; }
  cp -L "$file" "$dir/lib/$library"
done
if [ -e /usr/share/doc/libglvnd0/copyright ]; then cp /usr/share/doc/libglvnd0/copyright "$dir/lib/"; fi

if [ -z "${BUNDLE:-}" ]; then exit 0; fi
echo "Packing $BUNDLE: this takes some minutes of one core."
mkdir -p "$(dirname "$BUNDLE")"
# Test binaries have most of their code in common: one dictionary is to hold several of them.
tar -C "$(dirname "$dir")" --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct 2>/dev/null || echo 0)" -c "$(basename "$dir")" |
  xz -T1 --lzma2=preset=6,dict=256MiB >"$BUNDLE"
size=$(stat -c %s "$BUNDLE")
echo "$BUNDLE: $(du -sh "$dir" | cut -f1) in $size bytes"
[ "$size" -le "$limit" ] || { echo "gpu-proof-bundle.sh: that is more than $limit bytes" >&2; exit 1; }
