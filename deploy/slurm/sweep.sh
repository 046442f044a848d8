#!/bin/bash
# A sweep as a job array of Slurm: each task runs a share of the cases. docs/sweep.md has the rest.
#
#   raybridge sweep plan sweep.yaml --out /shared/sweep
#   sbatch --array=0-99 deploy/slurm/sweep.sh /shared/sweep
#   raybridge sweep merge /shared/sweep
#
# The folder is one that all nodes see. RAYBRIDGE names the program where it isn't on PATH; it has to be the version that
# made the plan. Options on sbatch's command line win over these.
#SBATCH --job-name=sweep
#SBATCH --array=0-9
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
# A task that is lost with its node, or preempted, is queued again.
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.log
# Slurm tells the task to end two minutes before its time is up.
#SBATCH --signal=B:TERM@120
set -u
sweep=${1:?give the folder that raybridge sweep plan --out has made}
most_restarts=20

# Bash runs a trap only when the command before it has ended. So the sweep runs beside it, and bash waits.
"${RAYBRIDGE:-raybridge}" sweep run --out "$sweep" --shard auto --jobs "$(((SLURM_CPUS_ON_NODE + 1) / 2))" &
child=$!
told=""
trap 'told=1 again=1; kill -TERM "$child" 2>/dev/null' TERM
again=1
while [ -n "$again" ]; do # a signal ends wait before the sweep has ended
  again=""
  wait "$child"
  code=$?
done

# 4: cases are left. If that is so because the time was nearly up, another run of this task does the rest. A task that was
# cancelled isn't in state RUNNING any more. After 1 (cases failed for good) and 2 (wrong use) another run would end alike.
if [ "$code" = 4 ] && [ -n "$told" ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$most_restarts" ] &&
  [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" = RUNNING ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
