//go:build cgo && linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// coordinator starts a sweep run for workers of other machines, and returns the words of the workers' command.
func coordinator(t *testing.T, args ...string) (c *exec.Cmd, worker []string) {
	t.Helper()
	c = command(t, append([]string{"sweep", "run"}, args...)...)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line, ok := strings.CutPrefix(lines.Text(), "workers: raybridge "); ok {
			go func() {
				for lines.Scan() { // the rest isn't looked at
				}
			}()
			return c, strings.Fields(line)
		}
	}
	t.Fatal("it printed no command of workers")
	return nil, nil
}

// work starts a worker of one case at a time.
func work(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	c := command(t, append(args, "--jobs", "1", "--quiet")...)
	c.Stderr = t.Output()
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	return c
}

// TestSweepByWorkers: two workers that run the printed command give the bytes of --jobs, over TLS, too. The workers' secret is
// in its file alone.
func TestSweepByWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs 18 cases")
	}
	t.Parallel()
	file := sweepFile(t, "matrix: {ego.speed: [5, 10, 15], sensors.roof.range: [20, 40]}, collect: [sensors.roof.points_mean, ego.distance]")
	dirs := t.TempDir()
	calm := filepath.Join(dirs, "calm")
	o := execute(t, command(t, "sweep", "run", file, "--out", calm, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	for name, address := range map[string]string{"loopback": "0", "TLS": "0.0.0.0:0"} {
		out := filepath.Join(dirs, name)
		c, args := coordinator(t, file, "--out", out, "--listen", address)
		secret, err := os.ReadFile(filepath.Join(out, "nats", "worker.nk"))
		require.NoError(t, err)
		assert.NotContains(t, strings.Join(args, " "), string(secret))
		assert.Equal(t, name == "TLS", strings.Contains(strings.Join(args, " "), "--nats-fingerprint sha256:"))
		plan, err := os.ReadFile(filepath.Join(out, "plan.json"))
		require.NoError(t, err)
		assert.NotContains(t, string(plan), string(secret))
		workers := []*exec.Cmd{work(t, args), work(t, args)}
		require.NoError(t, c.Wait())
		for _, w := range workers {
			assert.NoError(t, w.Wait())
		}
		assert.Equal(t, compared(t, calm), compared(t, out), name)
		assert.NoDirExists(t, filepath.Join(out, "nats"))
	}
}

// TestWorkerIsFirst: a worker that starts before its folder, its key and its plan are there waits for all of them.
func TestWorkerIsFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs 2 cases")
	}
	t.Parallel()
	out, address := filepath.Join(t.TempDir(), "out"), freeAddress(t)
	w := command(t, "sweep", "worker", "--out", out, "--nats", "nats://"+address, "--nats-creds", filepath.Join(out, "nats", "worker.nk"))
	said, err := w.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() { _ = w.Process.Kill() }) // it has ended, unless the test failed
	lines, waits := bufio.NewScanner(said), false
	for !waits && lines.Scan() {
		waits = strings.Contains(lines.Text(), "waiting for sweep run for 10m0s")
	}
	require.True(t, waits, "it has ended")
	go func() {
		for lines.Scan() { // the rest isn't looked at
		}
	}()
	c, _ := coordinator(t, sweepFile(t, "matrix: {ego.speed: [5, 10]}, collect: [ego.distance]"), "--out", out, "--listen", address)
	require.NoError(t, c.Wait())
	assert.NoError(t, w.Wait())
}

// TestSweepOnAServerThatIsThere: coordinator and worker use a server of somebody else's, the one with its secret in the
// environment, the other with a file.
func TestSweepOnAServerThatIsThere(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs 4 cases")
	}
	t.Parallel()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), Nkeys: []*server.NkeyUser{{Nkey: public}},
	})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(patience))
	defer s.Shutdown()
	dir := t.TempDir()
	file := sweepFile(t, "matrix: {ego.speed: [5, 10, 15, 20]}, collect: [ego.distance]")
	out := filepath.Join(dir, "out")
	o := call(t, "sweep", "plan", file, "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	w := work(t, []string{"sweep", "worker", "--out", out, "--nats", s.ClientURL(), "--nats-creds", write(t, dir, "seed", string(seed))}) // it waits
	c := command(t, "sweep", "run", "--out", out, "--nats", s.ClientURL())
	c.Env = append(c.Env, credentialsVariable+"="+string(seed))
	o = execute(t, c)
	require.Equal(t, exitDone, o.code, o.err)
	assert.NotContains(t, o.out+o.err, string(seed))
	assert.Contains(t, o.out, "4 of 4 cases done")
	require.NoError(t, w.Wait())

	require.NoError(t, os.RemoveAll(filepath.Join(out, "cases")))
	c = command(t, "sweep", "run", "--out", out, "--nats", s.ClientURL())
	o = execute(t, c)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "doesn't take the credentials")
}

// TestWorkersThroughANight: workers are killed every few results, and the coordinator once. The bytes are those of an undisturbed
// sweep.
func TestWorkersThroughANight(t *testing.T) {
	n := nightCases(t) / 10 * 10
	file := sweepFile(t, fmt.Sprintf("matrix: {sensors.roof.range: [30, 40, 50, 60, 70], ego.speed: [5, 10]}, repeat: {seed: %d}, collect: [ego.distance]", n/10))
	calm, out := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "out")
	o := execute(t, command(t, "sweep", "run", file, "--out", calm))
	require.Equal(t, exitDone, o.code, o.err)
	address := freeAddress(t)
	run := []string{file, "--out", out, "--listen", address, "--lease", "2s"}
	c, args := coordinator(t, run...)
	ended := make(chan error, 1)
	workers := []*exec.Cmd{work(t, args), work(t, args), work(t, args)}
	next, killed, restarted := 5, 0, false
	require.Eventually(t, func() bool {
		select {
		case err := <-ended:
			require.NoError(t, err)
			return true
		default:
		}
		done := sweepState(t, out).Done
		if done >= n/2 && !restarted {
			restarted = true
			require.NoError(t, c.Process.Kill())
			_ = c.Wait() // it was killed
			c, args = coordinator(t, run...)
			go func() { ended <- c.Wait() }()
		}
		if done >= next && done < n-3 {
			next = done + 10
			one := killed % len(workers)
			require.NoError(t, workers[one].Process.Kill())
			_ = workers[one].Wait() // it was killed
			workers[one] = work(t, args)
			killed++
		}
		return false
	}, 30*time.Minute, 50*time.Millisecond)
	for _, w := range workers {
		assert.NoError(t, w.Wait())
	}
	assert.True(t, restarted)
	assert.Greater(t, killed, 3)
	assert.Equal(t, compared(t, calm), compared(t, out))
	st := sweepState(t, out)
	assert.Equal(t, []int{n, 0, 0}, []int{st.Done, st.Failed, len(st.Alarms)})
}
