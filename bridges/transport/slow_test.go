package transport_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

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
func (r *reader) Goodbye(dst []byte) []byte      { return dst }

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
