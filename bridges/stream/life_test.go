package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// silent is a server that accepts and says nothing, or the greeting alone.
func silent(t *testing.T, greeting string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				_, _ = io.WriteString(conn, greeting)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		wg.Wait()
	})
	return listener.Addr().String()
}

// slowBeat is a welcome like the other, with a beat of a minute: nothing but Close ends
// the connection soon.
const slowBeat = "RBSTREAM\x02\x00\x00\x00\x16\x00\x00\x00" + "\x00\x00" + "\x00\x00" + "\x00\x00\x00\x10" + "\x60\xea\x00\x00" +
	"\x01\x02\x03\x04\x05\x06\x07\x08" + "\x00\x00"

// closeTwice closes a client twice at once: it ends, and nothing of it is left.
func closeTwice(t *testing.T, c *stream.Client) {
	t.Helper()
	go c.Close()
	end(c)
	assert.Zero(t, c.Outstanding())
	assert.Empty(t, c.Listening())
}

// refuse dials nobody.
func refuse(context.Context, string) (net.Conn, error) { return nil, errors.New("nobody is there") }

// The end of the context ends a client that has not been connected yet, with all its
// goroutines.
func TestEndBeforeTheFirstConnection(t *testing.T) {
	t.Run("while it dials", func(t *testing.T) {
		noGoroutines(t)
		ctx, cancel := context.WithCancel(t.Context())
		dialling := make(chan struct{})
		go func() {
			<-dialling
			cancel()
		}()
		_, err := stream.Dial(ctx, "", stream.Options{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("in the handshake", func(t *testing.T) {
		noGoroutines(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := stream.Dial(ctx, silent(t, "RBSTR"), stream.Options{Dial: func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return &tellingConn{Conn: conn, reading: cancel}, err
		}})
		assert.Error(t, err)
	})
}

// Whatever a client is doing to be connected: Close ends it, with all its goroutines.
func TestCloseWhileConnecting(t *testing.T) {
	t.Run("while it dials again", func(t *testing.T) {
		noGoroutines(t)
		dialling := make(chan struct{}, 10)
		var attempts atomic.Int32
		c, err := stream.Dial(t.Context(), "", stream.Options{Wait: true, MinBackoff: time.Millisecond, Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			if attempts.Add(1) == 1 {
				return refuse(ctx, "")
			}
			dialling <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		require.NoError(t, err)
		take(t, dialling)
		closeTwice(t, c)
	})
	t.Run("in the second handshake", func(t *testing.T) {
		noGoroutines(t)
		reading := make(chan struct{}, 10)
		var attempts atomic.Int32
		c, err := stream.Dial(t.Context(), silent(t, ""), stream.Options{Wait: true, MinBackoff: time.Millisecond, Dial: func(ctx context.Context, address string) (net.Conn, error) {
			if attempts.Add(1) == 1 {
				return refuse(ctx, "")
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return &tellingConn{Conn: conn, reading: func() { reading <- struct{}{} }}, err
		}})
		require.NoError(t, err)
		take(t, reading)
		closeTwice(t, c)
	})
	t.Run("between two attempts", func(t *testing.T) {
		noGoroutines(t)
		e := newEvents()
		c, err := stream.Dial(t.Context(), "", stream.Options{Wait: true, MinBackoff: time.Hour, Dial: refuse, Events: func(event stream.Event) { e <- event }})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, e.of(t, stream.EventRetry).Delay, time.Hour/2)
		closeTwice(t, c)
	})
	t.Run("while an answer is waited for", func(t *testing.T) {
		noGoroutines(t)
		c, err := stream.Dial(t.Context(), silent(t, slowBeat), stream.Options{})
		require.NoError(t, err)
		asked := make(chan error, 1)
		go func() { asked <- c.Listen(context.Background(), "a", func(*stream.Data) {}) }()
		require.Eventually(t, func() bool { return c.IsListening("a") }, limit, time.Millisecond)
		closeTwice(t, c)
		assert.ErrorIs(t, take(t, asked), stream.ErrClientClosed)
	})
}

// Nor do callbacks and events keep a client from being closed.
func TestCloseAmongCallbacks(t *testing.T) {
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest, flow.Block} {
		t.Run("while a callback runs and others wait, "+policy.String(), func(t *testing.T) {
			s := serve(t, stream.ServerConfig{})
			out := add(t, s, "a")
			c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Policy: policy, Messages: 1}})
			began, proceed := make(chan struct{}, 100), make(chan struct{})
			var running atomic.Int32
			require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {
				running.Add(1)
				began <- struct{}{}
				<-proceed
				running.Add(-1)
			}))
			for i := range 10 {
				publish(t, out, i)
			}
			take(t, began)
			done := make(chan struct{})
			go func() {
				defer close(done)
				end(c)
				assert.Zero(t, running.Load(), "the client has ended before the call")
			}()
			require.Eventually(t, func() bool { return !c.Connected() }, limit, time.Millisecond)
			close(proceed)
			take(t, done)
			assert.Zero(t, c.Outstanding())
		})
	}
	t.Run("by an event", func(t *testing.T) {
		s := serve(t, stream.ServerConfig{})
		connected := make(chan *stream.Client, 1)
		ended := make(chan struct{})
		c := dial(t, s, stream.Options{Events: func(event stream.Event) {
			if event.Kind == stream.EventConnected {
				(<-connected).Close()
				close(ended)
			}
		}})
		connected <- c
		take(t, ended)
		take(t, c.Done())
	})
}

// tellingConn tells when it is read from.
type tellingConn struct {
	net.Conn
	reading func()
}

func (c *tellingConn) Read(b []byte) (int, error) {
	c.reading()
	return c.Conn.Read(b)
}

// A callback that stops itself and listens again isn't overlapped by the new one, nor by a third.
func TestListeningAnewInsideTheCallback(t *testing.T) {
	s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Policy: flow.Block}})
	out := add(t, s, "a")
	c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Messages: 64}})
	var running atomic.Int32
	alone := func() func() {
		assert.EqualValues(t, 1, running.Add(1), "another callback of the stream runs")
		return func() { running.Add(-1) }
	}
	second := make(chan struct{}, 100)
	var first sync.Once
	ended := make(chan struct{})
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {
		defer alone()()
		first.Do(func() {
			defer close(ended)
			for range 2 { // the second time it stops what has not begun
				assert.NoError(t, c.Stop("a"))
				assert.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {
					defer alone()()
					second <- struct{}{}
				}))
			}
			for i := range 10 {
				publish(t, out, 1+i)
			}
		})
	}))
	publish(t, out, 0)
	take(t, ended)
	for range 10 {
		take(t, second)
	}
}

// Callbacks may stop each other: Stop waits for none.
func TestCallbacksThatStopEachOther(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	names := []string{"a", "b", "c"}
	c := dial(t, s, stream.Options{})
	var meet sync.WaitGroup
	meet.Add(len(names))
	ended := make(chan struct{}, len(names))
	var outs []*stream.Stream
	for i, name := range names {
		outs = append(outs, add(t, s, name))
		require.NoError(t, c.Listen(t.Context(), name, func(*stream.Data) {
			meet.Done()
			meet.Wait()
			assert.NoError(t, c.Stop(names[(i+1)%len(names)]))
			ended <- struct{}{}
		}))
	}
	for _, out := range outs {
		publish(t, out, 0)
	}
	for range names {
		take(t, ended)
	}
	assert.Empty(t, c.Listening())
}

// Clients that come and go, politely and not, leave nothing behind.
func TestThousandsOfConnections(t *testing.T) {
	const workers, each = 8, 250
	s := serve(t, stream.ServerConfig{Queue: flow.QueueConfig{Messages: 2}, MaxClients: 1000}) // those who went take their places for a moment
	out := add(t, s, "a")
	steady := dial(t, s, stream.Options{})
	got := make(chan struct{}, 1)
	require.NoError(t, steady.Listen(t.Context(), "a", func(*stream.Data) {
		select {
		case got <- struct{}{}:
		default:
		}
	}))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				visit(t, s, (w+i)%4)
				_ = out.Publish(t.Context(), 0, speed(i))
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return len(s.Clients()) == 1 }, limit, time.Millisecond)
	assert.Equal(t, 1, out.Subscribers())
	publish(t, out, 1)
	take(t, got)
}

// visit connects and goes, in one of four ways.
func visit(t *testing.T, s *stream.Server, way int) {
	if way == 0 {
		c, err := stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
		if !assert.NoError(t, err) {
			return
		}
		assert.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) {}))
		end(c)
		assert.Zero(t, c.Outstanding())
		return
	}
	conn, err := net.Dial("tcp", s.Addr().String())
	if !assert.NoError(t, err) {
		return
	}
	switch way {
	case 1: // a reset with data unread
		_, err = io.WriteString(conn, helloAll)
		_ = conn.(*net.TCPConn).SetLinger(0)
	case 2: // half a hello
		_, err = io.WriteString(conn, helloAll[:9])
	}
	assert.NoError(t, err)
	assert.NoError(t, conn.Close())
}

func TestHundredClients(t *testing.T) {
	const clients, messages = 100, 20
	s := serve(t, stream.ServerConfig{MaxClients: clients, Queue: flow.QueueConfig{Policy: flow.Block}, Beat: time.Second})
	out := add(t, s, "a")
	var wg sync.WaitGroup
	for range clients {
		c := dial(t, s, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
		var next uint64
		wg.Add(messages)
		require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) {
			defer wg.Done()
			assert.Equal(t, next, d.Sequence())
			next++
		}))
	}
	for i := range messages {
		publish(t, out, i)
	}
	wg.Wait()
	assert.EqualValues(t, messages, out.PoolStats().Lent, "one buffer a message, whatever the number of clients")
}

func TestIPv6(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6 loopback:", err)
	}
	require.NoError(t, probe.Close())
	noGoroutines(t)
	s := listen(t, stream.ServerConfig{}, "[::1]:0")
	out := add(t, s, "a")
	assert.Contains(t, s.Addr().String(), "[::1]:")
	c := dial(t, s, stream.Options{})
	got := make(chan struct{}, 1)
	require.NoError(t, c.Listen(t.Context(), "a", func(*stream.Data) { got <- struct{}{} }))
	publish(t, out, 0)
	take(t, got)
}

// What is latched is kept for the first client as well.
func TestLatchedBeforeAnybodyCame(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := addOf[sample.Transforms](t, s, stream.Info{Name: "/tf_static", Latched: true}, nil)
	for i := range 3 {
		require.NoError(t, out.Publish(t.Context(), 0, &sample.Transforms{Stamp: simtime.Stamp(i)}))
	}
	got := make(chan int64, 4)
	listen := func(d *stream.Data) { got <- int64(d.Stamp()) }
	c := dial(t, s, stream.Options{Zstd: true})
	for range 2 { // and for one that listens again
		require.NoError(t, c.Listen(t.Context(), "/tf_static", listen))
		assert.EqualValues(t, 2, take(t, got), "the last")
		require.NoError(t, c.Stop("/tf_static"))
	}
	closeServer(t, s)
	assert.Error(t, out.Publish(t.Context(), 0, &sample.Transforms{}), "nobody will come")
	assert.Zero(t, s.Outstanding())
}

// A connection that broke and came back to the same server without a loss is not a gap.
func TestReconnectionWithoutALossIsNoGap(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	e := newEvents()
	conns := make(chan net.Conn, 2)
	c := dial(t, s, stream.Options{MinBackoff: time.Millisecond, Events: func(event stream.Event) { e <- event },
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			conns <- conn
			return conn, err
		}})
	got := make(chan uint64, 1)
	require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) {
		assert.Zero(t, d.Missed)
		got <- d.Sequence()
	}))
	publish(t, out, 0)
	assert.EqualValues(t, 0, take(t, got))
	require.NoError(t, (<-conns).Close())
	e.of(t, stream.EventDisconnected)
	assert.False(t, e.of(t, stream.EventConnected).Restarted)
	require.Eventually(t, func() bool { return out.Subscribers() == 1 }, limit, time.Millisecond)
	publish(t, out, 1)
	assert.EqualValues(t, 1, take(t, got))
	end(c)
	close(e)
	for event := range e {
		assert.NotEqual(t, stream.EventGap, event.Kind)
	}
}

// Data of a callback that has returned is gone if it was kept without saying so. In checking
// builds its bytes are overwritten, and kept data's are not.
func TestUseAfterRelease(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	out := add(t, s, "a")
	c := dial(t, s, stream.Options{})
	kept := make(chan *stream.Data, 1)
	require.NoError(t, c.Listen(t.Context(), "a", func(d *stream.Data) { kept <- d.Keep() }))
	publish(t, out, 3)
	d := take(t, kept)
	require.NoError(t, c.Stop("a"))
	c.Wait("a") // the callback's own reference is given up
	again := d.Keep()
	d.Release()
	assert.Nil(t, d.Bytes(), "nothing is left to read")
	v, err := stream.Read[sample.Speed](again)
	require.NoError(t, err)
	assert.Equal(t, 3.0, v.MetresPerSecond, "another holds it")
	again.Release()
	assert.Zero(t, c.Outstanding())
}

// A client that only answers the server's signs of life stays connected, while messages flow.
func TestAnsweringSignsOfLifeIsEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second; runs without -short")
	}
	const beat = 50 * time.Millisecond
	s := serve(t, stream.ServerConfig{Beat: beat})
	a := add(t, s, "a")
	conn, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, helloAll)
	require.NoError(t, err)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, err := io.ReadFull(conn, b)
		require.NoError(t, err)
		return b
	}
	read(int(binary.LittleEndian.Uint32(read(16)[12:])))
	ended := make(chan struct{})
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for seq := 0; ; seq++ {
			select {
			case <-ended:
				return
			case <-time.After(beat / 10):
				_ = a.Publish(context.Background(), 0, speed(seq))
			}
		}
	})
	defer publishing.Wait()
	defer close(ended)
	for answered := 0; answered < 20; { // four times as many beats as a silent client has
		head := read(16)
		read(int(binary.LittleEndian.Uint32(head)))
		if head[7] == 1 {
			answered++
			_, err := conn.Write(head)
			require.NoError(t, err)
		}
	}
}
