package fanout_test

import (
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

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
			var stream *fanout.Stream
			var client *fanout.Client
			server := fanout.New(fanout.Config{Stall: 10 * time.Second, Accept: func(c *fanout.Client) fanout.Session {
				client = c
				return &reader{c, &stream}
			}})
			stream = server.NewStream(fanout.StreamConfig{Name: "a"})
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
