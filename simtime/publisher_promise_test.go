package simtime_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// The publisher is free of the frame loop: one that stands still for a second
// costs no message, and each says where the loop is.
func TestClockPublisherNeedsNoFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: "unity"})
		stamps, stats := publishFor(t, c, "100", func() {
			time.Sleep(15 * time.Millisecond)
			require.NoError(t, c.Advance(15*ms))
			time.Sleep(time.Second)
			synctest.Wait()
		})
		require.Len(t, stamps, 102)
		assert.Equal(t, []int64{0, 0, 15 * ms, 15 * ms}, stamps[:4])
		assert.Equal(t, 15*ms, stamps[101])
		assert.Zero(t, stats.Missed)
	})
}

// A source that changes while the publisher runs is published from the next
// deadline on.
func TestClockPublisherFollowsTheSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		unix := time.Now().UnixNano()
		stamps, _ := publishFor(t, c, "100", func() {
			time.Sleep(15 * time.Millisecond)
			require.NoError(t, c.Select(simtime.System))
			time.Sleep(10 * time.Millisecond)
			require.NoError(t, c.Select(simtime.SS2))
			require.NoError(t, c.Set(0, 42))
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		})
		assert.Equal(t, []int64{0, 10 * ms, unix + 20*ms, 42}, stamps)
	})
}

// T3: Observe is given the very instants of the grid, whatever the rate.
func TestClockPublisherKeepsItsDeadlines(t *testing.T) {
	for _, text := range []string{"0.5", "1", "13.4", "60", "99.9", "999.999", "1000"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rate(t, text)
				var start time.Time
				var seen, published int64
				p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{}), simtime.ClockPublisherConfig{
					Rate: r,
					Observe: func(deadline time.Time, lateness time.Duration) {
						if want := start.Add(time.Duration(r.At(seen))); !deadline.Equal(want) || lateness != 0 {
							t.Errorf("deadline %d is %v, %v late; want %v", seen, deadline, lateness, want)
						}
						seen++
					},
					Publish: func(context.Context, int64) error {
						published++
						assert.Equal(t, seen, published, "observed, then published")
						return nil
					},
				})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				start = time.Now()
				go func() { _ = p.Run(ctx) }()
				time.Sleep(10*time.Second - 1)
				synctest.Wait()
				assert.Equal(t, r.IndexAt(int64(10*time.Second-1))+1, published)
			})
		})
	}
}

// T4 rests on it: however many call Publish, stamps come one at a time and in
// their order.
func TestStampsComeInOrder(t *testing.T) {
	c := newClock(t, simtime.Config{Source: simtime.Simulation})
	var stamps []int64 // without a lock: the race detector tells
	ctx, cancel := context.WithCancel(context.Background())
	p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
		Rate: simtime.Hz(1000),
		Publish: func(_ context.Context, stamp int64) error {
			if stamps = append(stamps, stamp); len(stamps) == 4000 {
				cancel()
			}
			return nil
		},
	})
	require.NoError(t, err)
	var callers sync.WaitGroup
	callers.Go(func() { assert.NoError(t, p.Run(ctx)) })
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				assert.NoError(t, p.Publish(ctx))
			}
		})
	}
	callers.Wait()
	require.GreaterOrEqual(t, len(stamps), 4000)
	assert.IsNonDecreasing(t, stamps)
	s := p.Stats()
	assert.EqualValues(t, len(stamps), s.Published)
	assert.Equal(t, stamps[len(stamps)-1], s.LastStamp)
}

// What is done a thousand times a second leaves nothing to the collector.
func TestPublishAllocatesNothing(t *testing.T) {
	p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{Source: simtime.System}), simtime.ClockPublisherConfig{
		Publish: func(context.Context, int64) error { return nil },
	})
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = p.Publish(context.Background()) }))
}

// All of Run's loop: ticks and their waiting allocate nothing.
func TestTicksAllocateNothing(t *testing.T) {
	for _, own := range []bool{false, true} {
		ticks := 0
		var before, allocs uint64
		ctx, cancel := context.WithCancel(context.Background())
		p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{Source: simtime.System}), simtime.ClockPublisherConfig{
			Rate: simtime.Hz(1000), OwnThread: own, Observe: func(time.Time, time.Duration) {},
			Publish: func(context.Context, int64) error {
				switch ticks++; ticks {
				case 10:
					before = mallocs()
				case 60:
					allocs = mallocs() - before
					cancel()
				}
				return nil
			},
		})
		require.NoError(t, err)
		require.NoError(t, p.Run(ctx))
		assert.Less(t, allocs, uint64(25), "own thread: %v; some are others'", own)
	}
}

func TestClockPublisherRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{}), simtime.ClockPublisherConfig{
			Publish: func(context.Context, int64) error { return nil },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		assert.ErrorIs(t, p.Run(ctx), simtime.ErrRunning)
		cancel()
		require.NoError(t, <-ended)
		assert.NoError(t, p.Run(ctx), "after its end it may run again")
		assert.Empty(t, p.Stats().Scheduling)
	})
}
