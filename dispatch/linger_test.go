package dispatch_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
)

// fragile panics while it is copied if it is broken.
type fragile struct{ broken bool }

func (f *fragile) CacheKey() uint64 { return 0 }

func (f *fragile) CopyToCache(dst *fragile) {
	if f.broken {
		panic("copy")
	}
	*dst = *f
}

// A copy that fails leaves its room to a blocked sender, whose message a lingering
// worker may take at once: it is sent once all the same (law D2).
func TestRoomOfAFailedCopyIsGrantedOnce(t *testing.T) {
	const rounds = 2000
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 2})
	var sent, called atomic.Int64
	topic := dispatch.NewTopic(d, "a", func(context.Context, *fragile) error {
		sent.Add(1)
		return nil
	}, dispatch.TopicConfig{Depth: 1})
	done := func(error) { called.Add(1) }
	var senders sync.WaitGroup
	for sender := range 3 {
		senders.Go(func() {
			message := &fragile{broken: sender == 0}
			for range rounds {
				topic.TryQueueTask(message, dispatch.Task{Done: done})
			}
		})
	}
	senders.Wait()
	require.NoError(t, d.Drain(context.Background()))
	assert.EqualValues(t, 2*rounds, sent.Load())
	assert.EqualValues(t, 3*rounds, called.Load())
	s := topic.Stats()
	assert.Zero(t, s.Waiting+s.Blocked+s.InFlight+s.Pool.Lent)
}

// busyFor keeps the processor, so that the gap between two messages is not
// stretched by a sleep.
func busyFor(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		runtime.KeepAlive(d)
	}
}

// Messages that come as a worker gives up lingering, and the end of the topic or
// of the dispatcher at that moment, lose nothing, whatever the publisher does and
// however many processors there are.
func TestEndOfLingering(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	procs := runtime.GOMAXPROCS(0)
	for round := range 40 {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 2})
		topic := dispatch.NewTopic(d, "a", func(_ context.Context, i int) error {
			switch i % 16 {
			case 5:
				panic("publisher")
			case 11:
				runtime.Goexit()
			}
			return nil
		}, dispatch.TopicConfig{})
		var called, closed atomic.Int64
		done := func(err error) {
			called.Add(1)
			if errors.Is(err, dispatch.ErrClosed) {
				closed.Add(1)
			}
		}
		if round%8 == 7 {
			runtime.GOMAXPROCS(1 + round/8%(procs+4))
		}
		const messages = 40
		for i := range messages {
			require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: done}))
			busyFor(time.Duration((i*7+round)%60) * time.Microsecond)
		}
		switch round % 3 {
		case 0:
			require.NoError(t, d.Drain(context.Background()))
			assert.Zero(t, closed.Load())
		case 1:
			topic.Close()
		}
		require.NoError(t, d.Close(context.Background()))
		require.EqualValues(t, messages, called.Load(), "round %d", round)
		s := topic.Stats()
		assert.EqualValues(t, messages, s.Sent+s.Failed+uint64(closed.Load()))
		assert.Zero(t, s.Waiting+s.InFlight+s.Pool.Lent)
		assert.Zero(t, d.Stats().Workers)
	}
}
