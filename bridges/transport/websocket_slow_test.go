package transport_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/flow"
)

// A client that takes nothing is disconnected, and another misses nothing meanwhile.
func TestStalledClientsAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	server, streams := serve(t, transport.Config{Stall: 500 * time.Millisecond, Queue: flow.QueueConfig{Messages: 4, Bytes: 8 << 20}}, "a")
	stalled, _ := raw(t, server)
	_, err := io.WriteString(stalled, "\x82\x81\x00\x00\x00\x00a")
	require.NoError(t, err)
	conn := connect(t, server, nil)
	say(t, conn, websocket.MessageBinary, "a")
	subscribed(t, streams["a"], 2)
	body := strings.Repeat("z", 1<<20)
	for n := 0; streams["a"].Subscribers() == 2; n++ {
		require.Less(t, n, 100_000)
		text(t, streams["a"], body)
		expect(t, conn, websocket.MessageBinary, "a"+body)
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrPeerSlow)
}

// A client that is sent nothing is pinged and stays while it answers.
func TestSilentClientsAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	server, _ := serve(t, transport.Config{WebSocket: &transport.WebSocketConfig{Idle: time.Millisecond, Patience: 2 * time.Second}})
	answers := connect(t, server, nil)
	gone := answers.CloseRead(t.Context())
	silent, in := raw(t, server)
	ping := make([]byte, 2)
	_, err := io.ReadFull(in, ping)
	require.NoError(t, err)
	assert.Equal(t, "\x89\x00", string(ping))
	_, err = io.ReadAll(in)
	assert.NoError(t, err, "the end")
	_ = silent.Close()
	require.Eventually(t, func() bool { return len(server.Clients()) == 1 }, 10*time.Second, time.Millisecond)
	assert.NoError(t, gone.Err())
	assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrPeerSlow)
}

// Whoever asks and never reads the answers is disconnected before they fill the memory.
func TestUnreadAnswersAreBounded(t *testing.T) {
	server, _ := serve(t, transport.Config{MaxControl: 1 << 20})
	conn, _ := raw(t, server)
	text := "echo " + strings.Repeat("x", 60_000)
	frame := append([]byte{0x82, 0xfe, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}, text...)
	for {
		if _, err := conn.Write(frame); err != nil {
			break
		}
	}
	require.Eventually(t, func() bool { return server.Diagnosis().Failures == 1 }, 10*time.Second, time.Millisecond)
	assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrControl)
}
