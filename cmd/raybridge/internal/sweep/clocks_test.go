package sweep_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// TestWorkersWithOtherClocks: the clocks of two workers are an hour ahead and an hour behind. No case is run twice for that, and
// each has one result, with the bytes of a sweep on one machine.
func TestWorkersWithOtherClocks(t *testing.T) {
	if os.Getenv("SWEEP") == "" {
		t.Skip("compiles the standard library twice; runs with SWEEP=200, as in make nightly")
	}
	const keys = `matrix: {scene.seed: [1, 2, 3], ego.speed: [1, 2]}, repeat: {seed: 10}, collect: [ego.distance]`
	calm, p := storeOf(t, keys)
	require.NoError(t, runLocal(t, calm, p).Err())
	s, p := storeOf(t, keys)
	v := serve(t, s)
	e := engineOf(t, &queue.Options{Access: v.Own, Store: s, Plan: p, Lease: 3 * time.Second, Log: quiet(t)})
	var list []*exec.Cmd
	for _, hours := range []int{1, -1} {
		list = append(list, startWorker(t, withClock(t, hours), s.Dir(), v.Own.URL, v.SecretFile))
	}
	r, err := (&sweep.Run{Store: s, Plan: p, Engine: e, Delay: time.Millisecond}).Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	assert.Zero(t, e.Measures().Redelivered)
	e.Close(true)
	for _, worker := range list {
		assert.NoError(t, worker.Wait())
	}
	require.NoError(t, v.Close(true))
	assert.Equal(t, results(t, calm), results(t, s))
	ahead, behind := 0, 0
	for i := range p.Cases {
		timing, err := s.Timing(p.Cases[i].ID)
		require.NoError(t, err)
		switch off := time.Until(timing.Started); {
		case off > 30*time.Minute:
			ahead++
		case off < -30*time.Minute:
			behind++
		}
	}
	assert.Equal(t, 60, ahead+behind, "the clocks were other ones")
	assert.NotZero(t, ahead)
	assert.NotZero(t, behind)
}

// withClock builds this test's program with a clock that is off. It returns the program's file.
func withClock(t *testing.T, hours int) string {
	t.Helper()
	const now = "sec, nsec, mono := runtimeNow()\n"
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	head, tail, found := strings.Cut(string(text), "\nfunc Now() Time {\n")
	require.True(t, found)
	require.True(t, strings.HasPrefix(strings.TrimSpace(tail), now), "time.Now is another one in this Go")
	tail = strings.Replace(tail, now, fmt.Sprintf("%s\tsec += %d\n", now, hours*3600), 1)
	changed, overlay, program := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sweep.test")
	require.NoError(t, os.WriteFile(changed, []byte(head+"\nfunc Now() Time {\n"+tail), 0o600))
	require.NoError(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, source, changed), 0o600))
	out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}
