package dispatch_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// quiet is a logger for tests that provoke warnings.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// newDispatcher returns a dispatcher that the test's end closes.
func newDispatcher(t testing.TB, cfg dispatch.Config) *dispatch.Dispatcher {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	d := dispatch.New(cfg)
	t.Cleanup(func() {
		require.NoError(t, d.Close(context.Background()))
		assert.Zero(t, d.Stats().Workers)
	})
	return d
}

// cloud is a ThreadCached, Sized and Stamped message.
type cloud struct {
	points []float32
	stamp  int64
	class  uint64
}

func (c *cloud) CopyToCache(dst *cloud) {
	dst.points = append(dst.points[:0], c.points...)
	dst.stamp, dst.class = c.stamp, c.class
}
func (c *cloud) CacheKey() uint64 { return c.class }
func (c *cloud) SizeBytes() int64 { return int64(4 * len(c.points)) }
func (c *cloud) Stamp() int64     { return c.stamp }

var _ dispatch.ThreadCached[*cloud] = (*cloud)(nil)

// fates collects what Done callbacks received.
type fates struct {
	mu   sync.Mutex
	errs []error
}

func (f *fates) done(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
}

func (f *fates) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.errs)
}

func TestSentMessageResolvesOnce(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	var got []int
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, n int) error {
		got = append(got, n)
		return nil
	}, dispatch.TopicConfig{Ordered: true})
	var f fates
	for i := range 100 {
		require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: f.done}))
	}
	require.NoError(t, d.Drain(context.Background()))
	require.Len(t, got, 100)
	assert.True(t, slices.IsSorted(got), "an ordered topic sends in order")
	assert.Equal(t, make([]error, 100), f.all())
	s := topic.Stats()
	assert.EqualValues(t, 100, s.Queued)
	assert.EqualValues(t, 100, s.Sent)
	assert.Empty(t, s.Dropped)
	assert.EqualValues(t, 100, s.QueueTime.TotalCount())
	assert.EqualValues(t, 100, s.PublishTime.TotalCount())
}

// D3: the sender's buffer may be overwritten as soon as TryQueue returns.
func TestCachedMessageIsCopied(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	hold := make(chan struct{})
	var got [][]float32
	topic := dispatch.NewTopic(d, "cloud", func(_ context.Context, c *cloud) error {
		<-hold
		got = append(got, slices.Clone(c.points))
		return nil
	}, dispatch.TopicConfig{Ordered: true})
	sent := &cloud{}
	for i := range 5 {
		sent.points = append(sent.points[:0], float32(i), float32(2*i))
		require.True(t, topic.TryQueue(sent))
	}
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, [][]float32{{0, 0}, {1, 2}, {2, 4}, {3, 6}, {4, 8}}, got)
}

func TestPauseDropsWithCallback(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error { return nil }, dispatch.TopicConfig{})
	d.Pause()
	require.True(t, d.Paused())
	var f fates
	assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	assert.ErrorIs(t, topic.Publish(context.Background(), 1), dispatch.ErrPaused)
	assert.Equal(t, []error{dispatch.ErrPaused}, f.all(), "Done ran before TryQueueTask returned")
	d.Resume()
	assert.True(t, topic.TryQueue(2))
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, map[flow.Cause]uint64{flow.CausePaused: 2}, topic.Stats().Dropped)
}

// D4: one task per token; the token is free when the callback runs.
func TestExclusiveToken(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error { <-hold; return nil }, dispatch.TopicConfig{})
	again := make(chan bool, 1)
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Token: "lidar", Done: func(error) {
		again <- topic.TryQueueTask(3, dispatch.Task{Token: "lidar"})
	}}))
	var f fates
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: "lidar", Done: f.done}))
	assert.Equal(t, []error{dispatch.ErrTokenBusy}, f.all())
	assert.True(t, topic.TryQueueTask(2, dispatch.Task{Token: "camera"}), "another token is another matter")
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: []int{1}, Done: f.done}))
	assert.ErrorIs(t, f.all()[1], dispatch.ErrToken)
	assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: [1]any{func() {}}, Done: f.done}))
	assert.ErrorIs(t, f.all()[2], dispatch.ErrToken)
	// What isn't equal to itself can't be in use.
	for i, token := range []any{math.NaN(), [2]float64{0, math.NaN()}, struct{ x any }{math.NaN()}} {
		assert.False(t, topic.TryQueueTask(2, dispatch.Task{Token: token, Done: f.done}))
		assert.ErrorIs(t, f.all()[3+i], dispatch.ErrToken)
	}
	close(hold)
	assert.True(t, <-again)
	require.NoError(t, d.Drain(context.Background()))
}

func TestWaitForToken(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	var running, most atomic.Int32
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
		most.Store(max(most.Load(), running.Add(1)))
		runtime.Gosched()
		running.Add(-1)
		return nil
	}, dispatch.TopicConfig{WaitForToken: true})
	for i := range 200 {
		require.True(t, topic.TryQueueTask(i, dispatch.Task{Token: "only"}))
	}
	require.NoError(t, d.Drain(context.Background()))
	assert.EqualValues(t, 1, most.Load())
	assert.EqualValues(t, 200, topic.Stats().Sent)
}

// D6, with a publisher that is held so that the queue fills.
func TestPolicyWhenFull(t *testing.T) {
	type outcome struct {
		sent    []int
		refused []int
		evicted []int
	}
	tests := []struct {
		policy flow.Policy
		want   outcome
	}{
		{flow.DropNewest, outcome{sent: []int{0, 1, 2}, refused: []int{3, 4}}},
		{flow.DropOldest, outcome{sent: []int{0, 3, 4}, evicted: []int{1, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.policy.String(), func(t *testing.T) {
			d := newDispatcher(t, dispatch.Config{})
			hold, started := make(chan struct{}), make(chan struct{}, 10)
			var got outcome
			topic := dispatch.NewTopic(d, "a", func(_ context.Context, n int) error {
				started <- struct{}{}
				<-hold
				got.sent = append(got.sent, n)
				return nil
			}, dispatch.TopicConfig{Policy: tt.policy, Ordered: true, Depth: 2})
			for i := range 5 {
				ok := topic.TryQueueTask(i, dispatch.Task{Done: func(err error) {
					if err != nil && i < 3 {
						assert.Equal(t, dispatch.ErrFull, err)
						got.evicted = append(got.evicted, i)
					}
				}})
				if !ok {
					got.refused = append(got.refused, i)
				}
				if i == 0 {
					<-started
				}
			}
			close(hold)
			require.NoError(t, d.Drain(context.Background()))
			assert.Equal(t, tt.want, got)
			assert.Equal(t, map[flow.Cause]uint64{flow.CauseQueueFull: 2}, topic.Stats().Dropped)
		})
	}
}

func TestBlockWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}, dispatch.TopicConfig{Depth: 2})
		start := time.Now()
		for i := range 3 {
			require.True(t, topic.TryQueue(i))
			synctest.Wait()
		}
		assert.Zero(t, time.Since(start), "one runs, two wait: no blocking yet")
		require.True(t, topic.TryQueue(3))
		assert.Equal(t, time.Second, time.Since(start))
		require.NoError(t, d.Drain(context.Background()))
		assert.Equal(t, 4*time.Second, time.Since(start))
		require.NoError(t, d.Close(context.Background()))
	})
}

func TestBlockLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(time.Minute)
			return nil
		}, dispatch.TopicConfig{Depth: 1, BlockLimit: time.Second})
		require.True(t, topic.TryQueue(0))
		synctest.Wait()
		require.True(t, topic.TryQueue(1))
		start := time.Now()
		var f fates
		assert.False(t, topic.TryQueueTask(2, dispatch.Task{Done: f.done}))
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, []error{dispatch.ErrFull}, f.all())
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}

// A sender that gives up lets those behind it proceed, for whom there was room all the
// time.
func TestBlockLimitOfTheFirstInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error {
			time.Sleep(5 * time.Second)
			return nil
		}, dispatch.TopicConfig{Depth: 9, MaxBytes: 100, BlockLimit: time.Second})
		of := func(bytes int) *cloud { return &cloud{points: make([]float32, bytes/4)} }
		require.True(t, topic.TryQueue(of(60)))
		synctest.Wait()
		require.True(t, topic.TryQueue(of(60)))
		start := time.Now()
		go func() { assert.False(t, topic.TryQueue(of(80))) }()
		time.Sleep(time.Second / 2)
		go func() { assert.False(t, topic.TryQueue(of(44))) }()
		time.Sleep(time.Second / 4)
		assert.True(t, topic.TryQueue(of(12)), "40 bytes were free")
		assert.Equal(t, 3*time.Second/2, time.Since(start), "when the second in line gave up, too")
		assert.True(t, topic.TryQueue(of(28)))
		assert.Equal(t, map[flow.Cause]uint64{flow.CauseQueueFull: 2}, topic.Stats().Dropped)
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}

// The context's end discards what is queued and ends a blocked call.
func TestContextEndsBlockedCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	d := newDispatcher(t, dispatch.Config{Context: ctx, MaxWorkers: 1})
	started := make(chan struct{}, 1)
	topic := dispatch.NewTopic(d, "a", func(ctx context.Context, _ int) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, dispatch.TopicConfig{Depth: 1})
	var f fates
	require.True(t, topic.TryQueueTask(0, dispatch.Task{Done: f.done}))
	<-started
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	blocked := make(chan bool)
	go func() { blocked <- topic.TryQueueTask(2, dispatch.Task{Done: f.done}) }()
	for topic.Stats().Blocked == 0 {
		runtime.Gosched()
	}
	cancel()
	assert.False(t, <-blocked)
	<-d.Closed()
	errs := f.all()
	require.Len(t, errs, 3)
	closed := 0
	for _, err := range errs {
		if errors.Is(err, dispatch.ErrClosed) {
			closed++
		} else {
			assert.ErrorIs(t, err, context.Canceled)
		}
	}
	assert.Equal(t, 2, closed)
	assert.Equal(t, map[flow.Cause]uint64{flow.CauseClosed: 3}, topic.Stats().Dropped)
}

// D7: neither a panic nor a Goexit costs a worker, a token or a cached message.
func TestPanicsCostNothing(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, c *cloud) error {
		switch c.stamp {
		case 0:
			panic(io.ErrClosedPipe)
		case 1:
			runtime.Goexit()
		}
		return nil
	}, dispatch.TopicConfig{Ordered: true, WaitForToken: true})
	var f fates
	for i := range 4 {
		require.True(t, topic.TryQueueTask(&cloud{stamp: int64(i)}, dispatch.Task{Token: 1, Done: func(err error) {
			f.done(err)
			if i == 2 {
				panic("in the callback")
			}
			if i == 3 {
				runtime.Goexit()
			}
		}}))
		require.NoError(t, d.Drain(context.Background()))
	}
	require.True(t, topic.TryQueueTask(&cloud{stamp: 9}, dispatch.Task{Token: 1, Done: f.done}))
	require.NoError(t, d.Drain(context.Background()))
	errs := f.all()
	require.Len(t, errs, 5)
	var panicked *dispatch.PanicError
	require.ErrorAs(t, errs[0], &panicked)
	assert.NotEmpty(t, panicked.Stack)
	assert.ErrorIs(t, errs[0], io.ErrClosedPipe)
	require.ErrorAs(t, errs[1], &panicked)
	assert.Equal(t, []error{nil, nil, nil}, errs[2:])
	s := topic.Stats()
	assert.EqualValues(t, 2, s.Failed)
	assert.EqualValues(t, 3, s.Sent)
	assert.Equal(t, 1, s.Pool.Idle, "the one cached message served all five tasks")
	assert.Zero(t, s.Pool.Lent)
	assert.Equal(t, 1, d.Stats().Workers)
}

// D7: nor does a callback that ends the goroutine that its publisher has ended.
func TestCallbackOfAGoexitMayGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			runtime.Goexit()
			return nil
		}, dispatch.TopicConfig{})
		for i := range 3 {
			require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: func(error) { runtime.Goexit() }}))
		}
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 3, topic.Stats().Failed)
		assert.Equal(t, 1, d.Stats().Workers)
	})
}

// A lane's topics are sent in the order of the TryQueue calls.
func TestSharedLaneKeepsOrderAcrossTopics(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	lane := dispatch.NewLane(d)
	var got []int
	record := func(_ context.Context, n int) error {
		got = append(got, n)
		return nil
	}
	var topics []*dispatch.Topic[int]
	for _, name := range []string{"a", "b", "c"} {
		topics = append(topics, dispatch.NewTopic(d, name, record, dispatch.TopicConfig{Lane: lane, Depth: 3}))
	}
	want := make([]int, 1000)
	for i := range want {
		want[i] = i
		require.True(t, topics[i*i%3].TryQueue(i))
	}
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, want, got)
}

// T4: a gated message waits for the clock tick of its stamp.
func TestGateHoldsUntilRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet})
		var sent []int64
		topic := dispatch.NewTopic(d, "cloud", func(_ context.Context, c *cloud) error {
			sent = append(sent, c.stamp)
			return nil
		}, dispatch.TopicConfig{Ordered: true, Gated: true})
		for _, stamp := range []int64{0, 5, 10, 20} {
			require.True(t, topic.TryQueue(&cloud{stamp: stamp}))
		}
		synctest.Wait()
		assert.Empty(t, sent, "no clock yet")
		d.Release(0)
		synctest.Wait()
		assert.Equal(t, []int64{0}, sent)
		d.Release(10)
		synctest.Wait()
		assert.Equal(t, []int64{0, 5, 10}, sent)
		d.Release(3) // the clock jumped back: 20 would wait for good
		synctest.Wait()
		assert.Equal(t, []int64{0, 5, 10, 20}, sent)
		require.True(t, topic.TryQueue(&cloud{stamp: 4}))
		time.Sleep(2 * time.Second) // the clock has stopped
		synctest.Wait()
		assert.Equal(t, []int64{0, 5, 10, 20, 4}, sent)
		d.ReleaseAll()
		require.True(t, topic.TryQueue(&cloud{stamp: 1 << 60}))
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
	})
}
