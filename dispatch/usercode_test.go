package dispatch_test

import (
	"context"
	"log/slog"
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

// quitter is a message one of whose own methods ends its goroutine.
type quitter struct{ in string }

func (q *quitter) quit(method string) {
	if q.in == method {
		runtime.Goexit()
	}
}

func (q *quitter) CopyToCache(dst *quitter) { q.quit("copy"); *dst = *q }
func (q *quitter) CacheKey() uint64         { q.quit("key"); return 0 }
func (q *quitter) SizeBytes() int64         { q.quit("size"); return 10 }
func (q *quitter) Stamp() int64             { q.quit("stamp"); return 0 }

// onGoroutine runs f on a goroutine of its own, which f may end, and waits for that.
func onGoroutine(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

// D2, D7: a message whose own methods end the goroutine that offers it is refused and
// told so; it keeps neither its room nor its token, nor what it pushed out.
func TestGoexitInAMessagesMethods(t *testing.T) {
	for _, method := range []string{"copy", "key", "size", "stamp"} {
		for _, policy := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest} {
			t.Run(method+" "+policy.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { goexitWhileOffering(t, method, policy) })
			})
		}
	}
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
		var panicked *dispatch.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.Equal(t, "runtime.Goexit", panicked.Value)
	}
	assert.Zero(t, topic.Stats().Blocked)
	assert.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: ofOthers.done, Token: "x"}), "room and token are free")
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
	s := topic.Stats()
	assert.EqualValues(t, 3, s.Dropped[flow.CauseConvertFailed])
	assert.Len(t, ofOthers.all(), int(s.Sent-1+s.Dropped[flow.CauseQueueFull]))
	assert.Zero(t, s.Pool.Lent)
	require.NoError(t, d.Close(context.Background()))
}

// The room of a message whose copy ends its goroutine goes to a sender that waits.
func TestGoexitInACopyLeavesItsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 1})
		topic := dispatch.NewTopic(d, "a", func(context.Context, *waiting) error { return nil }, dispatch.TopicConfig{Depth: 1})
		hold := make(chan struct{})
		go topic.TryQueue(&waiting{hold: hold, quit: true})
		synctest.Wait() // it is being copied, and has the room
		var f fates
		go topic.TryQueueTask(&waiting{}, dispatch.Task{Done: f.done})
		synctest.Wait()
		require.Equal(t, 1, topic.Stats().Blocked)
		close(hold)
		synctest.Wait()
		assert.Equal(t, []error{nil}, f.all())
		require.NoError(t, d.Close(context.Background()))
	})
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

// The callback of a message that is refused runs although one that it pushes out
// ends the goroutine in its own.
func TestGoexitInACallbackOfTheEvicted(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{MaxWorkers: 1})
	started, hold := make(chan struct{}), make(chan struct{})
	topic := dispatch.NewTopic(d, "a", func(context.Context, *quitter) error {
		started <- struct{}{}
		<-hold
		return nil
	}, dispatch.TopicConfig{Policy: flow.DropOldest, Depth: 1})
	require.True(t, topic.TryQueue(&quitter{}))
	<-started
	require.True(t, topic.TryQueueTask(&quitter{}, dispatch.Task{Done: func(error) { runtime.Goexit() }}))
	var f fates
	onGoroutine(func() { topic.TryQueueTask(&quitter{in: "copy"}, dispatch.Task{Done: f.done}) })
	assert.Len(t, f.all(), 1)
	close(hold)
	require.NoError(t, d.Drain(context.Background()))
}
