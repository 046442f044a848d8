package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A publisher that hangs on one topic doesn't keep others waiting.
func TestHangingPublisherLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 2})
		slow := dispatch.NewTopic(d, "slow", func(context.Context, int) error {
			time.Sleep(time.Minute)
			return nil
		}, dispatch.TopicConfig{Ordered: true})
		var worst atomic.Int64
		fast := dispatch.NewTopic(d, "fast", func(_ context.Context, sent time.Time) error {
			worst.Store(max(worst.Load(), int64(time.Since(sent))))
			return nil
		}, dispatch.TopicConfig{Ordered: true})
		for range 5 {
			require.True(t, slow.TryQueue(1))
		}
		for range 100 {
			require.True(t, fast.TryQueue(time.Now()))
			time.Sleep(10 * time.Millisecond)
		}
		assert.LessOrEqual(t, time.Duration(worst.Load()), 2*time.Millisecond)
		require.NoError(t, d.Close(context.Background()))
	})
}

// D5: workers come with the backlog and go by idle time.
func TestWorkersFollowTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 4, IdleTimeout: time.Second})
		assert.Equal(t, 1, d.Stats().Workers)
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}, dispatch.TopicConfig{})
		for i := range 40 {
			require.True(t, topic.TryQueue(i))
		}
		time.Sleep(50 * time.Millisecond)
		assert.Equal(t, 4, d.Stats().Workers)
		require.NoError(t, d.Drain(context.Background()))
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, 4, d.Stats().Workers, "not idle long enough")
		time.Sleep(2 * time.Second)
		assert.Equal(t, 1, d.Stats().Workers)
		require.NoError(t, d.Close(context.Background()))
	})
}

// slowly is a publisher that takes d.
func slowly(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error {
		time.Sleep(d)
		return nil
	}
}

// One worker is enough while the queue is emptied within a cycle.
func TestOneWorkerForShortQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 4, Cycle: 10 * time.Millisecond})
		took := 100 * time.Microsecond
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(took)
			return nil
		}, dispatch.TopicConfig{})
		send := func() {
			for i := range 60 {
				require.True(t, topic.TryQueue(i))
			}
			time.Sleep(5 * time.Millisecond)
		}
		for range 50 {
			send()
			assert.Equal(t, 1, d.Stats().Workers, "6 ms of work")
			require.NoError(t, d.Drain(context.Background()))
		}
		took = time.Millisecond
		send()
		assert.Greater(t, d.Stats().Workers, 1, "60 ms of work")
		require.NoError(t, d.Close(context.Background()))
	})
}

// What ends workers is the time that they are idle, neither requests nor their absence. A
// trickle that one worker can serve doesn't keep the others.
func TestWorkersGoByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 4, IdleTimeout: time.Second})
		topic := dispatch.NewTopic(d, "a", slowly(10*time.Millisecond), dispatch.TopicConfig{})
		for i := range 60 {
			require.True(t, topic.TryQueue(i))
		}
		require.NoError(t, d.Drain(context.Background()))
		require.Equal(t, 4, d.Stats().Workers)
		for i := range 40 { // 0.8 s, many requests
			require.True(t, topic.TryQueue(i))
			time.Sleep(20 * time.Millisecond)
		}
		assert.Equal(t, 4, d.Stats().Workers)
		for i := range 60 { // another 1.2 s
			require.True(t, topic.TryQueue(i))
			time.Sleep(20 * time.Millisecond)
		}
		assert.Equal(t, 1, d.Stats().Workers)
		require.NoError(t, d.Close(context.Background()))
	})
}

func TestWorkersAreBoundedByTheProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet})
		topic := dispatch.NewTopic(d, "a", slowly(time.Second), dispatch.TopicConfig{Depth: 1000})
		for i := range 1000 {
			require.True(t, topic.TryQueue(i))
		}
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, min(runtime.GOMAXPROCS(0), runtime.NumCPU()), d.Stats().Workers)
		require.NoError(t, d.Close(context.Background()))
	})
}

// Slow callbacks are no reason for workers beyond the limit, callbacks that wait
// for room are.
func TestWorkersBeyondTheLimit(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
			topic := dispatch.NewTopic(d, "a", slowly(0), dispatch.TopicConfig{Depth: 1})
			require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: func(error) {
				if waits {
					topic.TryQueueTask(3, dispatch.Task{FromCallback: true})
					topic.TryQueueTask(4, dispatch.Task{FromCallback: true})
				} else {
					time.Sleep(time.Second)
				}
			}}))
			synctest.Wait()
			topic.TryQueue(2)
			time.Sleep(500 * time.Millisecond)
			want := 1
			if waits {
				want = 2
			}
			assert.Equal(t, want, d.Stats().Workers)
			require.NoError(t, d.Drain(context.Background()))
			require.NoError(t, d.Close(context.Background()))
		})
	}
}

// watchWorkers looks n times, a period apart, and returns the most workers that there were.
func watchWorkers(d *dispatch.Dispatcher, n int, period time.Duration) (most int) {
	for range n {
		time.Sleep(period)
		most = max(most, d.Stats().Workers)
	}
	return most
}

// However many senders wait while callbacks are slow, MaxWorkers holds: be the senders
// goroutines of the program's or callbacks of another dispatcher.
func TestSlowCallbacksStartNoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 20})
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 2})
		topic := dispatch.NewTopic(d, "slow", nothing[int], dispatch.TopicConfig{Depth: 1})
		slow := dispatch.Task{Done: func(error) { time.Sleep(100 * time.Millisecond) }}
		for range 30 {
			go topic.TryQueueTask(1, slow)
		}
		elsewhere := dispatch.NewTopic(other, "quick", nothing[int], dispatch.TopicConfig{})
		for range 20 {
			require.True(t, elsewhere.TryQueueTask(1, dispatch.Task{Done: func(error) { topic.TryQueueTask(1, slow) }}))
		}
		assert.Equal(t, 2, watchWorkers(d, 300, 10*time.Millisecond))
		require.NoError(t, other.Drain(context.Background()))
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 50, topic.Stats().Sent)
		require.NoError(t, other.Close(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}

// As many workers again as MaxWorkers stand in for callbacks that wait in TryQueue, for room
// or for a token, and beside slow ones. All of these callbacks end, however many they are.
func TestWaitingCallbacksAreRelieved(t *testing.T) {
	for _, maxWorkers := range []int{1, 3} {
		for _, waitsFor := range []string{"room", "token"} {
			t.Run(fmt.Sprintf("%d workers, %s", maxWorkers, waitsFor), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { relieveCallbacks(t, maxWorkers, waitsFor == "token") })
			})
		}
	}
}

func relieveCallbacks(t *testing.T, maxWorkers int, tokens bool) {
	d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: maxWorkers})
	cfg := dispatch.TopicConfig{Depth: 1}
	task := dispatch.Task{}
	if tokens {
		cfg.Depth, cfg.WaitForToken, task.Token = 100, true, "x"
	}
	topic := dispatch.NewTopic(d, "a", slowly(10*time.Microsecond), cfg)
	var called atomic.Int64
	// Each message leads to three more, four times over.
	var split func(generation int) dispatch.Task
	split = func(generation int) dispatch.Task {
		task := task
		task.FromCallback = generation > 0
		task.Done = func(error) {
			called.Add(1)
			if generation == 2 {
				time.Sleep(50 * time.Millisecond)
			}
			for range 3 {
				if generation < 4 {
					topic.TryQueueTask(generation, split(generation+1))
				}
			}
		}
		return task
	}
	require.True(t, topic.TryQueueTask(0, split(0)))
	most := watchWorkers(d, 300, time.Millisecond)
	assert.Greater(t, most, maxWorkers)
	assert.LessOrEqual(t, most, 2*maxWorkers)
	require.NoError(t, d.Drain(context.Background()))
	s := topic.Stats()
	assert.Zero(t, s.Dropped[flow.CauseQueueFull])
	assert.EqualValues(t, 1+3+9+27+81, called.Load())
	assert.EqualValues(t, called.Load(), int64(s.Sent)+s.Dropped[flow.CauseTokenBusy])
	require.NoError(t, d.Close(context.Background()))
}

// A sender that waits for each message finds the worker asleep, lingering, or on
// its way to either: none is forgotten.
func TestEachMessageFindsAWorker(t *testing.T) {
	for _, workers := range []int{1, 3} {
		d := newDispatcher(t, dispatch.Config{MaxWorkers: workers})
		topic := dispatch.NewTopic(d, "a", nothing[int], dispatch.TopicConfig{})
		sent := make(chan struct{})
		done := func(error) { sent <- struct{}{} }
		for i := range 20_000 {
			require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: done}))
			for range i % 50 * 20 { // pauses of up to some microseconds
				runtime.KeepAlive(i)
			}
			<-sent
		}
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 20_000, topic.Stats().Sent)
	}
}

// fragile panics while it is copied if it is broken.
type fragile struct{ broken bool }

func (f *fragile) CacheKey() uint64 { return 0 }

func (f *fragile) CopyToCache(dst *fragile) {
	if f.broken {
		panic("copy")
	}
	*dst = *f
}

// A copy that fails leaves its room to a blocked sender, whose message a lingering worker may
// take at once. It is sent once all the same (law D2).
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

// Messages may come as a worker gives up lingering, and the topic or the dispatcher may end at
// that moment. Nothing is lost, whatever the publisher does and however many processors there
// are.
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
			if errors.Is(err, flow.ErrClosed) {
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
