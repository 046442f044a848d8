package ros1_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros1"
)

// What answers and is no master is told from what doesn't answer.
func TestMastersThatAreNone(t *testing.T) {
	for greeting, foreign := range map[string]bool{
		"SSH-2.0-OpenSSH_9.2p1\r\n":                                  true,
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":        true,
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>": true,
		"": false, // it closes
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
				_, _ = conn.Write([]byte(greeting))
				_ = conn.Close()
			}
		})
		err = ros1.Reach(t.Context(), listener.Addr().String())
		require.ErrorContains(t, err, "no ROS master at "+listener.Addr().String(), greeting)
		if foreign {
			assert.ErrorIs(t, err, bridges.ErrProtocol, greeting)
		} else {
			assert.NotErrorIs(t, err, bridges.ErrProtocol)
		}
		require.NoError(t, listener.Close())
		served.Wait()
	}
}
