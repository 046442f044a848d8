package sweep_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// lateEngine has the run told to end while its one case is on its way, which is done nevertheless.
type lateEngine struct {
	stop context.CancelFunc
	ends chan sweep.End
}

func (e lateEngine) Offer(_ context.Context, c *sweep.Case, _ int) error {
	e.stop()
	go func() {
		time.Sleep(100 * time.Millisecond) // for the run to notice
		e.ends <- sweep.End{Case: c, Result: sweep.Done}
	}()
	return nil
}

func (e lateEngine) End(ctx context.Context) (sweep.End, error) {
	select {
	case end := <-e.ends:
		return end, nil
	case <-ctx.Done():
		return sweep.End{}, ctx.Err()
	}
}

// TestToldToEndWhenAllIsDone: nothing is left, so the run has done its work.
func TestToldToEndWhenAllIsDone(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, "list: [{ego.speed: 5}]")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	report, err := (&sweep.Run{Store: s, Plan: p, Engine: lateEngine{cancel, make(chan sweep.End)}}).Run(ctx)
	require.NoError(t, err)
	assert.Equal(t, 1, report.Done)
	assert.NoError(t, report.Err())
}

// TestTriesOfAFolder: attempts are counted in the life of the folder, while each run tries a case as often as it may.
func TestTriesOfAFolder(t *testing.T) {
	t.Parallel()
	s, p := storeOf(t, `matrix: {scene.seed: [`+failsAlways+`, `+failsOnce+`]}`)
	w, err := newWorker(s, p)
	require.NoError(t, err)
	run := func(attempts int) {
		t.Helper()
		_, err := (&sweep.Run{Store: s, Plan: p, Engine: local(t.Context(), t, w, 1), Attempts: attempts, Delay: time.Millisecond}).Run(t.Context())
		require.NoError(t, err)
	}
	run(1)
	failed, err := s.Failed()
	require.NoError(t, err)
	require.Len(t, failed, 2)
	for id, f := range failed {
		assert.Equal(t, 1, f.Attempts)
		require.NoError(t, s.Forgive(id))
	}
	run(2)
	failed, err = s.Failed()
	require.NoError(t, err)
	require.Len(t, failed, 1)
	assert.Equal(t, 3, failed[p.Cases[0].ID].Attempts, "one before, and two now")
	timing, err := s.Timing(p.Cases[1].ID)
	require.NoError(t, err)
	assert.Equal(t, 2, timing.Tries, "one before, and the one that succeeded")
}
