package sweep_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// anAttempt writes an attempt of a store: of a process elsewhere, unless its record says otherwise. The last sign of
// life is so long ago.
func anAttempt(t *testing.T, s *sweep.Store, name string, record map[string]any, silent time.Duration) {
	t.Helper()
	all := map[string]any{"host": "elsewhere", "pid": 7, "space": "another", "started": time.Now()}
	maps.Copy(all, record)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	dir := filepath.Join(s.Dir(), "attempts", name)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	put(t, filepath.Join(dir, "timing.json"), string(text))
	put(t, filepath.Join(dir, "alive"), "")
	at := time.Now().Add(-silent)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "alive"), at, at))
}

// TestSignsOfLife: an attempt gives them until it ends.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	synctest.Test(t, func(t *testing.T) {
		drop, err := sweep.Begin(s, p.Cases[0].ID)
		require.NoError(t, err)
		names := entries(t, s, "attempts")
		require.Len(t, names, 1)
		sign := filepath.Join(s.Dir(), "attempts", names[0], "alive")
		long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 2 {
			require.FileExists(t, sign)
			require.NoError(t, os.Chtimes(sign, long, long))
			time.Sleep(sweep.SignEvery + 1)
			synctest.Wait()
			info, err := os.Stat(sign)
			require.NoError(t, err)
			assert.Greater(t, info.ModTime().Year(), 2001)
		}
		drop()
		time.Sleep(sweep.SignEvery + 1)
		assert.Empty(t, entries(t, s, "attempts"))
	})
}

// TestLostAttempts: those whose process has ended, and those without a sign of life for a minute, by the clock of the file
// system. The clocks of the machines may be an hour apart.
func TestLostAttempts(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3, 4, 5, 6]}`)
	_, short := storeOf(t, `matrix: {scene.seed: [6]}`)
	require.NoError(t, runLocal(t, s, short).Err())
	host, err := os.Hostname()
	require.NoError(t, err)
	space, born := sweep.ThisProcess()
	id := func(i int) map[string]any { return map[string]any{"id": p.Cases[i].ID} }
	here := func(i, pid int, born string) map[string]any {
		return map[string]any{"id": p.Cases[i].ID, "host": host, "space": space, "pid": pid, "born": born}
	}
	ahead, behind := id(0), id(1)
	ahead["started"], behind["started"] = time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	anAttempt(t, s, "1 lives", ahead, 30*time.Second)
	anAttempt(t, s, "2 silent", behind, 2*time.Minute)
	anAttempt(t, s, "3 silent, its case is done", id(5), 2*time.Minute)
	anAttempt(t, s, "4 no attempt", map[string]any{"id": "../.."}, 0)
	anAttempt(t, s, "5 stands still here", here(2, os.Getpid(), born), 2*time.Minute)
	anAttempt(t, s, "6 ended here", here(3, 1<<30, "1"), time.Second)
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir(), "attempts", "7 has just begun"), 0o755))
	if space == "" {
		t.Skip("this system doesn't tell when a process started, which attempts compare")
	}
	st := stateOf(t, s, p)
	assert.Equal(t, []int{2, 2}, []int{st.Running, st.Lost})
	ids := func(list []sweep.RunningCase) (ids []string) {
		for _, c := range list {
			ids = append(ids, c.ID)
			assert.GreaterOrEqual(t, c.ForS, 0.0)
			assert.Less(t, c.ForS, 60.0, "by the file system's clock")
		}
		return ids
	}
	assert.Equal(t, []string{p.Cases[0].ID, p.Cases[2].ID}, ids(st.Cases))
	assert.Equal(t, []string{p.Cases[1].ID, p.Cases[3].ID}, ids(st.LostCases))
	assert.InDelta(t, 120, st.LostCases[0].SilentS, 30)
	assert.Equal(t, []any{"elsewhere", 7}, []any{st.LostCases[0].Host, st.LostCases[0].PID})
}

// TestLostCoordinator: one elsewhere that hasn't renewed its lock for a minute.
func TestLostCoordinator(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [1]}`)
	lockOf(t, s, time.Hour, 1)
	st := stateOf(t, s, p)
	assert.Contains(t, st.Coordinator, "process 7 on elsewhere")
	assert.False(t, st.CoordinatorLost)
	at := time.Now().Add(-2 * time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(s.Dir(), "lock"), at, at))
	st = stateOf(t, s, p)
	assert.Regexp(t, "process 7 on elsewhere, since .*, which hasn't renewed its lock for 2m", st.Coordinator)
	assert.True(t, st.CoordinatorLost)
}
