package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/raybridge/raybridge/simtime"
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

// cloud is a ThreadCached, Sized and simtime.Stamped message.
type cloud struct {
	points []float32
	stamp  simtime.Stamp
	class  uint64
}

func (c *cloud) CopyToCache(dst *cloud) {
	dst.points = append(dst.points[:0], c.points...)
	dst.stamp, dst.class = c.stamp, c.class
}

func (c *cloud) CacheKey() uint64 { return c.class }

func (c *cloud) SizeBytes() int64 { return int64(4 * len(c.points)) }

func (c *cloud) Captured() simtime.Stamp { return c.stamp }

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
	assert.EqualValues(t, 100, s.QueueTime.Count)
	assert.EqualValues(t, 100, s.PublishTime.Count)
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
	assert.Equal(t, flow.Drops{flow.CausePaused: 2}, topic.Stats().Dropped)
}

// TestIgnorePause: a clock continues while the dispatcher is paused.
func TestIgnorePause(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{})
	send := func(context.Context, int) error { return nil }
	clock := dispatch.NewTopic(d, "clock", send, dispatch.TopicConfig{IgnorePause: true})
	other := dispatch.NewTopic(d, "other", send, dispatch.TopicConfig{})
	d.Pause()
	assert.True(t, clock.TryQueue(0))
	assert.NoError(t, clock.Publish(t.Context(), 1))
	assert.ErrorIs(t, other.Publish(t.Context(), 2), dispatch.ErrPaused)
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
		require.True(t, topic.TryQueueTask(&cloud{stamp: simtime.Stamp(i)}, dispatch.Task{Token: 1, Done: func(err error) {
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
	var panicked *flow.PanicError
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
			sent = append(sent, int64(c.stamp))
			return nil
		}, dispatch.TopicConfig{Ordered: true, Gated: true})
		for _, stamp := range []int64{0, 5, 10, 20} {
			require.True(t, topic.TryQueue(&cloud{stamp: simtime.Stamp(stamp)}))
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

func nothing[T any](context.Context, T) error { return nil }

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
	assert.Equal(t, []error{flow.ErrClosed}, fatesA.all(), "the waiting one; the other is being sent")
	assert.False(t, a.TryQueueTask(3, dispatch.Task{Done: fatesA.done}))
	assert.True(t, b.TryQueueTask(4, dispatch.Task{Done: fatesB.done, Token: "x"}), "the token is free again")
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, []error{flow.ErrClosed, flow.ErrClosed, nil}, fatesA.all())
	assert.Equal(t, []error{nil, nil}, fatesB.all())
	require.Len(t, d.Stats().Topics, 1)
	assert.Equal(t, "b", d.Stats().Topics[0].Name)
	assert.EqualValues(t, 1, a.Stats().Sent, "a closed topic keeps its counts")
}

// hollow panics while it is copied.
type hollow struct{ n int }

func (h *hollow) CopyToCache(dst *hollow) { dst.n = h.n }

func (h *hollow) CacheKey() uint64 { return 0 }

func TestDrainAndCloseEndWithTheirContext(t *testing.T) {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	started, hold := make(chan struct{}), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
		close(started)
		<-hold
		return nil
	}, dispatch.TopicConfig{})
	require.True(t, topic.TryQueue(1))
	<-started
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

// The histograms hold what was timed: all of the first messages, then a sample.
func TestStatsTellTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		took := 5 * time.Millisecond
		topic := dispatch.NewTopic(d, "a", func(context.Context, int) error {
			time.Sleep(took)
			return nil
		}, dispatch.TopicConfig{})
		for i := range 3 {
			require.True(t, topic.TryQueue(i))
		}
		synctest.Wait()
		s := topic.Stats()
		assert.Equal(t, []int{1, 2}, []int{s.InFlight, s.Waiting})
		require.NoError(t, d.Drain(context.Background()))
		s = topic.Stats()
		for i, queued := range []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond} {
			assert.InDelta(t, queued, s.QueueTime.Quantile(float64(i+1)/3), float64(queued)/32+16)
		}
		assert.InDelta(t, took, s.PublishTime.Quantile(0), float64(took)/32)
		assert.Equal(t, took, s.PublishTime.Max)

		took = 0
		for i := range 997 {
			require.True(t, topic.TryQueue(i))
		}
		require.NoError(t, d.Drain(context.Background()))
		assert.EqualValues(t, 256+(1000-256)/16, topic.Stats().QueueTime.Count)
		require.NoError(t, d.Close(context.Background()))
	})
}

func TestBadConfiguration(t *testing.T) {
	d, other := newDispatcher(t, dispatch.Config{}), newDispatcher(t, dispatch.Config{})
	publish := func(context.Context, int) error { return nil }
	tests := map[string]*dispatch.Topic[int]{
		"no publisher":  dispatch.NewTopic[int](d, "a", nil, dispatch.TopicConfig{}),
		"depth":         dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Depth: -1}),
		"policy":        dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Policy: 9}),
		"foreign lane":  dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: dispatch.NewLane(other)}),
		"no dispatcher": dispatch.NewTopic(nil, "a", publish, dispatch.TopicConfig{}),
		"orphan lane":   dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Lane: dispatch.NewLane(nil)}),
		"without stamp": dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{Gated: true}),
	}
	for name, topic := range tests {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, topic.Err(), dispatch.ErrConfig)
			var f fates
			assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
			require.Len(t, f.all(), 1)
			assert.ErrorIs(t, f.all()[0], dispatch.ErrConfig)
			assert.ErrorIs(t, topic.Publish(context.Background(), 1), dispatch.ErrConfig)
		})
	}
}

func TestUseAfterClose(t *testing.T) {
	d := dispatch.New(dispatch.Config{})
	publish := func(context.Context, int) error { return nil }
	topic := dispatch.NewTopic(d, "a", publish, dispatch.TopicConfig{})
	require.NoError(t, d.Close(context.Background()))
	require.NoError(t, d.Close(context.Background()))
	var f fates
	assert.False(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	late := dispatch.NewTopic(d, "b", publish, dispatch.TopicConfig{})
	assert.False(t, late.TryQueueTask(1, dispatch.Task{Done: f.done}))
	assert.Equal(t, []error{flow.ErrClosed, flow.ErrClosed}, f.all())
	assert.ErrorIs(t, topic.Publish(context.Background(), 1), flow.ErrClosed)
	for _, sync := range []bool{true, false} {
		s := dispatch.NewSubscriber(d, "/in", publish, dispatch.SubscriberConfig{Sync: sync})
		assert.False(t, s.DeliverTask(1, dispatch.Task{Done: f.done}))
		assert.ErrorIs(t, f.all()[len(f.all())-1], flow.ErrClosed)
	}
	assert.NoError(t, d.Drain(context.Background()))
	<-d.Closed()
	d.Pause()
	d.Resume()
	d.Release(1)
	d.ReleaseAll()
	topic.Close()
	late.Close()
	assert.Zero(t, d.Stats().Workers)
}

func TestErrorsNameTheirCause(t *testing.T) {
	tests := []struct {
		err  error
		want flow.Cause
	}{
		{nil, ""},
		{dispatch.ErrPaused, flow.CausePaused},
		{dispatch.ErrTokenBusy, flow.CauseTokenBusy},
		{flow.ErrFull, flow.CauseQueueFull},
		{flow.ErrPeerSlow, flow.CausePeerSlow},
		{flow.ErrClosed, flow.CauseClosed},
		{fmt.Errorf("send: %w", flow.ErrFull), flow.CauseQueueFull},
		{&flow.PanicError{Value: 1}, flow.CauseConvertFailed},
		{&flow.PanicError{Value: flow.ErrClosed}, flow.CauseConvertFailed},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, flow.CauseOf(tt.err), "%v", tt.err)
	}
}

// quitter is a message one of whose own methods ends its goroutine.
type quitter struct{ in string }

func (q *quitter) quit(method string) {
	if q.in == method {
		runtime.Goexit()
	}
}

func (q *quitter) CopyToCache(dst *quitter) { q.quit("copy"); *dst = *q }

func (q *quitter) CacheKey() uint64 { q.quit("key"); return 0 }

func (q *quitter) SizeBytes() int64 { q.quit("size"); return 10 }

func (q *quitter) Captured() simtime.Stamp { q.quit("stamp"); return 0 }

// onGoroutine runs f on a goroutine of its own, which f may end, and waits for that.
func onGoroutine(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

func goexitWhileOffering(t *testing.T, method string, policy flow.Policy) {
	d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *quitter) error { <-hold; return nil },
		dispatch.TopicConfig{Policy: policy, Depth: 2, MaxBytes: 20, Gated: true})
	d.Release(0)
	require.True(t, topic.TryQueue(&quitter{}))
	synctest.Wait() // it is being published
	var f, ofOthers fates
	if policy == flow.DropOldest {
		require.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: ofOthers.done}))
	}
	require.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: ofOthers.done}))
	for range 3 { // no room is lost by it
		onGoroutine(func() {
			topic.TryQueueTask(&quitter{in: method}, dispatch.Task{Done: f.done, Token: "x"})
		})
	}
	require.Len(t, f.all(), 3)
	for _, err := range f.all() {
		var panicked *flow.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.Equal(t, "runtime.Goexit", panicked.Value)
	}
	assert.Zero(t, topic.Stats().Blocked)
	assert.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: ofOthers.done, Token: "x"}), "room and token are free")
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	s := topic.Stats()
	assert.EqualValues(t, 3, s.Dropped[flow.CauseConvertFailed])
	assert.Len(t, ofOthers.all(), int(s.Sent)-1+int(s.Dropped[flow.CauseQueueFull]))
	assert.Zero(t, s.Pool.Lent)
	require.NoError(t, d.Close(context.Background()))
}

// waiting is a message whose copying waits, and then may end the goroutine.
type waiting struct {
	hold chan struct{}
	quit bool
}

func (w *waiting) CacheKey() uint64 { return 0 }

func (w *waiting) CopyToCache(*waiting) {
	if w.hold != nil {
		<-w.hold
	}
	if w.quit {
		runtime.Goexit()
	}
}

// brokenHandler is a logger's handler that panics or ends its goroutine.
type brokenHandler struct {
	slog.Handler
	quits bool
	calls *atomic.Int32
}

func (h brokenHandler) Handle(context.Context, slog.Record) error {
	h.calls.Add(1)
	if h.quits {
		runtime.Goexit()
	}
	panic("in the handler")
}

// Whatever a logger's handler does, no lock, worker, message or callback is lost
// (law D7), and slog's default logger tells of its panics.
func TestBrokenLogHandler(t *testing.T) {
	var told logbook
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(told.logger())
	provocations := map[string]func(*testing.T, *dispatch.Dispatcher){
		"a sender waits":          provokeBlocking,
		"a publisher fails":       provokeFailure,
		"a callback panics":       provokeCallbackPanic,
		"failures were kept back": provokeFlush,
		"no clock tick comes":     provokeHold,
	}
	for name, provoke := range provocations {
		for _, quits := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				before := len(told.lines("in the handler"))
				logger := slog.New(brokenHandler{quiet.Handler(), quits, &calls})
				d := dispatch.New(dispatch.Config{Logger: logger, MaxWorkers: 1, HoldLimit: time.Second})
				provoke(t, d)
				assert.NotZero(t, calls.Load(), name)
				if !quits {
					assert.Len(t, told.lines("in the handler"), before+int(calls.Load()), name)
				}
				after := dispatch.NewTopic(d, "after", nothing[int], dispatch.TopicConfig{})
				assert.True(t, after.TryQueue(1), name)
				require.NoError(t, d.Drain(context.Background()))
				assert.EqualValues(t, 1, after.Stats().Sent, name)
				onGoroutine(func() { _ = d.Close(context.Background()) }) // which logs what was kept back
				<-d.Closed()
				assert.Zero(t, d.Stats().Workers, name)
			})
		}
	}
}

// provokeBlocking has three senders wait; the first is warned of, and may end there.
func provokeBlocking(t *testing.T, d *dispatch.Dispatcher) {
	topic := dispatch.NewTopic(d, "full", slowly(time.Second), dispatch.TopicConfig{Depth: 1, WaitForToken: true})
	require.True(t, topic.TryQueue(0))
	synctest.Wait()
	require.True(t, topic.TryQueue(1))
	var f fates
	for i := range 3 {
		go topic.TryQueueTask(i, dispatch.Task{Done: f.done, Token: i})
		synctest.Wait()
	}
	require.NoError(t, d.Drain(context.Background()))
	assert.Len(t, f.all(), 3)
	for i := range 3 {
		assert.True(t, topic.TryQueueTask(i, dispatch.Task{Token: i}), "the token is free")
	}
}

func provokeFailure(t *testing.T, d *dispatch.Dispatcher) {
	topic := dispatch.NewTopic(d, "failing", func(context.Context, int) error { return errVerdict }, dispatch.TopicConfig{})
	var f fates
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	require.NoError(t, d.Drain(context.Background()))
	onGoroutine(func() { _ = topic.Publish(context.Background(), 2) })
	assert.Equal(t, []error{errVerdict}, f.all())
	assert.EqualValues(t, 2, topic.Stats().Failed)
	assert.Zero(t, topic.Stats().InFlight)
}

func provokeCallbackPanic(t *testing.T, d *dispatch.Dispatcher) {
	topic := dispatch.NewTopic(d, "calling", nothing[int], dispatch.TopicConfig{})
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: func(error) { panic("callback") }}))
	require.NoError(t, d.Drain(context.Background()))
}

// A panic of Expected costs no worker; the failure is logged as one that isn't expected.
func TestExpectedMayPanic(t *testing.T) {
	var log logbook
	d := newDispatcher(t, dispatch.Config{Logger: log.logger(), MaxWorkers: 1})
	topic := dispatch.NewTopic(d, "a", func(context.Context, int) error { return errVerdict },
		dispatch.TopicConfig{Expected: func(error) bool { panic("in Expected") }})
	var f fates
	require.True(t, topic.TryQueueTask(1, dispatch.Task{Done: f.done}))
	require.NoError(t, d.Drain(context.Background()))
	assert.Equal(t, []error{errVerdict}, f.all())
	assert.Len(t, log.lines("publish failed"), 1)
	assert.Len(t, log.lines("in Expected"), 1)
}

func provokeFlush(t *testing.T, d *dispatch.Dispatcher) {
	topic := dispatch.NewTopic(d, "failing", func(context.Context, int) error { return errVerdict }, dispatch.TopicConfig{})
	for i := range 3 {
		require.True(t, topic.TryQueue(i))
		require.NoError(t, d.Drain(context.Background()))
	}
	time.Sleep(2 * time.Second) // on a timer
}

func provokeHold(t *testing.T, d *dispatch.Dispatcher) {
	topic := dispatch.NewTopic(d, "held", nothing[*cloud], dispatch.TopicConfig{Gated: true})
	require.True(t, topic.TryQueue(&cloud{stamp: 1}))
	time.Sleep(2 * time.Second)
	assert.EqualValues(t, 1, topic.Stats().Sent)
}
