package stream_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

const limit = time.Minute // what a test waits for at the most

// serve returns a listening server; buffers and goroutines are checked at the end.
func serve(t testing.TB, config stream.ServerConfig) *stream.Server {
	t.Helper()
	noGoroutines(t)
	return listen(t, config, "127.0.0.1:0")
}

func listen(t testing.TB, config stream.ServerConfig, address string) *stream.Server {
	t.Helper()
	if config.Beat == 0 {
		config.Beat = 200 * time.Millisecond // five without a sign are more than a busy machine takes
	}
	s := stream.NewServer(config)
	require.NoError(t, s.Listen(address))
	t.Cleanup(func() { closeServer(t, s) })
	return s
}

func closeServer(t testing.TB, s *stream.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	assert.NoError(t, s.Close(ctx))
	assert.Zero(t, s.Outstanding(), "buffers leaked")
}

// noGoroutines checks, after all other clean-ups, that none of this module's
// goroutines of streams is left.
func noGoroutines(t testing.TB) {
	t.Cleanup(func() {
		var left string
		for end := time.Now().Add(limit); time.Now().Before(end); runtime.Gosched() {
			if left = goroutines(); left == "" {
				return
			}
		}
		assert.Fail(t, "goroutines are left", left)
	})
}

func goroutines() (left string) {
	trace := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(trace[:runtime.Stack(trace, true)]), "\n\n") {
		if strings.Contains(g, "raybridge/bridges/stream") && !strings.Contains(g, "testing.tRunner") {
			left += g + "\n\n"
		}
	}
	return left
}

func add(t testing.TB, s *stream.Server, name string) *stream.Stream {
	t.Helper()
	return addOf[sample.Speed](t, s, stream.Info{Name: name}, nil)
}

// addOf adds a stream of samples T.
func addOf[T any](t testing.TB, s *stream.Server, info stream.Info, settled func(transport.Outcome)) *stream.Stream {
	t.Helper()
	encoding, err := stream.EncodingOf(reflect.TypeFor[*T]())
	require.NoError(t, err)
	info.Sensor, info.SensorType, info.Type = "probe", "sensor.other.speedometer", stream.NewTypeID(48, 0)
	out, err := s.AddStream(info, encoding, nil, settled)
	require.NoError(t, err)
	return out
}

func dial(t testing.TB, s *stream.Server, options stream.Options) *stream.Client {
	t.Helper()
	c, err := stream.Dial(context.Background(), s.Addr().String(), options)
	require.NoError(t, err)
	t.Cleanup(func() {
		end(c)
		assert.Zero(t, c.Outstanding(), "buffers leaked")
	})
	return c
}

// end closes a client and waits for its end.
func end(c *stream.Client) {
	c.Close()
	<-c.Done()
}

func speed(seq int) *sample.Speed {
	return &sample.Speed{Header: sample.Header{Stamp: simtime.Stamp(seq), Seq: uint64(seq), FrameID: "base_link"}, MetresPerSecond: float64(seq)}
}

func publish(t testing.TB, s *stream.Stream, seq int) {
	t.Helper()
	require.NoError(t, s.Publish(context.Background(), int64(seq)+5, speed(seq)))
}

func take[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		require.Fail(t, "nothing came")
		panic("unreachable")
	}
}

// events keeps a client's events for the test to take.
type events chan stream.Event

func newEvents() events { return make(events, 1000) }

func (e events) of(t testing.TB, kind stream.EventKind) stream.Event {
	t.Helper()
	for {
		if event := take(t, e); event.Kind == kind {
			return event
		}
	}
}

func TestListenDeliversWhatIsPublished(t *testing.T) {
	for _, zstd := range []bool{false, true} {
		t.Run(fmt.Sprintf("zstd %v", zstd), func(t *testing.T) {
			s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block}})
			speeds, others := add(t, s, "/speed"), add(t, s, "/other")
			c := dial(t, s, stream.Options{Zstd: zstd, Queue: flow.QueueConfig{Policy: flow.Block}})
			assert.Equal(t, []stream.Info{speeds.Info(), others.Info()}, c.Streams())
			got := make(chan sample.Speed, 100)
			require.NoError(t, c.Listen(t.Context(), "/speed", func(d *stream.Data) {
				v, err := stream.Read[sample.Speed](d)
				require.NoError(t, err)
				assert.Equal(t, "/speed", d.Stream.Name)
				assert.Equal(t, stream.NewTypeID(48, 0), d.Stream.Type)
				assert.Equal(t, d.Stamp()+5, d.Logged())
				assert.Zero(t, d.Missed)
				got <- *v
			}))
			assert.True(t, c.IsListening("/speed"))
			assert.Equal(t, []string{"/speed"}, c.Listening())
			assert.Equal(t, 1, speeds.Subscribers())
			assert.ErrorIs(t, others.Publish(t.Context(), 0, speed(0)), transport.ErrNoSubscribers, "nothing is serialized")
			assert.Zero(t, others.PoolStats().Lent)
			for i := range 50 {
				publish(t, speeds, i)
			}
			for i := range 50 {
				assert.Equal(t, *speed(i), take(t, got))
			}
			require.NoError(t, c.Stop("/speed"))
			assert.False(t, c.IsListening("/speed"))
			require.Eventually(t, func() bool { return speeds.Subscribers() == 0 }, limit, time.Millisecond)
			assert.ErrorIs(t, c.Stop("/speed"), stream.ErrNotListening)
		})
	}
}

func TestCompressedMessagesAreShorter(t *testing.T) {
	s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block}})
	out := addOf[sample.Image](t, s, stream.Info{Name: "/image"}, nil)
	packed := dial(t, s, stream.Options{Zstd: true})
	plain := dial(t, s, stream.Options{})
	image := &sample.Image{Width: 2000, Height: 1000, Step: 2000, Encoding: "mono8", Data: make([]byte, 2_000_000)}
	image.Data[1_234_567] = 8
	var wg sync.WaitGroup
	for _, c := range []*stream.Client{packed, plain} {
		wg.Add(1)
		require.NoError(t, c.Listen(t.Context(), "/image", func(d *stream.Data) {
			defer wg.Done()
			v, err := stream.Read[sample.Image](d)
			if assert.NoError(t, err) {
				assert.Equal(t, image.Data, v.Data)
			}
		}))
	}
	require.NoError(t, out.Publish(t.Context(), 0, image))
	wg.Wait()
	var sizes []int64
	require.Eventually(t, func() bool {
		sizes = sizes[:0]
		for _, c := range s.Clients() {
			sizes = append(sizes, c.Counts(nil)[0].Bytes)
		}
		return len(sizes) == 2 && min(sizes[0], sizes[1]) > 0
	}, limit, time.Millisecond)
	assert.Less(t, min(sizes[0], sizes[1]), int64(10_000))
	assert.Greater(t, max(sizes[0], sizes[1]), int64(2_000_000))
}

func TestCallbacksOfOneStreamNeverOverlapThoseOfTwoDo(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	a, b := add(t, s, "a"), add(t, s, "b")
	c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block, Messages: 10}})
	const messages = 5
	meet := make(chan struct{}) // each call of a waits for one of b
	var wg sync.WaitGroup
	wg.Add(2 * messages)
	callback := func(rendezvous func()) func(*stream.Data) {
		var running atomic.Int32
		return func(*stream.Data) {
			defer wg.Done()
			assert.EqualValues(t, 1, running.Add(1), "another call of the same stream runs")
			rendezvous()
			running.Add(-1)
		}
	}
	require.NoError(t, c.Listen(t.Context(), "a", callback(func() { meet <- struct{}{} })))
	require.NoError(t, c.Listen(t.Context(), "b", callback(func() { <-meet })))
	for i := range messages {
		publish(t, a, i)
		publish(t, b, i)
	}
	wg.Wait()
}

// TestWaitWaitsForTheRunningCallback: Stop doesn't.
func TestWaitWaitsForTheRunningCallback(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	c := dial(t, s, stream.Options{})
	began, proceed := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {
		close(began)
		<-proceed
		ended.Store(true)
	}))
	publish(t, out, 0)
	take(t, began)
	require.NoError(t, c.Stop("a"))
	go func() { close(proceed) }()
	c.Wait("a")
	assert.True(t, ended.Load(), "Wait has returned before the call")
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {}))
	c.Wait("a") // for callbacks that were stopped
	c.Wait("b") // which never had one
}

func TestStopAndCloseInsideTheCallback(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	c := dial(t, s, stream.Options{})
	var calls atomic.Int32
	stopped := make(chan struct{})
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {
		calls.Add(1)
		assert.NoError(t, c.Stop("a"))
		assert.False(t, c.IsListening("a"))
		close(stopped)
	}))
	for i := range 5 {
		if out.Subscribers() > 0 {
			_ = out.Publish(t.Context(), 0, speed(i))
		}
	}
	take(t, stopped)
	require.Eventually(t, func() bool { return out.Subscribers() == 0 }, limit, time.Millisecond)
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) { c.Close() }), "again, with another callback")
	publish(t, out, 9)
	take(t, c.Done())
	assert.EqualValues(t, 1, calls.Load(), "the first call was the last")
	assert.ErrorIs(t, c.Listen(t.Context(), "a", func(*stream.Data) {}), stream.ErrClientClosed)
}

func TestListeningTwiceAndToNothing(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	add(t, s, "/camera/image")
	c := dial(t, s, stream.Options{})
	require.NoError(t, c.Listen(t.Context(), "/camera/image", func(*stream.Data) {}))
	assert.ErrorIs(t, c.Listen(t.Context(), "/camera/image", func(*stream.Data) {}), stream.ErrListening)
	err := c.Listen(t.Context(), "/camera/imag", func(*stream.Data) {})
	assert.ErrorIs(t, err, stream.ErrUnknownStream)
	assert.ErrorContains(t, err, `"/camera/imag"; there are: /camera/image`)
	assert.False(t, c.IsListening("/camera/imag"))
}

func TestContextEndsTheClient(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	c, err := stream.Dial(ctx, s.Addr().String(), stream.Options{})
	require.NoError(t, err)
	got := make(chan struct{}, 10)
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) { got <- struct{}{} }))
	publish(t, out, 0)
	take(t, got)
	cancel()
	take(t, c.Done())
	require.Eventually(t, func() bool { return out.Subscribers() == 0 }, limit, time.Millisecond)
	c.Close()
}

func TestStreamsThatComeLater(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	e := newEvents()
	c := dial(t, s, stream.Options{Events: func(event stream.Event) { e <- event }})
	assert.Empty(t, c.Streams())
	out := add(t, s, "late")
	assert.Equal(t, "late", e.of(t, stream.EventStream).Stream)
	assert.Equal(t, []stream.Info{out.Info()}, c.Streams())
	got := make(chan struct{}, 1)
	require.NoError(t, c.Listen(t.Context(), "late", func(*stream.Data) { got <- struct{}{} }))
	publish(t, out, 0)
	take(t, got)
	_, err := s.AddStream(out.Info(), &stream.Encoding{}, nil, nil)
	assert.ErrorIs(t, err, stream.ErrDuplicate)
	_, err = s.AddStream(stream.Info{Name: "*"}, &stream.Encoding{}, nil, nil)
	assert.ErrorIs(t, err, stream.ErrMalformed)
}

func TestKeptDataOutlivesTheCallback(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
	kept := make(chan *stream.Data, 20)
	require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) { kept <- d.Keep() }))
	for i := range 20 {
		publish(t, out, i)
	}
	var all []*stream.Data
	for range 20 {
		all = append(all, take(t, kept))
	}
	end(c)
	assert.Equal(t, 20, c.Outstanding())
	for i, d := range all {
		v, err := stream.Read[sample.Speed](d)
		require.NoError(t, err)
		assert.Equal(t, float64(i), v.MetresPerSecond)
		d.Release()
		d.Release()
	}
	assert.Zero(t, c.Outstanding())
}

// A slow callback loses messages of its own stream, and sees which.
func TestGapsAreVisible(t *testing.T) {
	s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block}})
	out := add(t, s, "a")
	e := newEvents()
	c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Messages: 2}, Events: func(event stream.Event) { e <- event }})
	began, proceed := make(chan struct{}, 100), make(chan struct{})
	var mu sync.Mutex
	var seqs, missed []uint64
	require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) {
		mu.Lock()
		seqs, missed = append(seqs, d.Sequence()), append(missed, d.Missed)
		mu.Unlock()
		began <- struct{}{}
		<-proceed
	}))
	publish(t, out, 0)
	take(t, began)
	marker := add(t, s, "marker")
	seen := make(chan struct{}, 1)
	require.NoError(t, c.Listen(t.Context(), "marker", func(*stream.Data) { seen <- struct{}{} }))
	for i := range 20 {
		publish(t, out, 1+i)
	}
	publish(t, marker, 0)
	take(t, seen) // so the others were read
	close(proceed)
	take(t, began)
	take(t, began)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []uint64{0, 19, 20}, seqs)
	assert.Equal(t, []uint64{0, 18, 0}, missed)
	gap := e.of(t, stream.EventGap)
	assert.Equal(t, stream.Event{Kind: stream.EventGap, Stream: "a", Missed: 18, Known: true, LastNs: 0, NextNs: 19}, gap)
}

// The server dies and comes again: the client connects, listens on, and says that
// something is missing.
func TestServerThatIsRestarted(t *testing.T) {
	noGoroutines(t)
	first := listen(t, stream.ServerConfig{}, "127.0.0.1:0")
	address := first.Addr().String()
	e := newEvents()
	c := dial(t, first, stream.Options{MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond, Events: func(event stream.Event) { e <- event }})
	assert.False(t, e.of(t, stream.EventConnected).Restarted)
	a, b := add(t, first, "a"), add(t, first, "b")
	got := make(chan uint64, 10)
	require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) { got <- d.Sequence() }))
	require.NoError(t, c.Listen(t.Context(), "b", func(*stream.Data) {}))
	publish(t, a, 3)
	publish(t, b, 3)
	assert.EqualValues(t, 3, take(t, got))
	closeServer(t, first)
	assert.ErrorIs(t, e.of(t, stream.EventDisconnected).Err, stream.ErrServerClosed)
	retry := e.of(t, stream.EventRetry)
	assert.LessOrEqual(t, retry.Delay, 20*time.Millisecond)
	assert.Positive(t, retry.Delay)
	e.of(t, stream.EventRetry)
	assert.False(t, c.Connected())
	assert.True(t, c.IsListening("a"))

	var second *stream.Server
	require.Eventually(t, func() bool { // the address may be in use for a moment
		second = stream.NewServer(stream.ServerConfig{Beat: 200 * time.Millisecond})
		a = add(t, second, "a")
		return second.Listen(address) == nil
	}, limit, time.Millisecond)
	t.Cleanup(func() { closeServer(t, second) })
	assert.True(t, e.of(t, stream.EventConnected).Restarted)
	refused := e.of(t, stream.EventRefused)
	assert.Equal(t, "b", refused.Stream)
	assert.ErrorIs(t, refused.Err, stream.ErrUnknownStream)
	require.Eventually(t, func() bool { return a.Subscribers() == 1 }, limit, time.Millisecond)
	publish(t, a, 8)
	assert.EqualValues(t, 8, take(t, got))
	assert.Equal(t, stream.Event{Kind: stream.EventGap, Stream: "a", LastNs: 3, NextNs: 8}, e.of(t, stream.EventGap))
}

func TestDialTellsWhyItFails(t *testing.T) {
	s := serve(t, stream.ServerConfig{MaxClients: 1})
	dial(t, s, stream.Options{})
	_, err := stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	assert.ErrorIs(t, err, stream.ErrTooManyClients)
	closeServer(t, s)
	_, err = stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	var refused *net.OpError
	assert.ErrorAs(t, err, &refused)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c, err := stream.Dial(ctx, s.Addr().String(), stream.Options{Wait: true, MinBackoff: time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {}), "it is asked for later")
	assert.Nil(t, c.Streams())
	take(t, c.Done())
}

func TestOversizeMessagesAreRefusedOnBothSides(t *testing.T) {
	s := serve(t, stream.ServerConfig{MaxFrame: 1000})
	out := addOf[sample.Image](t, s, stream.Info{Name: "a"}, nil)
	e := newEvents()
	c := dial(t, s, stream.Options{MaxFrame: 500, MinBackoff: time.Minute, Events: func(event stream.Event) { e <- event }})
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) { assert.Fail(t, "too large to be delivered") }))
	image := &sample.Image{Step: 2000, Height: 1, Data: make([]byte, 2000)}
	assert.ErrorIs(t, out.Publish(t.Context(), 0, image), stream.ErrTooLarge)
	assert.ErrorIs(t, out.Publish(t.Context(), 0, &sample.Image{Height: 1, Step: 1}), bridges.ErrConvert)
	image.Step, image.Data = 600, image.Data[:600]
	require.NoError(t, out.Publish(t.Context(), 0, image))
	assert.ErrorIs(t, e.of(t, stream.EventDisconnected).Err, stream.ErrTooLarge)
}

// Of two clients one is stalled. The other gets every message, and for both the messages that
// were delivered and dropped are those that were produced.
func TestStalledClientDisturbsNobody(t *testing.T) {
	var settled atomic.Int64
	s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Messages: 4}})
	out := addOf[sample.Image](t, s, stream.Info{Name: "a"}, func(o transport.Outcome) { settled.Add(int64(o.Delivered + o.Dropped)) })
	stalls, lives := newEvents(), newEvents()
	block := flow.QueueConfig{Policy: flow.Block, Messages: 1}
	stalled := dial(t, s, stream.Options{Queue: block, Events: func(event stream.Event) { stalls <- event }})
	lively := dial(t, s, stream.Options{Queue: block, Events: func(event stream.Event) { lives <- event }})
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	var stalledGot, stalledMissed, livelyGot int
	require.NoError(t, stalled.Listen(t.Context(), "a", func(d *stream.Data) {
		<-release
		stalledGot++
		stalledMissed += int(d.Missed)
	}))
	got := make(chan uint64, 1)
	require.NoError(t, lively.Listen(t.Context(), "a", func(d *stream.Data) {
		livelyGot++
		assert.Zero(t, d.Missed)
		got <- d.Sequence()
	}))
	const messages = 100
	image := &sample.Image{Width: 1024, Height: 1024, Step: 1024, Data: make([]byte, 1<<20)}
	for i := range messages {
		image.Seq = uint64(i)
		require.NoError(t, out.Publish(t.Context(), 0, image))
		require.EqualValues(t, i, take(t, got), "as if it were alone")
	}
	free()
	losses := stalls.of(t, stream.EventLosses)
	assert.Equal(t, "peer_slow", losses.Reason)
	assert.Positive(t, losses.Missed)
	require.Eventually(t, func() bool { return settled.Load() == 2*messages }, limit, time.Millisecond)
	for _, c := range s.Clients() {
		d := c.Counts(nil)[0]
		assert.EqualValues(t, messages, d.Offered)
		assert.Equal(t, d.Offered, d.Sent+d.Dropped, "delivered + dropped = produced")
	}
	require.NoError(t, out.Publish(t.Context(), 0, image)) // shows the last gap
	take(t, got)
	closeServer(t, s)
	take(t, stalls) // at least its disconnection
	end(stalled)
	end(lively)
	assert.Equal(t, messages+1, livelyGot)
	assert.LessOrEqual(t, stalledGot+stalledMissed, messages+1)
	assert.Less(t, stalledGot, messages/2)
}

// sleeper is a connection on which nothing comes for some deadlines, of which one is noticed late.
type sleeper struct {
	by       time.Time
	late     []time.Duration // after the deadlines in turn
	deadline int
}

func (s *sleeper) extend(d time.Duration) error {
	s.by = time.Now().Add(d)
	return nil
}

func (s *sleeper) Read(b []byte) (int, error) {
	if s.deadline == len(s.late) {
		return copy(b, "alive"), nil
	}
	time.Sleep(time.Until(s.by) + s.late[s.deadline])
	s.deadline++
	return 0, os.ErrDeadlineExceeded
}

// TestAStoppedProcessDoesNotBlameItsPeer: while it stood, the peer had no time.
func TestAStoppedProcessDoesNotBlameItsPeer(t *testing.T) {
	for _, c := range []struct {
		late []time.Duration
		want error
	}{
		{[]time.Duration{0, time.Hour, 0, time.Minute}, nil},
		{[]time.Duration{0, 0, 0, 0, 0}, os.ErrDeadlineExceeded},
		{[]time.Duration{time.Hour, 0, 0, 0, 0}, os.ErrDeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, begun, stood := &sleeper{late: c.late}, time.Now(), time.Duration(0)
			b := make([]byte, 5)
			n, err := stream.NewPatientReader(s, s.extend, time.Second).Read(b)
			require.ErrorIs(t, err, c.want)
			assert.Equal(t, c.want == nil, string(b[:n]) == "alive")
			for _, d := range c.late {
				stood += d
			}
			assert.Equal(t, stood+time.Duration(len(c.late))*time.Second, time.Since(begun))
		})
	}
}
