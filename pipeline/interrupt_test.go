package pipeline_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestAnInterruptedRunGoesOnWithoutAGap ends runs at many places and continues
// them: every instant that was begun is published, whole.
func TestAnInterruptedRunGoesOnWithoutAGap(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	captured := addScripted(t, p, laggyID, "captured", "100")
	computed := addScripted(t, p, plainID, "computed", "100")
	var cancel context.CancelFunc
	var a, b []int64
	hear(t, captured, func(_ sensors.Tick, m *sample.Imu) {
		if a = append(a, m.StampNs); len(a)%5 == 0 {
			cancel()
		}
	})
	hear(t, computed, func(_ sensors.Tick, m *sample.Imu) { b = append(b, m.StampNs) })
	for range 40 {
		ctx, end := context.WithCancel(t.Context())
		cancel = end
		require.NoError(t, p.Run(ctx, 0))
		end()
	}
	assert.GreaterOrEqual(t, len(a), 200)
	everyMs(t, 10, a)
	everyMs(t, 10, b)
}

// TestPausesDoNotEndASteppedRun pauses and resumes the clock all the time.
func TestPausesDoNotEndASteppedRun(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
	stop := make(chan struct{})
	var pauser sync.WaitGroup
	pauser.Go(func() {
		for {
			p.Clock().Pause()
			p.Clock().Resume()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	err := p.Run(t.Context(), 20*time.Second)
	close(stop)
	pauser.Wait()
	require.NoError(t, err)
	assert.Len(t, stamps, 2000)
	everyMs(t, 10, stamps)
}

// TestASteppedRunFollowsAJumpOfTheClock selects another time source in the
// middle: the run goes on from its time, for as long as it was told.
func TestASteppedRunFollowsAJumpOfTheClock(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
	require.NoError(t, p.Run(t.Context(), 500*time.Millisecond))
	require.NoError(t, p.Clock().Select("system"))
	require.NoError(t, p.Run(t.Context(), 500*time.Millisecond))
	require.NotEmpty(t, stamps)
	assert.InDelta(t, 100, len(stamps), 1)
	last := time.Unix(0, stamps[len(stamps)-1])
	assert.WithinDuration(t, time.Now(), last, time.Minute)
	assert.InDelta(t, 1.0, p.Summary().SimS, 1e-9)
}

func TestARunMayEndOffTheGrid(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, m.StampNs) })
	require.NoError(t, p.Run(t.Context(), 15*time.Millisecond))
	assert.EqualValues(t, 15_000_000, p.Clock().Now())
	require.NoError(t, p.Step(t.Context(), 0))
	require.NoError(t, p.Step(t.Context(), -3))
	assert.InDelta(t, 0.015, p.Summary().SimS, 1e-12, "time does not go back")
	require.NoError(t, p.Step(t.Context(), 1))
	assert.Len(t, stamps, 2)
	everyMs(t, 10, stamps)
}

// TestABusyGLThreadIsWaitedFor fills the GL thread's queue, as somebody may who
// shares it.
func TestABusyGLThreadIsWaitedFor(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, laggyID, "s", "100")
	n := 0
	release := make(chan struct{})
	hear(t, s, func(sensors.Tick, *sample.Imu) { n++ })
	for err := error(nil); err == nil; {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
		require.True(t, err == nil || errors.Is(err, gpu.ErrBusy))
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), 100*time.Millisecond) }()
	select {
	case err := <-ended:
		t.Fatalf("the run ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-ended)
	assert.Equal(t, 10, n)
}

// TestSummaryWhileRunning is for the race detector: figures may be asked for at
// any time.
func TestSummaryWhileRunning(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		p := newScripted(t, &script{}, pipeline.Config{Mode: mode})
		s := addScripted(t, p, laggyID, "s", "100")
		hear(t, s, func(sensors.Tick, *sample.Imu) {})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			assert.NoError(t, p.Run(context.Background(), 200*time.Millisecond))
		}()
		before := math.Inf(-1)
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
			}
			summary := p.Summary()
			assert.GreaterOrEqual(t, summary.SimS, before)
			before = summary.SimS
			_ = p.Stages()
			stop := hear(t, s, func(sensors.Tick, *sample.Imu) {})
			stop()
		}
		assert.InDelta(t, 0.2, before, 1e-9)
	}
}
