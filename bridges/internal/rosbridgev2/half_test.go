package rosbridgev2

import (
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
