package transport_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
)

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
