package apollo_test

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// sink is a server that reads and counts bytes.
type sink struct {
	address string
	bytes   atomic.Int64
	more    chan struct{} // has an element after bytes have come
}

// await waits until so many bytes have come.
func (s *sink) await(bytes int64) {
	for s.bytes.Load() < bytes {
		<-s.more
	}
}

func newSink(t testing.TB) *sink {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sink{address: listener.Addr().String(), more: make(chan struct{}, 1)}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() { s.drain(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return s
}

func (s *sink) drain(conn net.Conn) {
	chunk := make([]byte, 1<<20)
	for {
		n, err := conn.Read(chunk)
		s.bytes.Add(int64(n))
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Once buffers are there, nothing is allocated for a message, on its whole way.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s := newSink(t)
	b := open(t, s.address)
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	bridgetest.Connected(t, b)
	cloud := scan(1000)
	ctx := context.Background()
	sent := func() int64 { return b.Statistics().Messages }
	// The statistics allocate; so they are asked for only to learn the message's size.
	require.NoError(t, publish(ctx, cloud))
	require.Eventually(t, func() bool { return sent() == 1 }, patience, tick)
	size := b.Statistics().Bytes
	require.Eventually(t, func() bool { return s.bytes.Load() > size }, patience, tick)
	before := s.bytes.Load()
	messages := int64(0)
	send := func() {
		if err := publish(ctx, cloud); err != nil {
			t.Error(err)
		}
		messages++
		s.await(before + messages*size)
	}
	for range 100 {
		send()
	}
	assert.Zero(t, testing.AllocsPerRun(500, send))
}

// scan is a cloud of so many points.
func scan(points int) *sample.PointCloud {
	r := rand.New(rand.NewPCG(1, 2))
	c := &sample.PointCloud{Header: sample.Header{Stamp: 1_700_000_000_123_456_789, FrameID: "lidar"}, Rings: points, Columns: 1}
	for i := range points {
		c.Points = append(c.Points, sample.Point{X: r.Float32(), Y: r.Float32(), Z: r.Float32(), Intensity: r.Float32() * 255, TimeNs: uint32(i) * 434})
	}
	return c
}

// largest is the number of points of 128 rings x 1800 columns.
const largest = 128 * 1800

// BenchmarkLoopback sends clouds of 230,400 points to a server that only reads, with the
// bridge and, of as many bytes, with a bare connection.
func BenchmarkLoopback(b *testing.B) {
	cloud := scan(largest)
	size := int64(0)
	b.Run("bridge", func(b *testing.B) {
		s := newSink(b)
		bridge := open(b, s.address+"?messages=4")
		publish, err := bridges.AddPublisher[*sample.PointCloud](bridge, bridges.Topic{Name: "/points", Policy: flow.Block})
		require.NoError(b, err)
		require.NoError(b, bridge.Connect(context.Background()))
		bridgetest.Connected(b, bridge)
		require.NoError(b, publish(context.Background(), cloud))
		require.Eventually(b, func() bool { return bridge.Statistics().Messages == 1 }, patience, tick)
		size = bridge.Statistics().Bytes
		b.SetBytes(size)
		b.ReportAllocs()
		n := int64(1)
		for b.Loop() {
			require.NoError(b, publish(context.Background(), cloud))
			n++
		}
		require.Eventually(b, func() bool { return bridge.Statistics().Messages == n }, patience, tick, "all were sent")
	})
	b.Run("bare", func(b *testing.B) {
		s := newSink(b)
		var dialer net.Dialer
		conn, err := dialer.DialContext(context.Background(), "tcp", s.address)
		require.NoError(b, err)
		defer conn.Close()
		data := make([]byte, size)
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			_, err := conn.Write(data)
			require.NoError(b, err)
		}
	})
}
