package simtime_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// publishFor runs a publisher for a time and returns the stamps it published.
func publishFor(t *testing.T, c *simtime.Clock, text string, during func()) ([]int64, simtime.ClockPublisherStats) {
	t.Helper()
	var stamps []int64
	p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
		Rate: rate(t, text), Logger: quiet,
		Publish: func(_ context.Context, stamp simtime.Stamp) error {
			stamps = append(stamps, int64(stamp))
			return nil
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { assert.NoError(t, p.Run(ctx)) })
	during()
	cancel()
	group.Wait()
	return stamps, p.Stats()
}

// T3: 100 Hz for an hour is 360,000 messages, without drift.
func TestClockPublisherDoesNotDrift(t *testing.T) {
	for _, text := range []string{"100", "60", "13.4"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(t, simtime.Config{Source: simtime.Simulation})
				duration := time.Hour
				if text != "100" {
					duration = 100 * time.Second
				}
				stamps, stats := publishFor(t, c, text, func() {
					time.Sleep(duration - 1)
					synctest.Wait()
				})
				r := rate(t, text)
				require.EqualValues(t, r.IndexAt(simtime.Stamp(duration-1))+1, len(stamps))
				for k, stamp := range stamps {
					if simtime.Stamp(stamp) != r.At(int64(k)) {
						t.Fatalf("message %d has stamp %d, want %d", k, stamp, r.At(int64(k)))
					}
				}
				assert.EqualValues(t, len(stamps), stats.Published)
				assert.Equal(t, simtime.Stamp(stamps[len(stamps)-1]), stats.LastStamp)
				assert.Zero(t, stats.Missed)
				assert.Zero(t, stats.Lateness.Max)
			})
		})
	}
}

// At any scale the clock comes at its rate of host time; paused, with one stamp.
func TestClockPublisherRateIsOfHostTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation, Scale: scale(t, "0.1")})
		stamps, _ := publishFor(t, c, "100", func() {
			time.Sleep(25 * time.Millisecond)
			c.Pause()
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
		})
		assert.Equal(t, []int64{0, ms, 2 * ms, 2_500_000, 2_500_000}, stamps)
	})
}

// A publish function that takes longer than the period costs messages, not phase.
func TestClockPublisherSkipsWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		var stamps []int64
		var told []uint64
		p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
			Miss: func(n uint64) { told = append(told, n) },
			Publish: func(_ context.Context, stamp simtime.Stamp) error {
				if stamps = append(stamps, int64(stamp)); len(stamps) == 2 {
					time.Sleep(35 * time.Millisecond)
				}
				return nil
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _ = p.Run(ctx) }()
		time.Sleep(75 * time.Millisecond)
		cancel()
		synctest.Wait()
		assert.Equal(t, []int64{0, 10 * ms, 45 * ms, 50 * ms, 60 * ms, 70 * ms}, stamps)
		s := p.Stats()
		assert.EqualValues(t, 2, s.Missed, "those of 20 and 30 ms")
		assert.Equal(t, []uint64{2}, told)
		assert.InDelta(t, 5*ms, s.Lateness.Max, float64(ms)/10, "that of 40 ms came at 45")
	})
}

func TestClockPublisherChangesRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		var stamps []int64
		p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
			Rate: simtime.Hz(1),
			Publish: func(_ context.Context, stamp simtime.Stamp) error {
				stamps = append(stamps, int64(stamp))
				return nil
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _ = p.Run(ctx) }()
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, p.SetRate(simtime.Hz(1000)))
		time.Sleep(1500 * time.Microsecond)
		cancel()
		synctest.Wait()
		assert.Equal(t, []int64{0, 500 * ms, 501 * ms}, stamps)
		assert.ErrorIs(t, p.SetRate(simtime.Hz(1001)), simtime.ErrRate)
		assert.ErrorIs(t, p.SetRate(simtime.Rate{}), simtime.ErrRate)
	})
}

func TestClockPublisherSurvivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		broken := errors.New("broken pipe")
		n := 0
		p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
			Logger: quiet,
			Publish: func(context.Context, simtime.Stamp) error {
				switch n++; n {
				case 1:
					return broken
				case 2:
					panic("in publish")
				}
				return nil
			},
		})
		require.NoError(t, err)
		assert.ErrorIs(t, p.Publish(context.Background()), broken)
		assert.ErrorContains(t, p.Publish(context.Background()), "in publish")
		time.Sleep(time.Second)
		assert.NoError(t, p.Publish(context.Background()))
		s := p.Stats()
		assert.EqualValues(t, 2, s.Failed)
		assert.EqualValues(t, 1, s.Published)
		assert.EqualValues(t, 1000*ms, s.LastStamp)
	})
}

func TestClockPublisherBadInput(t *testing.T) {
	c := newClock(t, simtime.Config{})
	_, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{})
	assert.ErrorIs(t, err, simtime.ErrNoPublish)
	_, err = simtime.NewClockPublisher(nil, simtime.ClockPublisherConfig{Publish: func(context.Context, simtime.Stamp) error { return nil }})
	assert.ErrorIs(t, err, simtime.ErrNoClock)
	_, err = simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
		Rate: rate(t, "1000.1"), Publish: func(context.Context, simtime.Stamp) error { return nil },
	})
	assert.ErrorIs(t, err, simtime.ErrRate)
}

// On a thread of its own the publisher keeps its promises in real time too.
func TestClockPublisherOnItsOwnThread(t *testing.T) {
	c := newClock(t, simtime.Config{Source: simtime.Simulation})
	var stamps []int64
	ctx, cancel := context.WithCancel(context.Background())
	p, err := simtime.NewClockPublisher(c, simtime.ClockPublisherConfig{
		Rate: simtime.Hz(1000), OwnThread: true,
		Publish: func(_ context.Context, stamp simtime.Stamp) error {
			if stamps = append(stamps, int64(stamp)); len(stamps) == 20 {
				cancel()
			}
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, p.Run(ctx))
	require.Len(t, stamps, 20)
	s := p.Stats()
	period := int64(simtime.Hz(1000).Period())
	for k, stamp := range stamps {
		assert.GreaterOrEqual(t, simtime.Stamp(stamp), simtime.Stamp(k)*simtime.Stamp(period), "never before its deadline")
	}
	assert.EqualValues(t, 20, s.Published)
	assert.EqualValues(t, 20, s.Lateness.Count)
}

// mallocs counts the process's allocations so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func TestReserveProcs(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before := runtime.GOMAXPROCS(0)
	first, second := simtime.ReserveProcs(), simtime.ReserveProcs()
	assert.Equal(t, before+4, runtime.GOMAXPROCS(0))
	first()
	first()
	assert.Equal(t, before+4, runtime.GOMAXPROCS(0), "still held")
	second()
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
	t.Setenv("GOMAXPROCS", "1")
	simtime.ReserveProcs()()
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
}

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
		assert.EqualValues(t, 15*ms, stamps[101])
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
					Publish: func(context.Context, simtime.Stamp) error {
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
				assert.Equal(t, r.IndexAt(simtime.Stamp(10*time.Second-1))+1, published)
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
		Publish: func(_ context.Context, stamp simtime.Stamp) error {
			if stamps = append(stamps, int64(stamp)); len(stamps) == 4000 {
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
	assert.Equal(t, simtime.Stamp(stamps[len(stamps)-1]), s.LastStamp)
}

// What is done a thousand times a second leaves nothing to the collector.
func TestPublishAllocatesNothing(t *testing.T) {
	p, err := simtime.NewClockPublisher(newClock(t, simtime.Config{Source: simtime.System}), simtime.ClockPublisherConfig{
		Publish: func(context.Context, simtime.Stamp) error { return nil },
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
			Publish: func(context.Context, simtime.Stamp) error {
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
			Publish: func(context.Context, simtime.Stamp) error { return nil },
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
