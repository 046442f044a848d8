package transport_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
)

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
