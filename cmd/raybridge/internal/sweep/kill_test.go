package sweep_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// TestKilledInTheMiddle: 300 cases, of which one is killed every now and then, and the sweep itself once, give the results
// of a sweep that nobody disturbs, each once, byte for byte.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	const keys = `matrix: {scene.seed: [1, 2, 3, 4, 5, 6], ego.speed: [1, 2, 3, 4, 5]}, repeat: {seed: 10}, collect: [ego.distance]`
	calm, p := storeOf(t, keys)
	require.NoError(t, runLocal(t, calm, p).Err())
	s, p := storeOf(t, keys)
	require.Len(t, p.Cases, 300)
	const nap = napVariable + "=0.02"

	first, _ := process(t, s, "4", nap)
	killed := killCases(t, s, func() bool { return doneOf(t, s) >= 100 })
	require.NoError(t, first.Process.Kill())
	codeOf(first)
	half := doneOf(t, s)
	require.Less(t, half, 300, "the sweep was done before it was killed")
	second, said := process(t, s, "4", nap)
	ended := make(chan int)
	go func() { ended <- codeOf(second) }()
	code := -1
	killed += killCases(t, s, func() bool {
		select {
		case code = <-ended:
			return true
		default:
			return false
		}
	})
	require.Zero(t, code, said.String())
	assert.Greater(t, killed, 5)
	t.Logf("%d cases killed, %d done when the sweep was", killed, half)

	st := stateOf(t, s, p)
	assert.Equal(t, []int{300, 0, 0, 0}, []int{st.Done, st.Failed, st.Running, len(st.Alarms)})
	assert.Equal(t, results(t, calm), results(t, s))
	for _, left := range entries(t, s, "attempts") { // killed as it began: nobody knows whose it is, for a day
		assert.Empty(t, entries(t, s, filepath.Join("attempts", left)), left)
	}
	var tables []string
	for _, store := range []*sweep.Store{calm, s} {
		_, err := sweep.Merge(p, []*sweep.Store{store}, store.Dir())
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(store.Dir(), sweep.ResultsFile))
		require.NoError(t, err)
		tables = append(tables, string(text))
	}
	assert.Equal(t, tables[0], tables[1])
}

// doneOf counts the results of a store.
func doneOf(t *testing.T, s *sweep.Store) int {
	t.Helper()
	done, err := s.Done()
	require.NoError(t, err)
	return len(done)
}

// killCases kills a stand-in after every few results, until enough is true, and returns how many.
func killCases(t *testing.T, s *sweep.Store, enough func() bool) (killed int) {
	t.Helper()
	const few = 8
	deadline, next := time.Now().Add(10*patience), doneOf(t, s)
	for !enough() {
		require.True(t, time.Now().Before(deadline), "the sweep stands still")
		time.Sleep(10 * time.Millisecond)
		if doneOf(t, s) >= next && killOne(s) {
			killed++
			next = doneOf(t, s) + few
		}
	}
	return killed
}

// killOne kills a stand-in that runs.
func killOne(s *sweep.Store) bool {
	for _, pid := range standIns(s) {
		if isCase(pid) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			_ = os.Remove(filepath.Join(s.Dir(), notes, "pid-"+itoa(pid))) // the stand-in no longer does
			return true
		}
	}
	return false
}

// standIns lists the processes of stand-ins that haven't come to their end.
func standIns(s *sweep.Store) (pids []int) {
	list, _ := os.ReadDir(filepath.Join(s.Dir(), notes)) // it comes with the first case
	for _, e := range list {
		number, ok := strings.CutPrefix(e.Name(), "pid-")
		if pid, err := strconv.Atoi(number); ok && err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isCase reports whether a process is a stand-in: numbers are used again.
func isCase(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(line), "\x00run\x00--config\x00")
}

// TestMemoryIsShort: the kernel is told to end a case before all else, and a case that was killed says what that may be.
func TestMemoryIsShort(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is told which process to end where memory is short")
	}
	s, p := storeOf(t, `matrix: {scene.seed: [`+neverEnds+`]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		_, err := (&sweep.Run{Store: s, Plan: p, Engine: local(t.Context(), t, w, 1), Attempts: 1}).Run(t.Context())
		ended <- err
	}()
	pid := standIn(t, s)
	score := func() string {
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "oom_score_adj")) // it has ended: the test fails
		return strings.TrimSpace(string(text))
	}
	assert.Eventually(t, func() bool { return score() == "1000" }, patience, time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.NoError(t, <-ended)
	failures := stateOf(t, s, p).Failures
	require.Len(t, failures, 1)
	assert.Equal(t, []any{-1, "signal: killed, as the kernel does where memory is short"}, []any{failures[0].Code, failures[0].Reason})
}
