package transport_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
)

// FuzzHandshake gives a server bytes in the place of a request and of what follows it: it
// answers by HTTP or not at all, and serves the next client.
func FuzzHandshake(f *testing.F) {
	const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, test.v1\r\nOrigin: https://x\r\n\r\n"
	for _, seed := range []string{
		"", "\x16\x03\x01\x02\x00", "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.0\r\nContent-Length: 99\r\n\r\nx",
		upgrade, upgrade + "\x81\x86\x00\x00\x00\x00echo a", upgrade + "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", upgrade + "\x88\x80\x00\x00\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	server, _ := serve(f, transport.Config{WebSocket: &transport.WebSocketConfig{Subprotocols: []string{"test.v1"}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, _ = conn.Write(data)                              // the server may have ended it
		_ = conn.(*net.TCPConn).CloseWrite()                 // likewise
		answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20)) // likewise
		assert.True(t, len(answer) == 0 || bytes.HasPrefix(answer, []byte("HTTP/1.1 ")), "%q", answer)
		client := connect(t, server, &websocket.DialOptions{Subprotocols: []string{"test.v1"}})
		say(t, client, websocket.MessageText, "echo here")
		expect(t, client, websocket.MessageText, "here")
		require.NoError(t, client.CloseNow())
	})
}
