#!/bin/sh
# A stand-in for a case: it takes the arguments of `raybridge run`, sleeps for $SWEEP_TEST_NAP seconds, and writes. What it
# does otherwise depends on scene.seed: standin_test.go has the list. It starts faster than a program with the race detector.
settings='' what='' lost='{}' class=host extra='' notes=notes report=
while [ $# -gt 0 ]; do
	case $1 in
	--set)
		settings="$settings$2 "
		case $2 in scene.seed=*) what=${2#scene.seed=} ;; esac
		shift
		;;
	--seed) seed=$2 && shift ;;
	--out) out=$2 && shift ;;
	--summary) summary=$2 && shift ;;
	--report) report=yes ;;
	--config | --gpu | --bridge) shift ;;
	esac
	shift
done
mkdir -p "$notes"
: >"$notes/pid-$$"
sleep "${SWEEP_TEST_NAP:-0}"
data="$settings$seed"
case $what in
1001)
	echo 'the engine is on fire' >&2
	exit 1
	;;
1002)
	echo 'raybridge: no such rig' >&2
	exit 2
	;;
1003) lost='{"queue_full": 3}' ;;
1004) mkdir "$notes/tried-$seed" 2>/dev/null && exit 1 ;;
1005) exec sleep 3600 ;;
1006)
	echo 'no usable OpenGL' >&2
	exit 3
	;;
1007) ln -s /etc/passwd "$out/link" || exit 1 ;;
1008) exit 0 ;;
1009) extra='"interrupted": true,' ;;
1010)
	if [ ! -e "$notes/room" ]; then
		echo 'write recording: no space left on device' >&2
		exit 1
	fi
	;;
1011) data=$(cat /proc/sys/kernel/random/uuid) ;;
1012) class=software ;;
1013) data=same ;;
1014)
	printf 'panic: index out of range\n\ngoroutine 1 [running]:\n' >&2
	head -c 40000 /dev/zero | tr '\0' x >&2
	exit 2
	;;
1015)
	echo 'raybridge: warning' >&2
	echo 'fatal error: out of memory' >&2
	echo 'goroutine 7' >&2
	exit 2
	;;
1016) exit 2 ;;
1018)
	sleep 3600 &
	echo $! >"$notes/child"
	;;
1017)
	echo '{"level":"ERROR","msg":"no such rig"}' >&2
	exit 2
	;;
esac
echo "$data" >"$out/data.txt" || exit 1
[ -z "$report" ] || cat /proc/sys/kernel/random/uuid >"$out/report.html" || exit 1
cat >"$summary" <<EOF || exit 1
{"schema": 1, $extra "sim_s": 0.1, "wall_s": $$.5, "lost": $lost, "gpu": {"class": "$class"},
 "sensors": [{"name": "a", "latency_p50_ms": $$}], "metrics": {"ego.distance": $seed, "min_ttc": null}}
EOF
rm -f "$notes/pid-$$"
