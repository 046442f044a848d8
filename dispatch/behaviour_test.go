package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
)

func nothing[T any](context.Context, T) error { return nil }

// logbook is a logger whose lines can be read.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logbook) lines(containing string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, containing) {
			found = append(found, line)
		}
	}
	return found
}

func TestCacheKeysShareNothing(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	seen := map[*cloud]uint64{}
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, c *cloud) error {
		if class, ok := seen[c]; ok && class != c.class {
			return fmt.Errorf("instance of class %d got class %d", class, c.class)
		}
		seen[c] = c.class
		return nil
	}, dispatch.TopicConfig{Ordered: true, Depth: 4})
	for i := range 100 {
		require.True(t, topic.TryQueue(&cloud{class: uint64(i % 3), points: make([]float32, 10)}))
	}
	require.NoError(t, d.Drain(context.Background()))
	s := topic.Stats()
	assert.Zero(t, s.Failed)
	assert.Equal(t, 3, s.Pool.Keys)
	assert.LessOrEqual(t, len(seen), 4+2+1)
	assert.EqualValues(t, 40*s.Pool.Idle, s.Pool.IdleBytes)
}

// However many keys there are, the pool holds no more than the topic can use.
func TestPoolIsBounded(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 2})
	topic := dispatch.NewTopic(d, "a", nothing[*cloud], dispatch.TopicConfig{Depth: 3})
	for i := range 1000 {
		require.True(t, topic.TryQueue(&cloud{class: uint64(i)}))
	}
	require.NoError(t, d.Drain(context.Background()))
	assert.LessOrEqual(t, topic.Stats().Pool.Idle, 3+2)
}

func TestPoolIsTrimmedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, TrimTimeout: 30 * time.Second})
		hold := make(chan struct{})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error { <-hold; return nil }, dispatch.TopicConfig{})
		for range 10 {
			require.True(t, topic.TryQueue(&cloud{}))
		}
		close(hold)
		require.NoError(t, d.Drain(context.Background()))
		require.Equal(t, 10, topic.Stats().Pool.Idle)
		for range 90 { // one at a time: the other nine are surplus
			time.Sleep(time.Second)
			require.True(t, topic.TryQueue(&cloud{}))
		}
		synctest.Wait()
		assert.Equal(t, 1, topic.Stats().Pool.Idle)
		time.Sleep(2 * time.Minute)
		assert.Equal(t, dispatch.PoolStats{}, topic.Stats().Pool)
		require.NoError(t, d.Close(context.Background()))
	})
}

// MaxBytes bounds the queue; a message beyond it by itself is let in alone.
func TestMaxBytes(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	started, hold := make(chan struct{}, 9), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *cloud) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{Policy: dispatch.DropNewest, MaxBytes: 100})
	offer := func(points int) bool { return topic.TryQueue(&cloud{points: make([]float32, points)}) }
	require.True(t, offer(1))
	<-started
	assert.True(t, offer(1000), "4000 bytes into an empty queue")
	assert.False(t, offer(1))
	hold <- struct{}{}
	<-started
	assert.True(t, offer(20))
	assert.False(t, offer(6))
	assert.True(t, offer(5))
	assert.EqualValues(t, 100, topic.Stats().WaitingBytes)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.EqualValues(t, 4, topic.Stats().Sent)
}

func TestTopicClose(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	lane := dispatch.NewLane(d)
	started, hold := make(chan struct{}), make(chan struct{})
	publish := func(_ context.Context, n int) error {
		if n == 0 {
			close(started)
		}
		<-hold
		return nil
	}
	a := dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: lane})
	b := dispatch.NewTopic(d, "b", publish, dispatch.TopicConfig{Lane: lane})
	var fatesA, fatesB fates
	require.True(t, a.TryQueueTask(0, dispatch.Task{Done: fatesA.done}))
	<-started
	require.True(t, b.TryQueueTask(1, dispatch.Task{Done: fatesB.done}))
	require.True(t, a.TryQueueTask(2, dispatch.Task{Done: fatesA.done, Token: "x"}))
	a.Close()
	a.Close()
	assert.Equal(t, []error{dispatch.ErrClosed}, fatesA.all(), "the waiting one; the other is being sent")
	assert.False(t, a.TryQueueTask(3, dispatch.Task{Done: fatesA.done}))
	assert.True(t, b.TryQueueTask(4, dispatch.Task{Done: fatesB.done, Token: "x"}), "the token is free again")
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, []error{dispatch.ErrClosed, dispatch.ErrClosed, nil}, fatesA.all())
	assert.Equal(t, []error{nil, nil}, fatesB.all())
	require.Len(t, d.Stats().Topics, 1)
	assert.Equal(t, "b", d.Stats().Topics[0].Name)
	assert.EqualValues(t, 1, a.Stats().Sent, "a closed topic keeps its counts")
}

func TestPublishFollowsTheRules(t *testing.T) {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	broken := errors.New("broken")
	topic := dispatch.NewTopic(d, "a", func(_ context.Context, n int) error {
		switch n {
		case 1:
			return broken
		case 2:
			panic(broken)
		case 3:
			runtime.Goexit()
		}
		return nil
	}, dispatch.TopicConfig{})
	ctx := context.Background()
	assert.NoError(t, topic.Publish(ctx, 0))
	assert.Equal(t, broken, topic.Publish(ctx, 1))
	var panicked *dispatch.PanicError
	assert.ErrorAs(t, topic.Publish(ctx, 2), &panicked)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = topic.Publish(ctx, 3)
	}()
	<-ended
	require.NoError(t, d.Drain(ctx))
	require.NoError(t, d.Close(ctx))
	assert.ErrorIs(t, topic.Publish(ctx, 0), dispatch.ErrClosed)
	s := topic.Stats()
	assert.EqualValues(t, 1, s.Sent)
	assert.EqualValues(t, 3, s.Failed)
	assert.Equal(t, map[dispatch.Cause]uint64{dispatch.CauseConvertFailed: 3, dispatch.CauseClosed: 1}, s.Dropped)
}

func TestCopyPanicIsTheMessagesFate(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	topic := dispatch.NewTopic(d, "a", nothing[*cloud], dispatch.TopicConfig{Depth: 1})
	var f fates
	for range 5 { // no room is lost by it
		assert.False(t, topic.TryQueueTask(nil, dispatch.Task{Done: f.done, Token: 1}))
	}
	hollow := dispatch.NewTopic(d, "b", nothing[*hollow], dispatch.TopicConfig{Depth: 1})
	for range 5 {
		assert.False(t, hollow.TryQueueTask(nil, dispatch.Task{Done: f.done, Token: 1}))
	}
	for _, err := range f.all() {
		var panicked *dispatch.PanicError
		assert.ErrorAs(t, err, &panicked)
	}
	assert.Len(t, f.all(), 10)
	assert.True(t, topic.TryQueueTask(&cloud{}, dispatch.Task{Token: 1}))
	require.NoError(t, d.Drain(context.Background()))
	assert.Zero(t, hollow.Stats().Pool.Lent)
}

// hollow panics while it is copied.
type hollow struct{ n int }

func (h *hollow) CopyToCache(dst *hollow) { dst.n = h.n }
func (h *hollow) CacheKey() uint64        { return 0 }

func TestSubscriber(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	handled := make(chan int, 10)
	handle := func(_ context.Context, n int) error {
		if n < 0 {
			return errors.New("negative")
		}
		handled <- n
		return nil
	}
	for _, sync := range []bool{true, false} {
		s := dispatch.NewSubscriber(d, "/in", handle, dispatch.SubscriberConfig{Sync: sync})
		require.NoError(t, s.Err())
		assert.True(t, s.Deliver(1))
		assert.Equal(t, 1, <-handled)
		assert.Equal(t, !sync, s.Deliver(-1), "an asynchronous one only says that it was taken")
		d.Pause()
		assert.False(t, s.Deliver(2))
		d.Resume()
		require.NoError(t, d.Drain(context.Background()))
		s.Close()
		assert.False(t, s.Deliver(3))
		stats := s.Stats()
		assert.EqualValues(t, 1, stats.Sent)
		assert.Equal(t, map[dispatch.Cause]uint64{
			dispatch.CausePaused: 1, dispatch.CauseConvertFailed: 1, dispatch.CauseClosed: 1,
		}, stats.Dropped)
	}
	bad := dispatch.NewSubscriber[int](d, "/in", nil, dispatch.SubscriberConfig{})
	assert.ErrorIs(t, bad.Err(), dispatch.ErrConfig)
}

// D6: one warning with figures, however often senders wait.
func TestBlockingIsWarnedOfOnce(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger(), MaxWorkers: 1})
	topic := dispatch.NewTopic(d, "/slow", func(context.Context, int) error {
		runtime.Gosched()
		return nil
	}, dispatch.TopicConfig{Depth: 1})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for i := range 100 {
				topic.TryQueue(i)
			}
		})
	}
	senders.Wait()
	require.NoError(t, d.Drain(context.Background()))
	lines := log.lines("queue is full")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "topic=/slow")
	assert.Contains(t, lines[0], "depth=1")
}

// A failing publisher is logged once a second with its count, the rest at the end.
func TestFailuresAreLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		d := dispatch.New(dispatch.Config{Logger: log.logger()})
		topic := dispatch.NewTopic(d, "/a", func(context.Context, int) error { return errors.New("no peer") }, dispatch.TopicConfig{})
		for i := range 250 {
			require.True(t, topic.TryQueueTask(i, dispatch.Task{Done: func(error) {
				if i == 0 {
					panic("in callback")
				}
			}}))
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, d.Drain(context.Background()))
		require.NoError(t, d.Close(context.Background()))
		lines := log.lines("publish failed")
		require.Len(t, lines, 4)
		for i, failures := range []int{1, 100, 100, 49} {
			assert.Contains(t, lines[i], fmt.Sprintf("failures=%d ", failures))
		}
		assert.Len(t, log.lines("callback panicked"), 1)
	})
}

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

func TestDrainAndCloseEndWithTheirContext(t *testing.T) {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error { <-hold; return nil }, dispatch.TopicConfig{})
	require.True(t, topic.TryQueue(1))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, d.Drain(ended), context.Canceled)
	assert.ErrorIs(t, d.Close(ended), context.Canceled, "its publisher doesn't heed the context")
	select {
	case <-d.Closed():
		t.Error("closed while a publisher runs")
	default:
	}
	close(hold)
	<-d.Closed()
	require.NoError(t, d.Close(context.Background()))
}

func TestPolicyNames(t *testing.T) {
	for _, name := range []string{"block", "drop_newest", "drop_oldest"} {
		var p dispatch.Policy
		require.NoError(t, p.UnmarshalText([]byte(name)))
		text, err := p.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
	}
	_, err := dispatch.ParsePolicy("drop")
	assert.ErrorIs(t, err, dispatch.ErrConfig)
	assert.ErrorContains(t, err, "drop_oldest")
	_, err = dispatch.Policy(7).MarshalText()
	assert.ErrorIs(t, err, dispatch.ErrConfig)
	assert.Equal(t, "Policy(7)", dispatch.Policy(7).String())
}
