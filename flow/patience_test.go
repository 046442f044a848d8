package flow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/flow"
)

// TestPatienceCountsTheTimeOfTheProcess: a timer that comes late, as after a stop, has passed a slice.
func TestPatienceCountsTheTimeOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := flow.NewPatience(8 * time.Second)
		defer p.Stop()
		begun, slices := time.Now(), 0
		for ended := false; !ended; slices++ {
			at := <-p.C()
			if slices == 3 {
				time.Sleep(time.Hour) // nobody looked
			}
			if slices == 5 {
				assert.Equal(t, 6*time.Second, p.Spent().Round(time.Second), "the hour isn't counted: %v", at)
			}
			ended = p.Ended()
		}
		assert.Equal(t, time.Hour+8*time.Second, time.Since(begun))
		assert.Equal(t, 8, slices)

		p.Reset(10)
		for <-p.C(); !p.Ended(); <-p.C() {
		}
		p.Reset(-time.Second)
		<-p.C()
		assert.True(t, p.Ended(), "nothing was left")

		ctx, cancel := flow.WithPatience(t.Context(), time.Minute)
		begun = time.Now()
		<-ctx.Done()
		assert.Equal(t, time.Minute, time.Since(begun))
		assert.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		cancel()
		ctx, cancel = flow.WithPatience(t.Context(), time.Minute)
		cancel()
		assert.ErrorIs(t, context.Cause(ctx), context.Canceled)
	})
}
