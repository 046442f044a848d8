package rosbridgev2_test

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
)

// Servers that answer what isn't TLS by an alert, or by closing.
func TestServersThatWantTLS(t *testing.T) {
	for answer, want := range map[string]string{
		"\x15\x03\x01\x00\x02\x02\x46": "speaks TLS: write wss:// before the host",
		"":                             "does it want wss://?",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var served sync.WaitGroup
		served.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(answer))
				_ = conn.Close()
			}
		})
		c := new(rosbridgev2.Client)
		dial(t, c, listener.Addr().String(), nil)
		assert.ErrorContains(t, failure(t, c), want)
		assert.Equal(t, answer != "", errors.Is(failure(t, c), bridges.ErrTLS))
		require.NoError(t, listener.Close())
		served.Wait()
	}
}
