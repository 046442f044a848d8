package transport_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
)

// The test's protocol: a client sends the letter of a stream and nothing more. It is sent
// frames of a u32 length (not counted), a u64 sequence number and a body. A frame of length 0
// is a sign of life, one of 0xffffffff the goodbye.
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
				d := c.Counts(nil)[0]
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
	assert.ErrorIs(t, server.Listen("127.0.0.1:0"), flow.ErrClosed)
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

// reader is a session that wants one stream and reads until the client goes.
type reader struct {
	client *transport.Conn
	stream **transport.Stream
}

func (r *reader) Serve(context.Context) error {
	if err := r.client.Enter(); err != nil {
		return err
	}
	(*r.stream).Subscribe(r.client, 0)
	_, err := io.Copy(io.Discard, r.client.Conn())
	return err
}

func (r *reader) Beat(dst []byte, _ bool) []byte { return dst }

func (r *reader) Goodbye(dst []byte) []byte { return dst }

// A client on a slow line that takes a little now and then stays, however long its
// frames take; one that then takes nothing goes.
func TestSlowIsNotStalled(t *testing.T) {
	for _, size := range []int{1000, 3 << 20} { // written at once, and in pieces
		synctest.Test(t, func(t *testing.T) {
			var stream *transport.Stream
			var o outcomes
			server := transport.New(transport.Config{
				Stall:  10 * time.Second,
				Accept: func(c *transport.Conn) transport.Session { return &reader{c, &stream} },
			})
			stream = server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			synctest.Wait()
			require.Equal(t, 1, stream.Subscribers())
			send(t, stream, size)
			begun := time.Now()
			piece := make([]byte, (prefix+size)/20+1)
			for left := prefix + size; left > 0; {
				time.Sleep(9 * time.Second)
				n, err := io.ReadFull(ours, piece[:min(left, len(piece))])
				require.NoError(t, err, "after %v", time.Since(begun))
				left -= n
			}
			synctest.Wait()
			assert.Equal(t, 1, o.delivered)
			send(t, stream, size)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			assert.Zero(t, stream.Subscribers())
			assert.Equal(t, 1, o.dropped)
			require.NoError(t, server.Close(t.Context()))
			assert.Zero(t, server.Outstanding())
		})
	}
}

// stopping is a connection of a process that is stopped for a minute within its first write, as by SIGSTOP.
type stopping struct {
	net.Conn
	once sync.Once
}

func (s *stopping) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.once.Do(func() { time.Sleep(time.Minute) })
	return n, err
}

// A client that took nothing while this process was stopped has its time still.
func TestAStopIsNotTheClients(t *testing.T) {
	for _, size := range []int{1000, 3 << 20} {
		synctest.Test(t, func(t *testing.T) {
			var stream *transport.Stream
			var o outcomes
			server := transport.New(transport.Config{
				Stall:  10 * time.Second,
				Accept: func(c *transport.Conn) transport.Session { return &reader{c, &stream} },
			})
			stream = server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
			ours, theirs := net.Pipe()
			server.Admit(&stopping{Conn: theirs})
			synctest.Wait()
			send(t, stream, size)
			time.Sleep(time.Minute + 9*time.Second)
			_, err := io.ReadFull(ours, make([]byte, prefix+size))
			require.NoError(t, err)
			synctest.Wait()
			assert.Equal(t, 1, o.delivered)
			send(t, stream, size)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			assert.Zero(t, stream.Subscribers(), "it takes nothing, and nothing stands")
			require.NoError(t, server.Close(t.Context()))
		})
	}
}

// A client that takes part of a frame and then stops goes as soon as one that takes nothing.
func TestStalledAfterAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream *transport.Stream
		var left []error
		server := transport.New(transport.Config{
			Stall:  10 * time.Second,
			Accept: func(c *transport.Conn) transport.Session { return &reader{c, &stream} },
			Left:   func(_ *transport.Conn, failure error) { left = append(left, failure) },
		})
		stream = server.NewStream(transport.StreamConfig{Name: "a"})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		synctest.Wait()
		send(t, stream, 3<<20)
		time.Sleep(3 * time.Second)
		_, err := io.ReadFull(ours, make([]byte, 2<<20+1)) // and a byte of the third chunk
		require.NoError(t, err)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		assert.Zero(t, stream.Subscribers())
		require.Len(t, left, 1)
		assert.ErrorContains(t, left[0], "it took nothing for 10s")
		require.NoError(t, server.Close(t.Context()))
	})
}

// A server that closes waits for a client that takes something, and two seconds for one that
// takes nothing.
func TestClosingWaitsForThoseWhoTake(t *testing.T) {
	for name, c := range map[string]struct {
		takes bool
		want  time.Duration
	}{
		"nothing":    {false, 2 * time.Second},
		"bit by bit": {true, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 1000
				var stream *transport.Stream
				server := transport.New(transport.Config{
					Stall:  10 * time.Second,
					Accept: func(c *transport.Conn) transport.Session { return &reader{c, &stream} },
				})
				stream = server.NewStream(transport.StreamConfig{Name: "a"})
				ours, theirs := net.Pipe()
				server.Admit(theirs)
				synctest.Wait()
				send(t, stream, size)
				synctest.Wait()
				if c.takes {
					go func() {
						for range 9 {
							time.Sleep(time.Second)
							_, _ = io.ReadFull(ours, make([]byte, size/9+2))
						}
						_, _ = io.Copy(io.Discard, ours)
						_ = ours.Close()
					}()
				}
				begun := time.Now()
				require.NoError(t, server.Close(t.Context()))
				assert.InDelta(t, c.want.Seconds(), time.Since(begun).Seconds(), 1.1)
			})
		})
	}
}

// The same encrypted, where a write that ran out of time can't be taken up again.
func TestSlowIsNotStalledWithTLS(t *testing.T) {
	const size = 1 << 20
	cert := httptest.NewUnstartedServer(nil) // it has a certificate
	cert.StartTLS()
	defer cert.Close()
	synctest.Test(t, func(t *testing.T) {
		var clients []*transport.Conn
		var o outcomes
		server := transport.New(transport.Config{
			Stall: 10 * time.Second, Accept: subscriber(&clients), TLS: &tls.Config{Certificates: cert.TLS.Certificates},
		})
		stream := server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		client := tls.Client(ours, &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, client.Handshake())
		require.True(t, stream.Subscribe(clients[0], 0))
		send(t, stream, size)
		for left := prefix + size; left > 0; {
			time.Sleep(2 * time.Second)
			n, err := io.ReadFull(client, make([]byte, min(left, 50_000)))
			require.NoError(t, err, "%d bytes are left", left)
			left -= n
		}
		synctest.Wait()
		assert.Equal(t, 1, o.delivered)
		_ = ours.Close()
		require.NoError(t, server.Close(t.Context()))
	})
}

// A latched stream takes messages while nobody subscribes, and hands out the last.
func TestLatchedWithoutSubscribers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	var o outcomes
	server, streams := start(t, transport.Config{}, transport.StreamConfig{
		Name: "static", Latched: true, Settled: o.settle,
	})
	send(t, streams[0], 5)
	send(t, streams[0], 6)
	assert.Equal(t, 2, o.messages, "each is settled")
	assert.Zero(t, o.delivered+o.dropped)
	sequence, n, err := next(dial(t, server, streams[0], 'a'), nil)
	require.NoError(t, err)
	assert.EqualValues(t, 1, sequence)
	assert.Equal(t, 6, n)
	require.NoError(t, server.Close(t.Context()))
	assert.ErrorIs(t, streams[0].Send(t.Context(), streams[0].NewMessage()), transport.ErrNoSubscribers, "nobody will come")
	assert.Zero(t, server.Outstanding())
}

func TestListening(t *testing.T) {
	server, _ := start(t, transport.Config{})
	assert.ErrorIs(t, server.Listen("127.0.0.1:0"), transport.ErrListening)
	other := transport.New(transport.Config{})
	defer other.Close(t.Context())
	err := other.Listen(server.Addr().String())
	assert.ErrorContains(t, err, "address already in use: end the program that has it, or choose another port")
	assert.ErrorContains(t, err, server.Addr().String())
	assert.ErrorContains(t, other.Listen("192.0.2.1:0"), "no interface of this machine has the address") // RFC 5737's, nobody's
	require.NoError(t, other.Listen("0.0.0.0:0"))
	assert.Contains(t, other.Addr().String(), "0.0.0.0:", "IPv4 alone")
}

// Policy block waits for all stalled clients together no longer than its limit, and for
// none of them again.
func TestStalledClientsAreWaitedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stalled, limit = 5, time.Second
		var stream *transport.Stream
		var o outcomes
		server := transport.New(transport.Config{
			Queue:  flow.QueueConfig{Policy: flow.Block, Messages: 1, BlockLimit: limit},
			Accept: func(c *transport.Conn) transport.Session { return &reader{c, &stream} },
		})
		stream = server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
		for range stalled {
			_, theirs := net.Pipe()
			server.Admit(theirs)
		}
		synctest.Wait()
		begun := time.Now()
		for range 6 { // one is being written, one waits
			send(t, stream, 10)
			synctest.Wait()
		}
		assert.Equal(t, limit, time.Since(begun))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, server.Close(ctx))
		assert.Equal(t, 6, o.messages)
		assert.Equal(t, 6*stalled, o.dropped)
		assert.Zero(t, server.Outstanding())
	})
}

// choosy is a session that refuses clients who say anything.
type choosy struct{ *reader }

var errChoosy = errors.New("say nothing")

func (c *choosy) Serve(ctx context.Context) error {
	if err := c.client.Enter(); err != nil {
		return err
	}
	(*c.stream).Subscribe(c.client, 0)
	if _, err := c.client.Conn().Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if err == nil {
		return errChoosy
	}
	return nil
}

// Who goes, or is disconnected when the server ends, has not failed.
func TestWhyClientsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		sent int // bytes of a message
		end  func(*transport.Server, net.Conn)
		want error
		text string
	}{
		"goes":                  {0, func(_ *transport.Server, peer net.Conn) { _ = peer.Close() }, nil, ""},
		"goes in a message":     {1000, func(_ *transport.Server, peer net.Conn) { _ = peer.Close() }, nil, ""},
		"stalls":                {1000, func(*transport.Server, net.Conn) { time.Sleep(11 * time.Second) }, os.ErrDeadlineExceeded, "it took nothing for 10s"},
		"is refused":            {0, func(_ *transport.Server, peer net.Conn) { _, _ = peer.Write([]byte("a")) }, errChoosy, ""},
		"is there when it ends": {0, func(s *transport.Server, peer net.Conn) { go func() { _, _ = io.Copy(io.Discard, peer) }() }, nil, ""},
		"stalls when it ends":   {1000, func(*transport.Server, net.Conn) {}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stream *transport.Stream
				var left []error
				server := transport.New(transport.Config{
					Stall:  10 * time.Second,
					Accept: func(c *transport.Conn) transport.Session { return &choosy{&reader{c, &stream}} },
					Left:   func(_ *transport.Conn, failure error) { left = append(left, failure) },
				})
				stream = server.NewStream(transport.StreamConfig{Name: "a"})
				ours, theirs := net.Pipe()
				server.Admit(theirs)
				synctest.Wait()
				if c.sent > 0 {
					send(t, stream, c.sent)
				}
				synctest.Wait()
				c.end(server, ours)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, server.Close(ctx))
				require.Len(t, left, 1, "told once")
				if c.want == nil {
					assert.NoError(t, left[0])
					return
				}
				assert.ErrorIs(t, left[0], c.want)
				assert.ErrorContains(t, left[0], c.text)
			})
		})
	}
}

// TestHandshakesArentClients: a server that is full of connections which say nothing takes a
// client all the same. They end after their time, and each is told of with its cause.
func TestHandshakesArentClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		causes := map[guard.Rule]int{} // guarded by mu
		told := func() map[guard.Rule]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(causes)
		}
		letters := map[byte]*transport.Stream{}
		server := transport.New(transport.Config{
			MaxClients: 1,
			Accept:     func(c *transport.Conn) transport.Session { return &session{c, letters} },
			Left: func(_ *transport.Conn, failure error) {
				mu.Lock()
				defer mu.Unlock()
				if refusal := new(guard.Refusal); errors.As(failure, &refusal) {
					causes[refusal.Rule]++
				}
			},
		})
		stream := server.NewStream(transport.StreamConfig{Name: "a"})
		letters['a'] = stream
		admit := func() net.Conn {
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			synctest.Wait()
			return ours
		}
		var silent []net.Conn
		for range 2 * guard.Handshakes {
			silent = append(silent, admit())
		}
		client := admit()
		_, err := client.Write([]byte("a"))
		require.NoError(t, err)
		synctest.Wait()
		assert.Len(t, server.Clients(), 1)
		assert.Equal(t, map[guard.Rule]int{guard.Handshaking: guard.Handshakes + 1}, told())
		go func() { _, _ = io.Copy(io.Discard, client) }()
		time.Sleep(guard.HandshakeTime)
		synctest.Wait()
		assert.Equal(t, map[guard.Rule]int{guard.Handshaking: guard.Handshakes + 1, guard.SlowHandshake: guard.Handshakes - 1}, told())
		for _, conn := range silent {
			_, err := io.ReadAll(conn)
			assert.NoError(t, err, "it has ended")
		}
		assert.Equal(t, 1, stream.Subscribers())
		require.NoError(t, server.Close(t.Context()))
	})
}

// TestWhyWritingFailed: a client that goes is told from one that stalls.
func TestWhyWritingFailed(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(peer net.Conn)
		want error
	}{
		"gone":    {func(peer net.Conn) { _ = peer.Close() }, io.ErrClosedPipe},
		"stalled": {func(net.Conn) { time.Sleep(11 * time.Second) }, os.ErrDeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			var stream *transport.Stream
			var client *transport.Conn
			server := transport.New(transport.Config{Stall: 10 * time.Second, Accept: func(c *transport.Conn) transport.Session {
				client = c
				return &reader{c, &stream}
			}})
			stream = server.NewStream(transport.StreamConfig{Name: "a"})
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			synctest.Wait()
			send(t, stream, 1000)
			synctest.Wait()
			assert.NoError(t, client.Failed(), name)
			c.end(ours)
			synctest.Wait()
			assert.ErrorIs(t, client.Failed(), c.want, name)
			require.NoError(t, server.Close(t.Context()))
		})
	}
}

// A client that asks for a message a second is sent those whose time has come, or the
// newest of those that came between.
func TestReceiversWithAnInterval(t *testing.T) {
	for _, c := range []struct {
		backlog int
		want    string
	}{{0, "05a"}, {1, "048c"}, {2, "037b"}} {
		synctest.Test(t, func(t *testing.T) {
			var clients []*transport.Conn
			var o outcomes
			server := transport.New(transport.Config{Accept: subscriber(&clients)})
			stream := server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			synctest.Wait()
			stream.SubscribeWith(clients[0], transport.Receiver{Interval: time.Second, Backlog: c.backlog})
			var got strings.Builder
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(&got, ours)
			}()
			const digits = "0123456789abcdef"
			for i := range 13 { // some four a second
				text(t, stream, digits[i:i+1])
				synctest.Wait()
				time.Sleep(240 * time.Millisecond)
			}
			synctest.Wait()
			require.NoError(t, server.Close(t.Context()))
			<-done
			assert.Equal(t, c.want, got.String(), "backlog %d", c.backlog)
			assert.Equal(t, 13, o.messages, "each message is settled once")
			assert.Zero(t, server.Outstanding())
		})
	}
}

// TestHold: what the session keeps and what the client leaves unread are bounded together, and
// what is kept leaves room to say so.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*transport.Conn
		server := transport.New(transport.Config{Accept: subscriber(&clients), MaxControl: 1600})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		synctest.Wait()
		c := clients[0]
		require.ErrorIs(t, c.Hold(1501), transport.ErrHeld, "a sixteenth is left for control frames")
		require.NoError(t, c.Hold(1500))
		require.ErrorIs(t, c.Hold(1), transport.ErrHeld)
		require.ErrorIs(t, c.Post(make([]byte, 101)), transport.ErrControl)
		require.NoError(t, c.Post(make([]byte, 60)))
		synctest.Wait() // it is being written: the client doesn't read
		require.ErrorIs(t, c.Post(make([]byte, 41)), transport.ErrControl)
		require.NoError(t, c.Post(make([]byte, 40)))
		c.Release(1000)
		require.NoError(t, c.Post(make([]byte, 1000)))
		require.ErrorIs(t, c.Hold(1), transport.ErrHeld, "unread")
		_, err := io.ReadFull(ours, make([]byte, 1100))
		require.NoError(t, err)
		require.NoError(t, c.Post(nil)) // the writer learns that all was read
		synctest.Wait()
		require.NoError(t, c.Hold(1000))
		require.NoError(t, ours.Close())
		require.NoError(t, server.Close(t.Context()))
	})
}

// TestBacklogsAreBounded: messages that wait for their time take no more than the client's queue
// may, over all subscriptions; the oldest of a subscription give way.
func TestBacklogsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*transport.Conn
		server := transport.New(transport.Config{Accept: subscriber(&clients), Queue: flow.QueueConfig{Bytes: 1000}})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		synctest.Wait()
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		var streams []*transport.Stream
		for _, name := range []string{"a", "b"} {
			s := server.NewStream(transport.StreamConfig{Name: name})
			s.SubscribeWith(clients[0], transport.Receiver{Interval: time.Hour, Backlog: 64})
			streams = append(streams, s)
		}
		for range 20 {
			for _, s := range streams {
				m := s.NewMessage()
				m.Frame(0, 300).Adopt(make([]byte, 300))
				require.NoError(t, s.Send(t.Context(), m))
			}
		}
		synctest.Wait()
		// Both have sent their first one; three wait, of whichever stream.
		assert.Equal(t, 3, server.Outstanding())
		deliveries := clients[0].Counts(nil)
		var dropped int64
		for _, d := range deliveries {
			dropped += d.Dropped
		}
		assert.EqualValues(t, 2*20-2-3, dropped)
		require.NoError(t, ours.Close())
		require.NoError(t, server.Close(t.Context()))
		assert.Zero(t, server.Outstanding())
	})
}
