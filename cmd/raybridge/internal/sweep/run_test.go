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
