//go:build cgo && peers

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// slurm is a cluster of one node with two CPUs, this machine, of Debian's packages that `make setup-peers` unpacks. It needs
// neither systemd nor cgroups nor munge.
type slurm struct {
	dir, packages string
	env           []string // of its programs
}

// slurmConfig has to be filled in with: host, user, plugins, folder, two ports.
const slurmConfig = `ClusterName=raybridge
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=%[2]s
SlurmdUser=%[2]s
AuthType=auth/none
CredType=cred/none
PluginDir=%[3]s
StateSaveLocation=%[4]s/state
SlurmdSpoolDir=%[4]s/spool
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd.pid
SlurmctldPort=%[5]d
SlurmdPort=%[6]d
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
KillWait=5
MinJobAge=3600
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=sim Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`

// startSlurm starts a cluster, which ends with the test, as do its jobs.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	packages := filepath.Join(bridgetest.PeerPackages(), "slurm")
	plugins, err := filepath.Glob(filepath.Join(packages, "usr", "lib", "*", "slurm-wlm"))
	require.NoError(t, err)
	require.Len(t, plugins, 1, "no Slurm: run make setup-peers")
	s := &slurm{dir: t.TempDir(), packages: packages}
	config := filepath.Join(s.dir, "slurm.conf")
	s.env = []string{"SLURM_CONF=" + config, "LD_LIBRARY_PATH=" + plugins[0]}
	name, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ := strings.Cut(name, ".")
	me, err := user.Current()
	require.NoError(t, err)
	for _, folder := range []string{"state", "spool"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.dir, folder), 0o755))
	}
	write(t, s.dir, "slurm.conf", fmt.Sprintf(slurmConfig, host, me.Username, plugins[0], s.dir, freePort(t), freePort(t)))

	daemon := func(program string, args ...string) {
		bridgetest.StartProcess(t, bridgetest.Program(filepath.Join(packages, "usr", "sbin", program), args...).With(s.env...))
	}
	daemon("slurmctld-wlm", "-D", "-f", config)
	require.Eventually(t, func() bool { return s.try("scontrol", "ping").Run() == nil }, patience, 10*glance)
	daemon("slurmd-wlm", "-D", "-f", config, "-N", host, "-d", filepath.Join(packages, "usr", "sbin", "slurmstepd-wlm"))
	t.Cleanup(func() {
		_ = s.try("scancel", "--user", me.Username).Run() // most tests leave no job
		assert.Eventually(t, func() bool {
			left, err := s.try("squeue", "--noheader").Output()
			return err == nil && len(left) == 0
		}, patience, 10*glance, "jobs are left")
	})
	require.Eventually(t, func() bool { return s.ask(t, "sinfo", "--noheader", "--format=%T") == "idle" }, patience, 10*glance)
	return s
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer free.Close()
	return free.Addr().(*net.TCPAddr).Port
}

// try is a command of Slurm's.
func (s *slurm) try(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.packages, "usr", "bin", program), args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), s.env...)
	return c
}

// ask is what a command of Slurm's prints, which has to succeed.
func (s *slurm) ask(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := s.try(program, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, out)
	return strings.TrimSpace(string(out))
}

// submit has deploy's script run this program's sweep of a folder as an array, and returns the job's number.
func (s *slurm) submit(t *testing.T, array, out string) string {
	t.Helper()
	script, err := filepath.Abs("../../deploy/slurm/sweep.sh")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	c := s.try("sbatch", "--parsable", "--array="+array, script, out)
	c.Env = append(c.Env, envProgram+"=1", "RAYBRIDGE="+self, "PATH="+filepath.Join(s.packages, "usr", "bin")+":"+os.Getenv("PATH"))
	job, err := c.CombinedOutput()
	require.NoError(t, err, "%s", job)
	return strings.TrimSpace(string(job))
}

// running is a task of a job that runs, such as 7_0; "" for none.
func (s *slurm) running(t *testing.T, job string) string {
	t.Helper()
	task, _, _ := strings.Cut(s.ask(t, "squeue", "--noheader", "--array", "--job="+job, "--states=RUNNING", "--format=%i"), "\n")
	return task
}

// inTheMiddle waits until a task of a job runs and has done a case, and returns the task.
func (s *slurm) inTheMiddle(t *testing.T, job, out string) (task string) {
	t.Helper()
	before := 0
	require.Eventually(t, func() bool {
		now := s.running(t, job)
		if now == "" || now != task {
			task, before = now, sweepState(t, out).Done
			return false
		}
		return sweepState(t, out).Done > before
	}, patience, glance)
	return task
}

// end waits until no task of a job is left. One that was queued again needn't wait for the two minutes that Slurm gives it.
func (s *slurm) end(t *testing.T, job string) {
	t.Helper()
	require.Eventually(t, func() bool {
		left := s.ask(t, "squeue", "--noheader", "--array", "--job="+job, "--format=%i %r")
		for _, line := range strings.Split(left, "\n") {
			if task, reason, _ := strings.Cut(line, " "); reason == "BeginTime" {
				_ = s.try("scontrol", "update", "JobId="+task, "StartTime=now").Run() // it may just have started
			}
		}
		return left == ""
	}, 5*patience, time.Second)
}

// fates are the tasks of a job by their indices: state, exit code, restarts, and what they said.
func (s *slurm) fates(t *testing.T, job string) map[string][4]string {
	t.Helper()
	field := func(text, key string) string {
		found := regexp.MustCompile(`\b` + key + `=(\S+)`).FindStringSubmatch(text)
		require.NotNil(t, found, "%s has no %s", text, key)
		return found[1]
	}
	tasks := map[string][4]string{}
	for _, text := range strings.Split(s.ask(t, "scontrol", "--oneliner", "show", "job", job), "\n") {
		index := field(text, "ArrayTaskId")
		log, _ := os.ReadFile(filepath.Join(s.dir, "sweep-"+job+"_"+index+".log")) // one that never ran has none
		tasks[index] = [4]string{field(text, "JobState"), field(text, "ExitCode"), field(text, "Restarts"), string(log)}
	}
	return tasks
}

// TestPeerSlurm: the example runs as an array of three tasks, one of which is queued again in the middle, and another is told
// that its time is nearly up, and gives the same table and the same bytes as one machine.
func TestPeerSlurm(t *testing.T) {
	s := startSlurm(t)
	const example = "../../docs/examples/sweep.yaml"
	dirs := t.TempDir()
	one, shared := filepath.Join(dirs, "one"), filepath.Join(dirs, "shared")
	o := execute(t, command(t, "sweep", "plan", example, "--out", shared))
	require.Equal(t, exitDone, o.code, o.err)

	// One that is cancelled isn't queued again, and leaves nothing half.
	job := s.submit(t, "0-2", shared)
	s.inTheMiddle(t, job, shared)
	s.ask(t, "scancel", job)
	s.end(t, job)
	for index, f := range s.fates(t, job) {
		assert.Equal(t, []string{"CANCELLED", "0"}, []string{f[0], f[2]}, "%s: %s", index, f[3])
	}
	require.Less(t, sweepState(t, shared).Done, 24)

	job = s.submit(t, "0-2", shared)
	again := s.inTheMiddle(t, job, shared)
	s.ask(t, "scontrol", "requeue", again)
	require.Eventually(t, func() bool { return s.running(t, job) != again }, patience, glance)
	told := s.inTheMiddle(t, job, shared)
	s.ask(t, "scancel", "--batch", "--signal=TERM", told) // as Slurm does two minutes before the end
	s.end(t, job)
	fates := s.fates(t, job)
	require.Len(t, fates, 3)
	for index, f := range fates {
		task, restarts := job+"_"+index, "0"
		if task == again || task == told {
			restarts = "1"
		}
		assert.Equal(t, []string{"COMPLETED", "0:0", restarts}, f[:3], "%s: %s", task, f[3])
		assert.Contains(t, f[3], "share "+index+"/3, by Slurm (SLURM_ARRAY_TASK_ID)")
	}
	assert.NotEqual(t, again, told)
	o = execute(t, command(t, "sweep", "merge", shared))
	require.Equal(t, exitDone, o.code, o.err)

	o = execute(t, command(t, "sweep", "run", example, "--out", one, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	want := compared(t, one)
	assert.Greater(t, len(want), 24*3)
	assert.Equal(t, want, compared(t, shared))

	// Shares of an array with gaps can't be told from its variables: each task says so, and isn't tried again.
	job = s.submit(t, "1,5,7", shared)
	s.end(t, job)
	fates = s.fates(t, job)
	require.Len(t, fates, 3)
	for index, f := range fates {
		assert.Equal(t, []string{"FAILED", "2:0", "0"}, f[:3], "%s: %s", index, f[3])
		assert.Contains(t, f[3], "the array's tasks don't lie in equal steps from 1 to 7: give --shard I/N")
	}
}
