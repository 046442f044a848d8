#!/usr/bin/env bash
# gpu-proof.sh [--gpu N | --dry [--part]] [OUT]: proves raybridge on a GPU of this machine in less than
# eight minutes, with what lies beside this script (make gpu-proof-bundle): the live tests with OpenGL's
# debug output, each shader beside the host device, every benchmark, a large rig in real time, and the
# time of each kernel. It needs bash and the usual small programs, no Go and no network. It writes at most
# eight files into OUT (default gpu-proof-results): begin with summary.md.
#
# --dry does the same with little work on software OpenGL, which proves the script and no speed, and --part
# of that as much as takes a minute.
#
# It exits with 0 if all went well, with 1 if a test or benchmark failed, a shader wasn't seen to agree, or a
# target was missed or not measured, with 2 on wrong use, and with 3 if there is no GPU. Targets count on a GPU
# alone, and those beside a pinned copy only where libcuda is.
set -uo pipefail
export LC_ALL=C # numbers have points
SECONDS=0
shopt -s globstar nullglob
here=$(cd "$(dirname "$0")" && pwd)
program=$here/raybridge-portable

wrong_use() {
  echo "gpu-proof.sh: $1" >&2
  sed -n '2s/^# \(.*\): proves.*/usage: \1/p' "$0" >&2
  exit 2
}
device="" dry="" part="" out=""
while [ $# -gt 0 ]; do
  case $1 in
    --gpu)
      device=${2:-}
      [[ $device =~ ^[0-9]+$ ]] || wrong_use "--gpu takes a number, which raybridge-portable gpu lists"
      shift
      ;;
    --dry) dry=yes ;;
    --part) part=yes ;;
    -*) wrong_use "there is no $1" ;;
    *) [ -z "$out" ] || wrong_use "there is one OUT only"; out=$1 ;;
  esac
  shift
done
[ -z "$part" ] || [ -n "$dry" ] || wrong_use "--part goes with --dry"
[ -z "$dry" ] || [ -z "$device" ] || wrong_use "--dry runs on software, without --gpu"
device=${device:-${dry:+software}} device=${device:-0}

# How long it takes and how much it does. All times are seconds.
total=470                   # for everything
live_reserve=110            # that the live tests leave to the benchmarks after them
live_limit=150              # for one package
bench_limit=100             # for one benchmark
live=(-test.v)              # flags of the live tests
load=(--quick)              # flags of the benchmarks
first=(kernels readback readback_large realtime lidar camera)
last=(growth demo bvh dispatch clock stream bridges world)
kernels=(--triangles 1000000) # long runs, in which the clocks rise
large=(--case 1920x1080 --case VelodyneVLS128)
vehicle=6_cameras_1920x1080_30hz_and_4_VelodyneVLS128
realtime=(--case $vehicle --duration 60s)
if [ -n "$dry" ]; then
  total=5400 live_limit=1800 bench_limit=300
  load+=(--runs 1 --triangles 40000)
  kernels=("${load[@]}")
  large=(--case VelodyneVLS128)
  realtime=(--duration 2s)
fi
if [ -n "$part" ]; then
  # It takes about half a minute: the limit only ends what hangs.
  total=300 live_reserve=0 live+=(-test.short) first=(kernels realtime) last=()
  kernels+=(--case radar_and_boxes)
fi

# Target, figure, case, how it compares, bound and unit.
targets='coherent rays, 1,000,000 triangles|kernel.rays_per_s|traced_1920x1080|>=|2000000000|rays/s
VLS-128 scan, kernels|kernel.capture_ms|VelodyneVLS128|<|0.2|ms
VLS-128 scan, with readback|kernel.readback_ms|VelodyneVLS128|<|0.4|ms
six 1080p cameras at 30 Hz, share of the time|kernel.busy_percent|6_cameras_1920x1080_30hz|<|20|%
readback beside a pinned copy, 8 MiB|readback.percent_of_pinned|8MiB|>=|90|%
readback beside a pinned copy, 32 MiB|readback.percent_of_pinned|32MiB|>=|90|%
frame loop blocked by a capture, p99|readback.async.ask_ms.p99|1280x720|<|0.1|ms
six 1080p cameras and four VLS-128, real-time factor|realtime.factor|'$vehicle'|>=|0.99|times
six 1080p cameras and four VLS-128, delivered|realtime.delivered_percent|'$vehicle'|>=|99|%'

# Each entry of the shaders' catalogue, and the test that holds it beside the host device's kernel.
parity='scene.trace|gpu/hostdev|TestListsOfRaysAgree
sensor.rays|gpu/hostdev|TestListsOfRaysAgree
groundtruth.sights|gpu/hostdev|TestListsOfRaysAgree
groundtruth.bounds|gpu/hostdev|TestBoundsAreEqual
lidar.scan|gpu/hostdev|TestLidarsAgree
lidar.echoes|gpu/hostdev|TestFiringTablesAgree
camera.trace|gpu/hostdev|TestTracedCamerasAgree
camera.sun|gpu/hostdev|TestTracedCamerasAgree
camera.ids|sensors/camera|TestHostPicturesAgreeWithOpenGL
camera.shadow|sensors/camera|TestHostPicturesAgreeWithOpenGL
camera.shade|sensors/camera|TestHostPicturesAgreeWithOpenGL'

work=$(mktemp -d)
trap 'exit 130' INT TERM
trap 'end_jobs; rm -rf "$work"' EXIT
end_jobs() {
  local jobs
  readarray -t jobs < <(jobs -p)
  [ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" 2>/dev/null
  wait
}

# limited SECONDS COMMAND... runs a command that a signal to this script ends, too: bash heeds none before a
# command in the foreground has ended.
limited() {
  timeout --foreground -k 5 "$@" &
  child=$!
  wait "$child"
}
export XDG_CACHE_HOME=$work/cache HOME=${HOME:-$work} TMPDIR=$work

# find_egl lets a machine that has the driver alone use the bundle's libglvnd, and tells that of NVIDIA's
# driver.
find_egl() {
  local library=(/usr/lib/libEGL.so.1 /usr/lib64/libEGL.so.1 /usr/lib/*-linux-gnu/libEGL.so.1) vendors=/etc/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d
  local known=(/etc/glvnd/egl_vendor.d/*nvidia*.json /usr/share/glvnd/egl_vendor.d/*nvidia*.json) nvidia=(/usr/lib{,64,/*-linux-gnu}/libEGL_nvidia.so.0)
  local found="" file
  for file in "${library[@]}"; do [ ! -e "$file" ] || found=$file; done
  [ -n "$found" ] || export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  found=""
  for file in "${nvidia[@]}"; do [ ! -e "$file" ] || found=$file; done
  if [ -n "$found" ] && [ ${#known[@]} = 0 ] && [ -z "${__EGL_VENDOR_LIBRARY_DIRS:-}${__EGL_VENDOR_LIBRARY_FILENAMES:-}" ]; then
    mkdir -p "$work/vendors"
    echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_nvidia.so.0"}}' >"$work/vendors/10_nvidia.json"
    export __EGL_VENDOR_LIBRARY_DIRS=$work/vendors:$vendors
  fi
}
find_egl

if ! about=$(timeout --foreground 60 "$program" gpu --gpu "$device" 2>&1); then
  echo "gpu-proof.sh: there is no GPU ${device} that works here, so nothing was proven:" >&2
  echo "$about" >&2
  exit 3
fi
out=${out:-gpu-proof-results}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
rm -f "$out"/{summary.md,figures.json,benches.txt,live.txt,machine.txt,clocks.csv} # of an earlier run
if ! : >"$out/summary.md"; then exit 2; fi
failed=0 # what went wrong

# The clocks, by the step that runs.
query=index,pci.bus_id,name,driver_version,pstate,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,temperature.gpu,power.draw,utilization.gpu
none="no clocks: neither nvidia-smi nor /sys/class/drm tells any"
clocks() {
  local file found=""
  if command -v nvidia-smi >/dev/null && found=$(timeout --foreground 5 nvidia-smi --query-gpu=$query --format=csv,noheader); then
    echo "$found"
    return
  fi
  found=""
  for file in /sys/class/drm/card*/device/pp_dpm_{s,m}clk /sys/class/drm/card*/gt_{cur,max}_freq_mhz; do
    # AMD's list marks the line that holds with a star.
    found=yes && echo "$file: $( (grep -F '*' "$file" || cat "$file") 2>/dev/null | tr '\n' ' ')"
  done
  [ -n "$found" ] || echo "$none"
}
# loaded_clocks prints the largest clock of each GPU, or each file of /sys, while the kernels were measured.
loaded_clocks() {
  awk -F ', ' -v none="$none" '
    $2 != "bench kernels" || index($0, none) { next }
    NF > 7 { of = "sm of " $4; clock = $8 + 0 }
    NF <= 7 { split($3, part, ": "); of = part[1]; sub(/^[^ ]*: ([0-9]+: )?/, "", $3); clock = $3 + 0 }
    !(of in most) || clock > most[of] { most[of] = clock }
    END { for (of in most) printf "%s: %d MHz  ", of, most[of] }' "$out/clocks.csv"
}
sample_clocks() {
  local seen
  while :; do
    seen=$(clocks)
    while read -r line; do echo "$SECONDS s, $(cat "$work/step"), $line"; done <<<"$seen"
    [ "$seen" != "$none" ] || return
    sleep 3
  done
}
{
  date -u
  uname -srm
  grep -m1 'model name' /proc/cpuinfo
  echo "$(nproc) processors"
  echo "$about"
  echo
  clocks
  ! command -v nvidia-smi >/dev/null || timeout --foreground 20 nvidia-smi -q
} >"$out/machine.txt" 2>&1
step() {
  echo "$1" >"$work/step"
  echo "== $1" >&2
}
step begin
command -v nvidia-smi >/dev/null && echo "at, step, $query" >"$out/clocks.csv"
sample_clocks >>"$out/clocks.csv" 2>&1 &
sampler=$!

# left prints the seconds of a step: its own limit, or what is left of all.
left() {
  local rest=$((total - SECONDS))
  echo $((rest < $1 ? rest : $1))
}

# bench NAME measures one of the benchmarks.
benches="" # rows of the table
bench() {
  local name=$1 args=("${load[@]}") status limit
  case $name in
    kernels) args=("${kernels[@]}") ;;
    readback_large) args+=("${large[@]}") ;;
    realtime) args+=("${realtime[@]}") ;;
  esac
  limit=$(left $bench_limit)
  if [ "$limit" -lt 5 ]; then
    benches+="| $name | not run: the time was up | |"$'\n' failed=$((failed + 1))
    return
  fi
  step "bench $name"
  local from=$SECONDS
  echo "== $name" >>"$out/benches.txt"
  limited "$limit" "$program" bench "${name%_large}" --gpu "$device" --json "$work/$name.json" "${args[@]}" >>"$out/benches.txt" 2>&1
  status=$?
  case $status in
    0) status=done ;;
    124 | 137) status="stopped after $limit s" failed=$((failed + 1)) ;;
    *)
      # On a busy processor one loop's rate beside the other's says nothing of the program; lost or wrong data
      # is another exit code.
      if [ -n "$dry" ] && [ "$status" = 4 ]; then
        status="done, but one loop was too slow beside the other"
      else
        status="failed, exit $status" failed=$((failed + 1))
      fi
      ;;
  esac
  benches+="| $name | $status | $((SECONDS - from)) |"$'\n'
}

# The tests that compile a program, and one that asks git.
with_tools='ImportingEglctxLinksNoLibrary|WindowlessBinaryAsksNoXServer|MachineWithoutADriver|DriverThatIsTooOld|AnArchiveHasItsCommit'

# prove TEST LIMIT runs one package's live tests, in the background. GLSL validators judge no driver, and their
# seconds are the limit's, too.
prove() {
  local test=$1 limit=$2 name from=$SECONDS require=1 child="" flags=("${live[@]}" "-test.skip=^Test($with_tools)\$")
  name=$(dirname "${test#"$here/raybridge/"}")
  local log=$work/live/${name//\//_}
  trap 'kill "$child" 2>/dev/null; exit 130' TERM
  # Its tests of software OpenGL skip where there is the GPU's driver alone.
  [ "$name" != gpu/eglctx ] || [ -n "$dry" ] || require=0
  # Go's own limit comes first: it tells where the test hangs.
  cd "$(dirname "$test")" &&
    REQUIRE_GL=$require REQUIRE_GLSLANG=0 GL_DEVICE=$device limited "$limit" "$test" "${flags[@]}" "-test.timeout=$((limit - 3))s" >"$log.txt" 2>&1
  echo "$? $((SECONDS - from))" >"$log.status"
}

# live_tests proves all packages, some at a time.
tests="" # rows of the table
live_tests() {
  local test name status took log limit pids=() running=0 most=$(($(nproc) / 4))
  most=$((most < 1 ? 1 : most > 4 ? 4 : most))
  mkdir -p "$work/live"
  step "live tests"
  # The packages that hold shaders and host kernels beside each other come first.
  local list=("$here"/raybridge/gpu/hostdev/*.test "$here"/raybridge/sensors/camera/*.test)
  for test in "$here"/raybridge/**/*.test; do
    case $test in */gpu/hostdev/* | */sensors/camera/*) ;; *) list+=("$test") ;; esac
  done
  for test in "${list[@]}"; do
    if [ "$running" -ge "$most" ]; then wait -n; else running=$((running + 1)); fi
    limit=$(($(left $((live_limit + live_reserve))) - live_reserve))
    [ "$limit" -gt 5 ] || break
    prove "$test" "$limit" &
    pids+=($!)
  done
  [ ${#pids[@]} = 0 ] || wait "${pids[@]}"
  for test in "${list[@]}"; do
    name=$(dirname "${test#"$here/raybridge/"}")
    log=$work/live/${name//\//_}
    if [ ! -e "$log.status" ]; then
      tests+="| $name | not run: the time was up | | | | |"$'\n' failed=$((failed + 1))
      continue
    fi
    read -r status took <"$log.status"
    case $status in
      0) status=passed ;;
      *) status="failed, exit $status" failed=$((failed + 1)) ;;
    esac
    tests+="| $name | $status | $(grep -c '^--- PASS' "$log.txt") | $(grep -c '^--- FAIL' "$log.txt") | $(grep -c '^--- SKIP' "$log.txt") | $took |"$'\n'
    { echo "== $name"; cat "$log.txt"; } >>"$out/live.txt"
  done
}

for name in "${first[@]}"; do bench "$name"; done
live_tests
for name in "${last[@]}"; do bench "$name"; done
kill "$sampler" 2>/dev/null
wait "$sampler" 2>/dev/null

# All figures in one file, and by name and case.
declare -A figure=()
order=()
{
  separator="["
  for file in "$work"/*.json; do
    echo "$separator"
    separator=","
    sed '1d;$d' "$file"
  done
  [ "$separator" = , ] || echo "["
  echo "]"
} >"$out/figures.json"
while read -r key value; do
  value=${value%,} value=${value#\"} value=${value%\"}
  case $key in
    '"name":') name=$value ;;
    '"case":') of=$value ;;
    '"unit":') unit=$value ;;
    '"value":')
      [ -n "${figure["$name|$of"]:-}" ] || order+=("$name|$of|$unit")
      figure["$name|$of"]=$value
      ;;
  esac
done <"$out/figures.json"

# holds VALUE OPERATOR BOUND compares numbers.
holds() {
  local least
  least=$(printf '%s\n' "$1" "$3" | sort -g | head -n 1)
  case $2 in
    '<') [ "$least" = "$1" ] && [ "$1" != "$3" ] ;;
    '>=') [ "$least" = "$3" ] ;;
  esac
}

# The rows of the targets, how many were missed, and how many not measured. A pinned copy needs libcuda.
missed=0 unmeasured=0 rows=""
while IFS='|' read -r what name of operator bound unit; do
  value=${figure["$name|$of"]:-} result=missed
  if [ -z "$value" ]; then
    result="not measured"
    [ "$name" = readback.percent_of_pinned ] || unmeasured=$((unmeasured + 1))
  elif holds "$value" "$operator" "$bound"; then
    result=met
  else
    missed=$((missed + 1))
  fi
  rows+="| $what | $operator $bound $unit | ${value:+$(printf '%.4g' "$value") $unit} | $result |"$'\n'
done <<<"$targets"

# The rows of the shaders. Each that isn't seen to agree is a failure, unless the tests were left out.
agreement=""
while IFS='|' read -r entry folder test; do
  log=$work/live/${folder//\//_}.txt
  result="not run"
  if grep -q -- "^--- PASS: $test " "$log" 2>/dev/null; then result=agrees; fi
  if grep -q -- "^--- FAIL: $test " "$log" 2>/dev/null; then result=differs; fi
  if grep -q -- "^--- SKIP: $test " "$log" 2>/dev/null; then result=skipped; fi
  agreement+="| $entry | $folder $test | $result |"$'\n'
  [ "$result" = agrees ] || [ -n "$part" ] || failed=$((failed + 1))
done <<<"$parity"

field() { sed -n "s/^$1  *//p" <<<"$about" | head -n 1; }
{
  if [ -n "$dry" ]; then
    echo "# raybridge, a dry run${part:+ in part}: no GPU, so no speed is proven"
  else
    echo "# raybridge on $(field renderer)"
  fi
  echo
  echo "| | |"
  echo "|---|---|"
  for name in device class vendor renderer version "timer queries" missing; do echo "| $name | $(field "$name") |"; done
  echo "| program | $("$program" version 2>&1 | head -n 1) |"
  echo "| machine | $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) processors, $(uname -srm) |"
  loaded=$(loaded_clocks)
  echo "| largest clocks while the kernels were measured | ${loaded:-$none} |"
  echo "| took | $SECONDS s |"
  printf '\n## Targets\n\n| target | wanted | measured | |\n|---|---|---|---|\n%s' "$rows"
  printf '\n## Shaders beside the host device\n\n| entry | test | |\n|---|---|---|\n%s' "$agreement"
  printf '\n## Kernels\n\n| figure | case | median | |\n|---|---|---|---|\n'
  for key in "${order[@]}"; do
    IFS='|' read -r name of unit <<<"$key"
    case $name in kernel.*) printf '| %s | %s | %.4g | %s |\n' "$name" "$of" "${figure["$name|$of"]}" "$unit" ;; esac
  done
  if [ "$(field "timer queries")" = none ]; then printf '| kernel.ms | | not measured | the device has no timer queries |\n'; fi
  printf '\n## Live tests\n\n| package | | passed | failed | skipped | s |\n|---|---|---|---|---|---|\n%s' "$tests"
  printf '\n## Benchmarks\n\n| benchmark | | s |\n|---|---|---|\n%s' "$benches"
  printf '\nAll figures are in figures.json, their tables in benches.txt, the output of the tests in live.txt, the clocks of each step in clocks.csv.\n'
} >"$out/summary.md"

echo "gpu-proof.sh: $failed failures, $missed targets missed, $unmeasured not measured, in $SECONDS s: $out/summary.md" >&2
[ "$failed" = 0 ] && { [ -n "$dry" ] || [ "$((missed + unmeasured))" = 0 ]; }
