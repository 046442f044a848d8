package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// subscriber is a session that waits to be subscribed by the test.
func subscriber(clients *[]*transport.Conn) func(*transport.Conn) transport.Session {
	return func(c *transport.Conn) transport.Session {
		*clients = append(*clients, c)
		stream := new(transport.Stream)
		return &reader{c, &stream}
	}
}

// text sends a message of few bytes.
func text(t testing.TB, stream *transport.Stream, body string) {
	t.Helper()
	m := stream.NewMessage()
	m.Frame(0, len(body)).Adopt([]byte(body))
	require.NoError(t, stream.Send(t.Context(), m))
}

// Each client has its own words before the message that all share, whether it is
// written at once or in pieces.
func TestPrefixesAreEachClientsOwn(t *testing.T) {
	for _, size := range []int{5, 3 << 20} {
		synctest.Test(t, func(t *testing.T) {
			var clients []*transport.Conn
			server := transport.New(transport.Config{Accept: subscriber(&clients)})
			written := 0
			stream := server.NewStream(transport.StreamConfig{Name: "a", Written: func(bytes int) { written += bytes }})
			var conns []net.Conn
			for i := range 2 {
				ours, theirs := net.Pipe()
				conns = append(conns, ours)
				server.Admit(theirs)
				synctest.Wait()
				require.True(t, stream.SubscribeWith(clients[i], transport.Receiver{Prefix: func(dst []byte, frame int) []byte {
					return fmt.Appendf(dst, "<%d:%d>", i, frame)
				}}))
			}
			body := make([]byte, size)
			for i := range body {
				body[i] = byte(i)
			}
			text(t, stream, string(body))
			for i, conn := range conns {
				want := append(fmt.Appendf(nil, "<%d:%d>", i, size), body...)
				got := make([]byte, len(want))
				_, err := io.ReadFull(conn, got)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(got))
			}
			synctest.Wait()
			assert.Equal(t, size, written, "told once, of what all share")
			for _, conn := range conns {
				require.NoError(t, conn.Close())
			}
			require.NoError(t, server.Close(t.Context()))
			assert.Zero(t, server.Outstanding())
		})
	}
}

// A message without form 0 counts with the length of the form that it has.
func TestWrittenIsToldOfTheFirstForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*transport.Conn
		written := 0
		server := transport.New(transport.Config{Accept: subscriber(&clients)})
		stream := server.NewStream(transport.StreamConfig{Name: "a", Written: func(bytes int) { written += bytes }})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		synctest.Wait()
		require.True(t, stream.SubscribeWith(clients[0], transport.Receiver{Form: 1, Exact: true}))
		m := stream.NewMessage()
		m.Frame(1, 5).Adopt([]byte("12345"))
		require.NoError(t, stream.Send(t.Context(), m))
		got := make([]byte, 5)
		_, err := io.ReadFull(ours, got)
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 5, written)
		require.NoError(t, ours.Close())
		require.NoError(t, server.Close(t.Context()))
	})
}

// late is a session that is sent a message, and whose server is closed, just after its
// writer has found nothing to write.
type late struct {
	*reader
	beat func()
}

func (l *late) Beat(dst []byte, _ bool) []byte {
	if l.beat != nil {
		l.beat()
		l.beat = nil
	}
	return dst
}

func TestWhatIsQueuedJustBeforeTheEndIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server *transport.Server
		var stream *transport.Stream
		var o outcomes
		closed := make(chan error, 1)
		server = transport.New(transport.Config{Beat: time.Minute, Accept: func(c *transport.Conn) transport.Session {
			return &late{reader: &reader{c, &stream}, beat: func() {
				text(t, stream, "message")
				assert.NoError(t, c.Post([]byte("answer")))
				go func() { closed <- server.Close(context.Background()) }()
				time.Sleep(time.Millisecond) // of the bubble's clock: Close waits for the client by now
			}}
		}})
		stream = server.NewStream(transport.StreamConfig{Name: "a", Settled: o.settle})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		got, err := io.ReadAll(ours)
		require.NoError(t, err)
		assert.Equal(t, "answermessage", string(got))
		require.NoError(t, ours.Close())
		require.NoError(t, <-closed)
		assert.Equal(t, 0, o.dropped)
	})
}

// What a strict receiver had queued when it left never arrives.
func TestStrictReceiversGetNothingAfterTheEnd(t *testing.T) {
	for _, strict := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var clients []*transport.Conn
			var o outcomes
			server := transport.New(transport.Config{Accept: subscriber(&clients)})
			first := server.NewStream(transport.StreamConfig{Name: "first", Settled: o.settle})
			second := server.NewStream(transport.StreamConfig{Name: "second", Settled: o.settle})
			ours, theirs := net.Pipe()
			server.Admit(theirs)
			synctest.Wait()
			first.SubscribeWith(clients[0], transport.Receiver{Strict: strict})
			second.SubscribeWith(clients[0], transport.Receiver{Strict: strict})
			text(t, first, "1") // being written
			synctest.Wait()
			text(t, first, "2")
			text(t, second, "3")
			require.True(t, first.Unsubscribe(clients[0]))
			want := "123"
			if strict {
				want = "13"
			}
			got := make([]byte, len(want))
			_, err := io.ReadFull(ours, got)
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
			require.NoError(t, ours.Close())
			require.NoError(t, server.Close(t.Context()))
			assert.Equal(t, 3, o.messages)
			assert.Equal(t, 3-len(want), o.dropped)
			assert.Zero(t, server.Outstanding())
		})
	}
}

// Streams with policies of their own share a client's queue.
func TestPolicyOfTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*transport.Conn
		var newest, blocked outcomes
		server := transport.New(transport.Config{
			Accept: subscriber(&clients), Queue: flow.QueueConfig{Messages: 1, BlockLimit: time.Second},
		})
		policies := []flow.Policy{flow.DropNewest, flow.Block}
		refuses := server.NewStream(transport.StreamConfig{Name: "a", Policy: &policies[0], Settled: newest.settle})
		waits := server.NewStream(transport.StreamConfig{Name: "b", Policy: &policies[1], Settled: blocked.settle})
		ours, theirs := net.Pipe()
		server.Admit(theirs)
		synctest.Wait()
		refuses.Subscribe(clients[0], 0)
		waits.Subscribe(clients[0], 0)
		text(t, refuses, "1") // being written
		synctest.Wait()
		text(t, refuses, "2") // waits
		text(t, refuses, "x")
		assert.Equal(t, 1, newest.dropped)
		begun := time.Now()
		text(t, waits, "y")
		assert.Equal(t, time.Second, time.Since(begun))
		assert.Equal(t, 1, blocked.dropped)
		got := make([]byte, 2)
		_, err := io.ReadFull(ours, got)
		require.NoError(t, err)
		assert.Equal(t, "12", string(got))
		require.NoError(t, ours.Close())
		require.NoError(t, server.Close(t.Context()))
		assert.Zero(t, server.Outstanding())
	})
}
