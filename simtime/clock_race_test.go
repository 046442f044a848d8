package simtime_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// Readers never see time go back, nor torn values, while others change scale,
// pause, resume and step.
func TestConcurrentReadersSeeTimeGoForward(t *testing.T) {
	for _, source := range []string{simtime.Simulation, simtime.System, simtime.Engine, simtime.SS2} {
		t.Run(source, func(t *testing.T) {
			c := newClock(t, simtime.Config{Source: source})
			ctx, cancel := context.WithCancel(context.Background())
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() {
					for last := int64(-1); ctx.Err() == nil; {
						now := c.Now()
						if now < last {
							t.Errorf("time went back from %d to %d", last, now)
							return
						}
						if source == simtime.SS2 && now/1e9 != now%1e9 {
							t.Errorf("torn read: %d", now)
							return
						}
						last = now
					}
				})
			}
			scales := []simtime.Scale{scale(t, "0.1"), scale(t, "100"), scale(t, "1")}
			for i := range 2000 {
				assert.NoError(t, c.SetScale(scales[i%3]))
				c.Pause()
				if source == simtime.SS2 {
					c.Resume()
					assert.NoError(t, c.Set(int64(i), uint32(i)))
					continue
				}
				assert.NoError(t, c.Step(1))
				_ = c.Advance(c.Pace())
				c.Resume()
			}
			cancel()
			readers.Wait()
		})
	}
}

// jumpLog is what a clock's subscriber is told of jumps.
type jumpLog struct {
	mu      sync.Mutex
	arrived sync.Cond
	jumps   []simtime.Change // guarded by mu
	closed  bool             // guarded by mu
}

func newJumpLog(c *simtime.Clock) *jumpLog {
	l := &jumpLog{}
	l.arrived.L = &l.mu
	c.Subscribe(func(change simtime.Change) {
		if !change.Jump() {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.jumps = append(l.jumps, change)
		l.arrived.Broadcast()
	})
	return l
}

// count returns how many jumps were told so far.
func (l *jumpLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jumps)
}

// close says that no more will be told.
func (l *jumpLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.arrived.Broadcast()
}

// explains reports whether one of the jumps from the n-th on led to now or
// before it; it waits for jumps that were made and not yet told.
func (l *jumpLog) explains(n int, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; ; n++ {
		for n == len(l.jumps) {
			if l.closed {
				return false
			}
			l.arrived.Wait()
		}
		if l.jumps[n].To <= now {
			return true
		}
	}
}

// With everything that can change a clock going on at once, readers see time go
// back only across jumps that subscribers are told of.
func TestReadersUnderEveryChange(t *testing.T) {
	var ros atomic.Int64
	c := newClock(t, simtime.Config{
		ROSClock: func() int64 { return ros.Add(1000) },
		Sources: map[string]func() simtime.Source{
			"stopwatch": func() simtime.Source { return stopwatch{time.Now()} },
			"bent":      func() simtime.Source { return newBent() },
		},
	})
	log := newJumpLog(c)
	scales := []simtime.Scale{scale(t, "0.1"), scale(t, "100"), scale(t, "1")}
	sources := []string{simtime.Engine, simtime.SS2, simtime.System, simtime.Simulation, simtime.ROS2, "stopwatch", "bent"}
	writers := map[string]func(int) error{
		"scale":  func(i int) error { return c.SetScale(scales[i%3]) },
		"select": func(i int) error { return c.Select(sources[i%len(sources)]) },
		"pause":  func(int) error { c.Pause(); return c.Step(1) },
		"resume": func(int) error { c.Resume(); return nil },
		"hold":   func(int) error { c.Hold()(); return nil },
		"set":    func(i int) error { return c.Set(int64(i%50), uint32(i)) },
		"follow": func(int) error { c.FollowROS(func() int64 { return ros.Add(1000) }); return nil },
		"loop":   func(int) error { c.DropLag(); return c.Advance(c.Pace()) },
		"lag":    func(int) error { c.Lag(c.Now()); return nil },
	}
	ctx, cancel := context.WithCancel(context.Background())
	var readers, writing sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			told := log.count()
			for last := c.Now(); ctx.Err() == nil; {
				next := log.count()
				now := c.Now()
				if now < last && !log.explains(told, now) {
					t.Errorf("time went back from %d to %d, and no jump was told", last, now)
					return
				}
				last, told = now, next
			}
		})
	}
	for name, write := range writers {
		writing.Go(func() {
			for i := range 1000 {
				if err := write(i); err != nil && !foreseen(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	log.close()
	readers.Wait()
	require.NotZero(t, log.count())
}

// foreseen reports whether an error is only that another goroutine was faster.
func foreseen(err error) bool {
	for _, target := range []error{
		simtime.ErrNotPaused, simtime.ErrNotSteppable, simtime.ErrNotSettable, simtime.ErrBackward, simtime.ErrAhead,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
