package transport_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longSize is the framing of a length of four bytes, then so many bytes.
func longSize(head []byte) (int, error) {
	if len(head) < 4 {
		return 4, nil
	}
	return 4 + int(binary.LittleEndian.Uint32(head)), nil
}

func longFrame(n int) []byte {
	f := binary.LittleEndian.AppendUint32(nil, uint32(n))
	for i := range n {
		f = append(f, byte(i*7))
	}
	return f
}

// Frames come out as they went in, in whatever pieces they arrive.
func TestFramesInPieces(t *testing.T) {
	for _, piece := range []int{1, 3, 1000, 70_000, 10 << 20} {
		ours, theirs := net.Pipe()
		conn := transport.TCP{Size: longSize}.Conn(ours)
		sizes := []int{0, 1, 5000, 0, 70_000, 3}
		if piece > 100 {
			sizes = append(sizes, 3<<20, 2<<20, 10)
		}
		go func() {
			defer theirs.Close()
			var all []byte
			for _, n := range sizes {
				all = append(all, longFrame(n)...)
			}
			for len(all) > 0 {
				n, err := theirs.Write(all[:min(piece, len(all))])
				if err != nil {
					return
				}
				all = all[n:]
			}
		}()
		for _, n := range sizes {
			got, err := conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, longFrame(n), got)
		}
		_, err := conn.Read(t.Context())
		assert.Equal(t, io.EOF, err, "between two frames")
		require.NoError(t, conn.Close())
	}
}

func TestFramesThatArent(t *testing.T) {
	for name, c := range map[string]struct {
		tcp  transport.TCP
		send []byte
		want []error
	}{
		"cut":               {transport.TCP{Size: longSize}, longFrame(10)[:7], []error{io.ErrUnexpectedEOF}},
		"too large":         {transport.TCP{Size: longSize, Limit: 100}, longFrame(97), []error{transport.ErrProtocol, flow.ErrTooLarge}},
		"too large at once": {transport.TCP{Size: longSize}, []byte{0xff, 0xff, 0xff, 0xff}, []error{transport.ErrProtocol, flow.ErrTooLarge}},
		"no frame":          {transport.TCP{Size: size}, []byte{0xff}, []error{transport.ErrProtocol}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			conn := c.tcp.Conn(ours)
			defer conn.Close()
			go func() {
				_, _ = theirs.Write(c.send)
				_ = theirs.Close()
			}()
			_, err := conn.Read(t.Context())
			for _, want := range c.want {
				assert.ErrorIs(t, err, want)
			}
		})
	}
}

// What a head says costs no memory before it has arrived.
func TestLyingHeads(t *testing.T) {
	ours, theirs := net.Pipe()
	conn := transport.TCP{Size: longSize, Limit: 1 << 30}.Conn(ours)
	defer conn.Close()
	go func() {
		_, _ = theirs.Write([]byte{0, 0, 0, 0x3f, 1, 2, 3})
		_ = theirs.Close()
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := conn.Read(t.Context())
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "of a gigabyte that it claims")
}

func TestFrameThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		conn := transport.TCP{Size: longSize, FrameTimeout: time.Minute}.Conn(ours)
		defer conn.Close()
		go func() {
			time.Sleep(time.Hour)
			_, _ = theirs.Write(longFrame(10))
			time.Sleep(time.Hour)
			_, _ = theirs.Write(longFrame(10)[:5])
		}()
		_, err := conn.Read(t.Context())
		require.NoError(t, err, "between frames any time may pass")
		begun := time.Now()
		_, err = conn.Read(t.Context())
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Hour+time.Minute, time.Since(begun))
	})
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{}, 1)
	f.Add(append(longFrame(5), longFrame(0)...), 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f, 1}, 2)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		ours, theirs := net.Pipe()
		conn := transport.TCP{Size: longSize, Limit: 1 << 16}.Conn(ours)
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer theirs.Close()
			for rest := data; len(rest) > 0; {
				n, err := theirs.Write(rest[:max(1, min(piece, len(rest)))])
				if err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		rest := data
		for {
			got, err := conn.Read(t.Context())
			if err != nil {
				break
			}
			want, err := longSize(rest)
			require.NoError(t, err)
			want, err = longSize(rest[:want])
			require.NoError(t, err)
			require.Equal(t, rest[:want], got)
			rest = rest[want:]
		}
		require.NoError(t, conn.Close())
		<-done
	})
}

// endless is a connection that takes everything and sends nothing.
type endless struct {
	closed  chan struct{}
	written chan struct{}
	once    *sync.Once
}

func (e endless) Write(context.Context, []byte) error {
	e.written <- struct{}{}
	return nil
}

func (e endless) Read(context.Context) ([]byte, error) { <-e.closed; return nil, io.EOF }
func (e endless) Close() error                         { e.once.Do(func() { close(e.closed) }); return nil }

func TestSteadyStateAllocatesNothing(t *testing.T) {
	conn := endless{make(chan struct{}), make(chan struct{}, 1), new(sync.Once)}
	c := dialling(t, transport.ClientConfig{Dial: func(context.Context) (transport.FrameConn, error) { return conn, nil }})
	out := c.NewOutlet(new(flow.Tally), flow.DropOldest)
	c.Register(frame("first"))
	c.Start()
	<-conn.written
	ctx := t.Context()
	content := frame("message")
	send := func() {
		b := out.Buffer(len(content))
		b.Adopt(append(b.Bytes()[:0], content...))
		if err := out.Send(ctx, b); err != nil {
			t.Error(err)
		}
		<-conn.written
	}
	for range 100 {
		send()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, send))
}

// counting is a server that counts the frames of all its connections.
type counting struct {
	listener net.Listener
	frames   atomic.Int64
	mu       sync.Mutex
	conns    map[net.Conn]bool // guarded by mu
	wg       sync.WaitGroup
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &counting{listener: listener, conns: map[net.Conn]bool{}}
	c.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns[conn] = true
			c.mu.Unlock()
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	return c
}

func (c *counting) serve(conn net.Conn) {
	frames := transport.TCP{Size: longSize}.Conn(conn)
	defer frames.Close()
	for {
		f, err := frames.Read(context.Background())
		if err != nil {
			return
		}
		if len(f) > 4 { // registrations have no content
			c.frames.Add(1)
		}
	}
}

// kill ends all connections, without a goodbye, and returns how many there were.
func (c *counting) kill() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer clear(c.conns)
	for conn := range c.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	return len(c.conns)
}

// Whatever happens to connections, each message is sent or dropped or refused, once, and
// a client that is disconnected leaves nothing behind.
func TestCountsUnderRandomKills(t *testing.T) {
	server := newCounting(t)
	address := server.listener.Addr().String()
	c := dialling(t, transport.ClientConfig{
		Dial: func(ctx context.Context) (transport.FrameConn, error) {
			return transport.TCP{Size: longSize}.Dial(ctx, address)
		},
		Retry: transport.Retry{Interval: time.Millisecond}, Queue: flow.QueueConfig{Messages: 8, BlockLimit: 10 * time.Millisecond},
	})
	c.Register(longFrame(0))
	var wg sync.WaitGroup
	var offered atomic.Int64
	stop := make(chan struct{})
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest, flow.Block} {
		publish := c.publisher(policy)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					offered.Add(1)
					_ = publish(context.Background(), longFrame(200))
				}
			}
		})
	}
	c.Start()
	for kills := range int64(15) {
		before := server.frames.Load()
		require.Eventually(t, func() bool {
			// The last frames may be of the connection before; the next may not be accepted yet.
			return c.Diagnosis().Connections > kills && server.frames.Load() > before+rand.Int64N(50) && server.kill() > 0
		}, time.Minute, time.Millisecond)
	}
	close(stop)
	wg.Wait()
	c.close(t)
	s := c.counts()
	assert.Equal(t, offered.Load(), s.Messages+s.Drops.Total(), "%v", s.Drops)
	require.NoError(t, server.listener.Close())
	server.kill()
	server.wg.Wait()
	assert.LessOrEqual(t, server.frames.Load(), s.Messages, "nothing arrived that wasn't counted")
}
