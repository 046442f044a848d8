package rosbridgev2

import (
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A message whose server goes in the middle of it isn't one.
func TestHalfAMessageIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
			"Sec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n\x01\x04half")
		_ = both.Flush()
	}))
	defer server.Close()
	c, err := dial(t.Context(), Config{Address: strings.TrimPrefix(server.URL, "http://")})
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = c.Read(t.Context())
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// A server that begins a frame and goes no further is given up; one that is silent between
// frames isn't.
func TestAFrameThatStops(t *testing.T) {
	const limit = 200 * time.Millisecond
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		time.Sleep(2 * limit)
		if err := ws.Write(r.Context(), websocket.MessageText, []byte("whole")); err != nil {
			return
		}
		part, err := ws.Writer(r.Context(), websocket.MessageText)
		if err != nil {
			return
		}
		_, _ = part.Write(make([]byte, 10_000)) // the first of several frames of a message
		<-end
	}))
	defer server.Close()
	defer close(end)
	c, err := dial(t.Context(), Config{Address: strings.TrimPrefix(server.URL, "http://")})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	c.limit = limit
	frame, err := c.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "whole", string(frame))
	_, err = c.Read(t.Context())
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
