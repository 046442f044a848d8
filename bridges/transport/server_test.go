package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// The test's protocol: a client sends the letter of a stream and nothing more; it is
// sent frames of a u32 length (not counted), a u64 sequence number and a body. A
// frame of length 0 is a sign of life, one of 0xffffffff the goodbye.
const prefix = 12

type session struct {
	client  *transport.Conn
	streams map[byte]*transport.Stream
}

func (s *session) Serve(context.Context) error {
	var letter [1]byte
	for {
		if _, err := io.ReadFull(s.client.Conn(), letter[:]); err != nil {
			return err
		}
		stream, ok := s.streams[letter[0]]
		if !ok || s.client.Enter() != nil {
			if err := s.client.Post([]byte("refused")); err != nil {
				return err
			}
			s.client.Part()
			return errors.New("refused")
		}
		stream.Subscribe(s.client, 0)
	}
}

func (s *session) Beat(dst []byte, idle bool) []byte {
	if idle {
		return append(dst, 0, 0, 0, 0)
	}
	return dst
}

func (s *session) Goodbye(dst []byte) []byte { return append(dst, 0xff, 0xff, 0xff, 0xff) }

// start returns a server with the streams a and b.
func start(t testing.TB, config transport.Config, streams ...transport.StreamConfig) (*transport.Server, []*transport.Stream) {
	t.Helper()
	letters := map[byte]*transport.Stream{}
	config.Accept = func(c *transport.Conn) transport.Session { return &session{c, letters} }
	server := transport.New(config)
	var list []*transport.Stream
	for i, c := range streams {
		c.Seal = func(frame []byte, sequence uint64) { binary.LittleEndian.PutUint64(frame[4:], sequence) }
		list = append(list, server.NewStream(c))
		letters[byte('a'+i)] = list[i]
	}
	require.NoError(t, server.Listen("127.0.0.1:0"))
	t.Cleanup(func() {
		assert.NoError(t, server.Close(context.Background()))
		assert.Zero(t, server.Outstanding(), "buffers leaked")
	})
	return server, list
}

// dial subscribes to a stream and waits until the server knows.
func dial(t testing.TB, server *transport.Server, stream *transport.Stream, letter byte) net.Conn {
	t.Helper()
	before := stream.Subscribers()
	conn, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte{letter})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return stream.Subscribers() == before+1 }, 30*time.Second, time.Millisecond)
	return conn
}

func send(t testing.TB, stream *transport.Stream, size int) {
	t.Helper()
	m := stream.NewMessage()
	b := m.Frame(0, prefix+size)
	b.Reset(prefix + size)
	binary.LittleEndian.PutUint32(b.Bytes(), uint32(size))
	require.NoError(t, stream.Send(context.Background(), m))
}

// next reads a frame; io.EOF after the goodbye.
func next(conn net.Conn, body []byte) (sequence uint64, n int, err error) {
	var head [prefix]byte
	for {
		if _, err := io.ReadFull(conn, head[:4]); err != nil {
			return 0, 0, err
		}
		switch length := binary.LittleEndian.Uint32(head[:]); length {
		case 0:
			continue
		case 0xffffffff:
			return 0, 0, io.EOF
		default:
			if _, err := io.ReadFull(conn, head[4:]); err != nil {
				return 0, 0, err
			}
			if cap(body) < int(length) {
				body = make([]byte, length)
			}
			_, err = io.ReadFull(conn, body[:length])
			return binary.LittleEndian.Uint64(head[4:]), int(length), err
		}
	}
}

// outcomes counts what became of messages.
type outcomes struct {
	mu                                   sync.Mutex
	messages, delivered, dropped, closed int
}

func (o *outcomes) settle(out transport.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.messages++
	o.delivered += out.Delivered
	o.dropped += out.Dropped
	if out.Dropped > 0 && out.Cause == flow.CauseClosed {
		o.closed++
	}
}

func TestEachClientGetsItsStream(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	var o outcomes
	server, streams := start(t, transport.Config{Queue: flow.QueueConfig{Policy: flow.Block}},
		transport.StreamConfig{Name: "a", Settled: o.settle}, transport.StreamConfig{Name: "b"})
	m := streams[0].NewMessage()
	assert.ErrorIs(t, streams[0].Send(t.Context(), m), transport.ErrNoSubscribers)
	first, second := dial(t, server, streams[0], 'a'), dial(t, server, streams[0], 'a')
	other := dial(t, server, streams[1], 'b')
	for i := range 100 {
		send(t, streams[0], 1+i)
		send(t, streams[1], 1000)
	}
	require.NoError(t, server.Close(t.Context()))
	for _, conn := range []net.Conn{first, second, other} {
		for i := range 100 {
			sequence, n, err := next(conn, nil)
			require.NoError(t, err)
			assert.EqualValues(t, i, sequence)
			if conn == other {
				assert.Equal(t, 1000, n)
			} else {
				assert.Equal(t, 1+i, n)
			}
		}
		_, _, err := next(conn, nil)
		assert.ErrorIs(t, err, io.EOF, "the goodbye")
	}
	assert.Equal(t, 100, o.messages)
	assert.Equal(t, 200, o.delivered)
	assert.Zero(t, o.dropped)
}

func TestLateSubscribersGetWhatIsLatched(t *testing.T) {
	server, streams := start(t, transport.Config{}, transport.StreamConfig{Name: "static", Latched: true})
	first := dial(t, server, streams[0], 'a')
	send(t, streams[0], 5)
	send(t, streams[0], 6)
	second := dial(t, server, streams[0], 'a')
	sequence, n, err := next(second, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, sequence)
	assert.Equal(t, 6, n)
	_, n, err = next(first, nil)
	require.NoError(t, err)
	assert.Equal(t, 5, n)
}

// A stalled client loses its own messages and nobody else's.
func TestStalledClientDisturbsNobody(t *testing.T) {
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest, flow.Block} {
		t.Run(policy.String(), func(t *testing.T) {
			const messages, size = 400, 1 << 18
			var o outcomes
			server, streams := start(t, transport.Config{Stall: time.Hour, Queue: flow.QueueConfig{Policy: policy, Messages: 8, BlockLimit: 20 * time.Millisecond}},
				transport.StreamConfig{Name: "a", Settled: o.settle})
			stalled := dial(t, server, streams[0], 'a')
			lively := dial(t, server, streams[0], 'a')
			body := make([]byte, size)
			for i := range messages {
				send(t, streams[0], size)
				sequence, _, err := next(lively, body) // so the next is sent when this one is there
				require.NoError(t, err)
				require.EqualValues(t, i, sequence, "nothing is missing")
			}
			var dropped, sent int64
			for _, c := range server.Clients() {
				d := c.Deliveries(nil)[0]
				assert.EqualValues(t, messages, d.Offered)
				waiting, _ := c.Waiting()
				assert.LessOrEqual(t, d.Offered-d.Sent-d.Dropped-int64(waiting), int64(16), "only what is being written")
				dropped += d.Dropped
				sent += d.Sent
				assert.Equal(t, d.Dropped, d.Drops[flow.CausePeerSlow])
			}
			assert.Positive(t, dropped, "of the stalled one")
			assert.GreaterOrEqual(t, sent, int64(messages))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, server.Close(ctx), "it waits for nobody then")
			assert.Equal(t, messages, o.messages)
			assert.Equal(t, 2*messages, o.delivered+o.dropped, "delivered + dropped = produced")
			assert.Positive(t, o.closed)
			require.NoError(t, stalled.Close())
		})
	}
}

func TestClientThatTakesNothingIsDisconnected(t *testing.T) {
	server, streams := start(t, transport.Config{Stall: 50 * time.Millisecond}, transport.StreamConfig{Name: "a"})
	dial(t, server, streams[0], 'a')
	for range 64 {
		if streams[0].Subscribers() == 0 {
			break
		}
		m := streams[0].NewMessage()
		m.Frame(0, 1<<20).Reset(1 << 20)
		if err := streams[0].Send(t.Context(), m); err != nil {
			require.ErrorIs(t, err, transport.ErrNoSubscribers)
			break
		}
	}
	require.Eventually(t, func() bool { return len(server.Clients()) == 0 }, 30*time.Second, time.Millisecond)
	assert.Zero(t, streams[0].Subscribers())
}

func TestSurplusAndUnknownAreRefusedWithAReason(t *testing.T) {
	server, streams := start(t, transport.Config{MaxClients: 1}, transport.StreamConfig{Name: "a"})
	refused := func(letter byte) {
		conn, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		_, err = conn.Write([]byte{letter, 1, 2, 3, 4, 5, 6, 7, 8})
		require.NoError(t, err)
		answer := make([]byte, 7)
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		assert.Equal(t, "refused", string(answer), "although the server hasn't read all that was sent")
		require.NoError(t, conn.Close())
	}
	refused('z')
	require.Eventually(t, func() bool { return len(server.Clients()) == 0 }, 30*time.Second, time.Millisecond)
	dial(t, server, streams[0], 'a')
	refused('a')
	assert.Equal(t, 1, streams[0].Subscribers())
}

func TestBeatsComeWhileNothingIsSent(t *testing.T) {
	server, streams := start(t, transport.Config{Beat: 10 * time.Millisecond}, transport.StreamConfig{Name: "a"})
	conn := dial(t, server, streams[0], 'a')
	var head [8]byte
	_, err := io.ReadFull(conn, head[:])
	require.NoError(t, err)
	assert.Equal(t, [8]byte{}, head, "two signs of life")
}

func TestClosingTwiceAndListeningAfterwards(t *testing.T) {
	server, streams := start(t, transport.Config{}, transport.StreamConfig{Name: "a"})
	assert.NotNil(t, server.Addr())
	require.NoError(t, server.Close(t.Context()))
	require.NoError(t, server.Close(t.Context()))
	assert.ErrorIs(t, server.Listen("127.0.0.1:0"), transport.ErrClosed)
	assert.ErrorIs(t, streams[0].Send(t.Context(), streams[0].NewMessage()), transport.ErrNoSubscribers)
	assert.Error(t, transport.New(transport.Config{}).Listen("127.0.0.1:99999"))
}

func TestSendersOnManyGoroutines(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	var o outcomes
	server, streams := start(t, transport.Config{Queue: flow.QueueConfig{Policy: flow.Block}},
		transport.StreamConfig{Name: "a", Settled: o.settle})
	conn := dial(t, server, streams[0], 'a')
	const senders, each = 4, 50
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for range each {
				m := streams[0].NewMessage()
				b := m.Frame(0, prefix+9)
				b.Reset(prefix + 9)
				binary.LittleEndian.PutUint32(b.Bytes(), 9)
				assert.NoError(t, streams[0].Send(context.Background(), m))
			}
		})
	}
	for i := range senders * each {
		sequence, _, err := next(conn, nil)
		require.NoError(t, err)
		require.EqualValues(t, i, sequence)
	}
	wg.Wait()
	require.NoError(t, server.Close(t.Context()))
	assert.Equal(t, senders*each, o.delivered)
}
