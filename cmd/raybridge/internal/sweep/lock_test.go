package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// patience is how long a test waits for what a process does.
const patience = 30 * time.Second

// process begins a coordinator of a store in a process of its own.
func process(t *testing.T, s *sweep.Store, jobs string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, "coordinate", s.Dir(), jobs)
	c.Env = append(os.Environ(), env...)
	said := &bytes.Buffer{}
	c.Stderr = said
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	return c, said
}

// codeOf waits for a process, and returns its exit code.
func codeOf(c *exec.Cmd) int {
	_ = c.Wait() // the code says it
	return c.ProcessState.ExitCode()
}

// TestTwoCoordinators are two processes: the second one is refused, and names the first. A third one takes the lock of the
// first one when that was killed, and says so.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+neverEnds+`]}`)
	first, _ := process(t, s, "1")
	child := standIn(t, s)
	second, said := process(t, s, "1")
	assert.Equal(t, 2, codeOf(second))
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Regexp(t, `out is locked by another sweep run: process `+itoa(first.Process.Pid)+` on `+host+`, since .*, which is running: raybridge sweep status .*/out shows how far it is, raybridge sweep cancel .*/out ends it`, said.String())
	who, lost, err := s.Coordinator()
	require.NoError(t, err)
	assert.Contains(t, who, itoa(first.Process.Pid))
	assert.False(t, lost)

	require.NoError(t, first.Process.Kill())
	codeOf(first)
	assert.Eventually(t, func() bool { return !runs(child) }, patience, time.Millisecond, "the case outlives the sweep")
	st := stateOf(t, s, p)
	assert.Equal(t, []int{0, 1}, []int{st.Running, st.Lost})
	third, said := process(t, s, "1")
	child = standIn(t, s)
	require.NoError(t, third.Process.Signal(syscall.SIGTERM)) // which has it end its case: nothing writes to the folder any longer
	assert.Equal(t, 4, codeOf(third))
	assert.False(t, runs(child))
	assert.Contains(t, said.String(), "the lock was that of process "+itoa(first.Process.Pid)+" on "+host)
}

// standIn waits for a stand-in that runs, and returns its process.
func standIn(t *testing.T, s *sweep.Store) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, number := range standIns(s) {
			if pid = number; runs(pid) {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
	return pid
}

// runs reports whether a process runs: of one that has ended, and that nobody has waited for, there is no command line.
func runs(pid int) bool {
	line, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
	return err == nil && len(line) > 0
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// lockOf writes the lock of another machine's process, whose clock is an hour off.
func lockOf(t *testing.T, s *sweep.Store, clock time.Duration, beat int) {
	t.Helper()
	at := time.Now().Add(clock)
	text, err := json.Marshal(map[string]any{"host": "elsewhere", "pid": 7, "name": "elsewhere-7", "started": at, "renewed": at, "beat": beat})
	require.NoError(t, err)
	next := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(next, text, 0o600))
	require.NoError(t, os.Rename(next, filepath.Join(s.Dir(), "lock")))
}

// TestClocksApart: whether another machine's sweep runs is seen by its renewals, not by its clock.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	for _, clock := range []time.Duration{-time.Hour, time.Hour} {
		for _, alive := range []bool{true, false} {
			t.Run(clock.String(), func(t *testing.T) {
				t.Parallel()
				s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
				lockOf(t, s, clock, 1)
				if alive {
					timer := time.AfterFunc(sweep.Renewal/2, func() { lockOf(t, s, clock, 2) })
					defer timer.Stop()
				}
				_, _, err := s.Lock(t.Context(), false, func(string) {})
				require.ErrorIs(t, err, sweep.ErrLocked)
				assert.ErrorContains(t, err, "process 7 on elsewhere")
				if alive {
					assert.NotContains(t, err.Error(), "--take-over")
					return
				}
				assert.ErrorContains(t, err, "if it has ended, or its machine has, raybridge sweep run --take-over --out "+s.Dir()+" continues")
				told := ""
				_, lock, err := s.Lock(t.Context(), true, func(text string) { told = text })
				require.NoError(t, err)
				assert.Contains(t, told, "process 7 on elsewhere")
				require.NoError(t, lock.Release())
				assert.NoFileExists(t, filepath.Join(s.Dir(), "lock"))
			})
		}
	}
}

// TestLockOfAnotherProcess: a lock whose process number another process has now is taken at once if it says when its own
// began, and by take-over if it doesn't. One that is renewed isn't, whatever is asked for.
func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	space, born := sweep.ThisProcess()
	if space == "" {
		t.Skip("this system doesn't tell when a process started, which the lock compares")
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		born               string
		takeOver, renewing bool
		want               string // error
	}{
		"used again":       {"1", false, false, ""},
		"unknown":          {"", false, false, "sweep run --take-over --out"},
		"unknown, taken":   {"", true, false, ""},
		"stands still":     {born, true, false, ""},
		"runs":             {born, false, false, "which is running: raybridge sweep status"},
		"renews, is asked": {born, true, true, "which has just renewed its lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
			write := func(beat int) {
				text, err := json.Marshal(map[string]any{"host": host, "pid": os.Getpid(), "space": space, "born": c.born, "name": "x", "beat": beat})
				assert.NoError(t, err)
				next := filepath.Join(s.Dir(), "lock.next")
				assert.NoError(t, os.WriteFile(next, text, 0o600))
				assert.NoError(t, os.Rename(next, filepath.Join(s.Dir(), "lock")))
			}
			write(1)
			if c.renewing {
				timer := time.AfterFunc(sweep.Renewal/2, func() { write(2) })
				defer timer.Stop()
			}
			_, lock, err := s.Lock(t.Context(), c.takeOver, func(string) {})
			if c.want != "" {
				require.ErrorIs(t, err, sweep.ErrLocked)
				assert.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, lock.Release())
		})
	}
}

// TestGuardIsHeld: waiting for a process that looks at the lock ends with the context, or as soon as that one lets it.
func TestGuardIsHeld(t *testing.T) {
	t.Parallel()
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	release, err := sweep.Guard(t.Context(), s)
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _, err = s.Lock(ctx, false, func(string) {})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	release()
	_, lock, err := s.Lock(t.Context(), false, func(string) {})
	require.NoError(t, err)
	require.NoError(t, lock.Release())
}

// TestLockIsLost: who loses the lock ends, and leaves it to the one who took it.
func TestLockIsLost(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{true, false} {
		s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
		ctx, lock, err := s.Lock(t.Context(), false, func(string) {})
		require.NoError(t, err)
		if taken {
			lockOf(t, s, 0, 1)
		} else {
			require.NoError(t, os.Remove(filepath.Join(s.Dir(), "lock")))
		}
		select {
		case <-ctx.Done():
			require.ErrorIs(t, context.Cause(ctx), sweep.ErrLockLost)
		case <-time.After(patience):
			t.Fatal("the sweep continues without its lock")
		}
		require.ErrorIs(t, lock.Release(), sweep.ErrLockLost)
		if taken {
			assert.FileExists(t, filepath.Join(s.Dir(), "lock"), "the other one's")
		}
	}
}

// TestBrokenLock: a lock that isn't one is named, and taken only if that is asked for.
func TestBrokenLock(t *testing.T) {
	t.Parallel()
	s, _ := storeOf(t, `matrix: {scene.seed: [1]}`)
	for _, text := range []string{"{", "{}"} {
		put(t, filepath.Join(s.Dir(), "lock"), text)
		_, _, err := s.Lock(t.Context(), false, func(string) {})
		require.ErrorIs(t, err, sweep.ErrLocked)
		assert.ErrorContains(t, err, "if none works there, raybridge sweep run --take-over --out "+s.Dir()+" takes it")
		_, lock, err := s.Lock(t.Context(), true, func(string) {})
		require.NoError(t, err)
		require.NoError(t, lock.Release())
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, `+neverEnds+`]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	ctx, done := s.UntilCancelled(t.Context())
	defer done()
	go func() {
		for st := stateOf(t, s, p); st.Done == 0 || st.Running == 0; st = stateOf(t, s, p) {
			time.Sleep(5 * time.Millisecond)
		}
		_ = s.Cancel() // the test waits for what it does
	}()
	began := time.Now()
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: local(ctx, t, w, 2)}).Run(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, r.Stopped, sweep.ErrCancelled)
	assert.Less(t, time.Since(began), patience)
	assert.Equal(t, 1, stateOf(t, s, p).Done, "what is done stays")
	assert.True(t, s.Cancelled())
	require.NoError(t, s.Uncancel())
	assert.False(t, s.Cancelled())
}
