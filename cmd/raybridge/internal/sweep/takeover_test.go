package sweep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep/queue"
)

// TestTakenOver: a coordinator that has lost its folder to another one ends, for whatever reason it does, and leaves the other one's
// workers, their cases and the stream as they are.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"lock lost": sweep.ErrLockLost, "told to end": errors.New("told to end")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := storeOf(t, `matrix: {scene.seed: [1, 2, 3]}`)
			w, err := newWorker(s, p)
			require.NoError(t, err)
			v := serve(t, s)
			t.Cleanup(func() { assert.NoError(t, v.Close(true)) })
			held, lose := context.WithCancelCause(t.Context())
			first, err := queue.NewEngine(held, &queue.Options{Access: v.Own, Store: s, Plan: p, Log: quiet(t)})
			require.NoError(t, err)
			for i := range p.Cases {
				require.NoError(t, first.Offer(held, &p.Cases[i], 1))
			}
			second, err := queue.NewEngine(t.Context(), &queue.Options{Access: v.Own, Store: s, Plan: p, Log: quiet(t)})
			require.NoError(t, err)
			runs := make(chan *sweep.Report, 1)
			go func() {
				r, err := (&sweep.Run{Store: s, Plan: p, Engine: second, Attempts: 1}).Run(t.Context())
				assert.NoError(t, err)
				runs <- r
			}()
			begun, release := make(chan struct{}, len(p.Cases)), make(chan struct{})
			one := workerOn(t, v, w)
			one.Try = func(ctx context.Context, c *sweep.Case, tries int) sweep.End {
				begun <- struct{}{}
				select {
				case <-release:
				case <-ctx.Done():
				}
				return w.Try(ctx, c, tries)
			}
			works := make(chan error, 1)
			go func() { works <- one.Run(t.Context()) }()
			<-begun
			require.Eventually(t, func() bool { return second.Measures().Waiting == 2 }, patience, time.Millisecond)

			lose(cause)
			for range p.Cases {
				e, err := first.End(t.Context())
				require.NoError(t, err)
				assert.Equal(t, sweep.Returned, e.Result)
			}
			first.Close(false)
			_, stream := streamOf(t, v, p)
			assert.EqualValues(t, 3, stream.CachedInfo().State.Msgs, "nobody has emptied it")
			close(release)
			r := <-runs
			require.NoError(t, r.Err(), "no case was ended")
			second.Close(true)
			require.NoError(t, <-works)
		})
	}
}
