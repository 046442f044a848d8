package transport_test

import (
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
		deliveries := clients[0].Deliveries(nil)
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
