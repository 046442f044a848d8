package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
)

// stressTopic checks, under load, what holds for every schedule.
type stressTopic struct {
	topic   *dispatch.Topic[*parcel]
	ordered bool

	offered, refused, called atomic.Int64
	lastOf                   [stressProducers]atomic.Int64
	broken                   atomic.Pointer[string]
}

const (
	stressProducers = 4
	stressMessages  = 1500
)

func (s *stressTopic) breach(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.broken.CompareAndSwap(nil, &text)
}

func (s *stressTopic) publish(_ context.Context, p *parcel) error {
	for _, b := range p.body {
		if b != byte(p.id) {
			s.breach("message %d was overwritten", p.id)
		}
	}
	if s.ordered { // one at a time, and in the order of each producer
		if last := s.lastOf[p.stamp].Swap(int64(p.id)); last >= int64(p.id) {
			s.breach("message %d after %d", p.id, last)
		}
	}
	switch p.id % 23 {
	case 3:
		return errVerdict
	case 5:
		panic("stress")
	case 7:
		runtime.Goexit()
	case 11:
		runtime.Gosched()
	}
	return nil
}

func (s *stressTopic) produce(producer int, rng *rand.Rand) {
	p := &parcel{stamp: simtime.Stamp(producer)}
	for i := range stressMessages {
		p.id = i + 1
		p.body = p.body[:0]
		for range rng.IntN(64) {
			p.body = append(p.body, byte(p.id))
		}
		s.offered.Add(1)
		token := rng.IntN(4)
		task := dispatch.Task{Done: s.done(token, p.id)}
		if token > 0 {
			task.Token = token
		}
		before := s.called.Load()
		if !s.topic.TryQueueTask(p, task) {
			s.refused.Add(1)
			if s.called.Load() == before {
				s.breach("a refused message was not called back before the call returned")
			}
		}
	}
}

func (s *stressTopic) done(token, id int) func(error) {
	var calls atomic.Int32
	return func(error) {
		s.called.Add(1)
		if calls.Add(1) > 1 {
			s.breach("message %d was called back twice", id)
		}
		if id%29 == 0 {
			panic("stress callback")
		}
	}
}

// TestUnderLoad runs real goroutines against each other. Several producers send on topics of
// every kind while the dispatcher is paused, resumed, drained and at last closed at a random
// moment.
func TestUnderLoad(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range uint64(4) {
		t.Run(fmt.Sprint(round), func(t *testing.T) { stressRound(t, rand.New(rand.NewPCG(seed, round)), round%2 == 0) })
	}
}

func stressRound(t *testing.T, rng *rand.Rand, closeEarly bool) {
	goroutines := runtime.NumGoroutine()
	d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1 + rng.IntN(6), IdleTimeout: time.Millisecond, TrimTimeout: time.Millisecond})
	lane := dispatch.NewLane(d)
	var topics []*stressTopic
	for policy := flow.Block; policy <= flow.DropOldest; policy++ {
		for kind := range 3 {
			s := &stressTopic{ordered: kind > 0}
			cfg := dispatch.TopicConfig{Policy: policy, Depth: 1 + rng.IntN(16), Ordered: kind == 1, WaitForToken: rng.IntN(2) == 0}
			if kind == 2 {
				cfg.Lane = lane
			}
			s.topic = dispatch.NewTopic(d, fmt.Sprintf("%v/%d", policy, kind), s.publish, cfg)
			topics = append(topics, s)
		}
	}
	var producers sync.WaitGroup
	for _, s := range topics {
		for producer := range stressProducers {
			source := rand.New(rand.NewPCG(rng.Uint64(), 0))
			producers.Go(func() { s.produce(producer, source) })
		}
	}
	for range 20 {
		d.Pause()
		runtime.Gosched()
		d.Resume()
		d.Stats()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if closeEarly {
		require.NoError(t, d.Close(ctx))
		producers.Wait()
	} else {
		producers.Wait()
		require.NoError(t, d.Drain(ctx))
	}
	for _, s := range topics {
		s.checkEnd(t)
	}
	require.NoError(t, d.Close(ctx))
	assert.Zero(t, d.Stats().Workers)
	for runtime.NumGoroutine() > goroutines && ctx.Err() == nil {
		runtime.Gosched() // goroutines that have let go of everything may not have ended yet
	}
	assert.NoError(t, ctx.Err(), "a goroutine was left behind")
}

func (s *stressTopic) checkEnd(t *testing.T) {
	t.Helper()
	if broken := s.broken.Load(); broken != nil {
		t.Errorf("%s: %s", s.topic.Name(), *broken)
	}
	assert.Equal(t, s.offered.Load(), s.called.Load(), "%s: each message is called back once", s.topic.Name())
	stats := s.topic.Stats()
	assert.EqualValues(t, s.offered.Load()-s.refused.Load(), stats.Queued)
	assert.Zero(t, stats.Pool.Lent)
	assert.Zero(t, stats.InFlight+stats.Waiting+stats.Blocked)
	assert.EqualValues(t, s.offered.Load(), int64(stats.Sent)+stats.Dropped.Total(), "each message is counted once")
}

// D8: steady state allocates nothing.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	cached := dispatch.NewTopic(d, "cached", func(context.Context, *parcel) error { return nil }, dispatch.TopicConfig{Depth: 8})
	plain := dispatch.NewTopic(d, "plain", func(context.Context, [8]uint64) error { return nil }, dispatch.TopicConfig{Depth: 8, Ordered: true})
	p := &parcel{body: make([]byte, 4096)}
	done := func(error) {}
	queue := func() {
		cached.TryQueueTask(p, dispatch.Task{Done: done, Token: d})
		cached.TryQueueTask(p, dispatch.Task{Done: done})
		plain.TryQueueTask([8]uint64{}, dispatch.Task{Done: done})
	}
	for range 1000 { // fills the pools
		queue()
	}
	allocs := testing.AllocsPerRun(2000, queue)
	assert.Zero(t, allocs)
}

// Callbacks of all workers may queue on a full topic with policy Block: a further
// worker empties it.
func TestCallbacksMayQueueOnAFullTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		var sent atomic.Int32
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			sent.Add(1)
			return nil
		}, dispatch.TopicConfig{Depth: 1})
		var chain func(n int) func(error)
		chain = func(n int) func(error) {
			return func(err error) {
				if err == nil && n > 0 {
					topic.TryQueueTask(n, dispatch.Task{Done: chain(n - 1), FromCallback: true})
					topic.TryQueueTask(n, dispatch.Task{Done: chain(n - 1), FromCallback: true})
				}
			}
		}
		require.True(t, topic.TryQueueTask(0, dispatch.Task{Done: chain(8)}))
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 1<<9-1, sent.Load())
		require.NoError(t, d.Close(context.Background()))
	})
}
