package dispatch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
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

// What ends workers is the time that they are idle, neither requests nor their
// absence: a trickle that one worker can serve doesn't keep the others.
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
					topic.TryQueue(3)
					topic.TryQueue(4)
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
	assert.EqualValues(t, called.Load(), s.Sent+s.Dropped[flow.CauseTokenBusy])
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
