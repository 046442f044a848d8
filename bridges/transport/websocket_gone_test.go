package transport_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/transport"
)

// upgrade is a request that is let in.
var upgrade = bridgetest.Upgrade("")

// TestClientsThatGoLeaveNothing: a thousand clients send 64 kB and go without a close frame,
// each in its way. Nothing of them stays.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, leave := range map[string]func(*testing.T, *net.TCPConn){
		"by FIN": nil,
		"by RST": bridgetest.Reset,
		"half way in a frame": func(t *testing.T, c *net.TCPConn) {
			_, err := c.Write([]byte{0x82, 0xff})
			assert.NoError(t, err)
		},
		"in silence": bridgetest.AwaitEnd,
		"in silence, half way in a ping": func(t *testing.T, c *net.TCPConn) {
			_, _ = c.Write([]byte{0x89, 0x85, 0, 0, 0, 0, 'x'}) // the server may have ended it
			bridgetest.AwaitEnd(t, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := transport.Config{MaxClients: 1000, Beat: 50 * time.Millisecond}
			if strings.Contains(name, "silence") {
				config.WebSocket = &transport.WebSocketConfig{Idle: 500 * time.Millisecond, Patience: time.Second}
			}
			server, _ := serve(t, config)
			said := bridgetest.AppendFrame([]byte(upgrade), 2, strings.Repeat("x", 64<<10))
			said = bridgetest.AppendFrame(said, 1, "echo done")
			bridgetest.Visits{Address: server.Addr().String(), Said: said, Until: "done", Leave: leave}.Run(t)
			assert.EqualValues(t, 1000, server.Diagnosis().Connections)
			assert.Empty(t, server.Clients())
		})
	}
}

// piped is a client over a pipe whose hands are shaken. What it is sent is read and counted.
type piped struct {
	net.Conn
	pings, messages atomic.Int64
	ended           atomic.Int64 // UNIX time, ns; 0 while it isn't
}

func admit(t *testing.T, server *transport.Server, answer bool) *piped {
	t.Helper()
	ours, theirs := net.Pipe()
	server.Admit(theirs)
	go func() { _, _ = io.WriteString(ours, upgrade) }()
	in := bufio.NewReader(ours)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	p := &piped{Conn: ours}
	go func() {
		defer func() { p.ended.Store(time.Now().UnixNano()) }()
		for {
			head, err := in.Peek(2)
			if err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, in, 2+int64(head[1])); err != nil {
				return
			}
			if head[0] != 0x89 {
				p.messages.Add(1)
				continue
			}
			p.pings.Add(1)
			if answer {
				if _, err := ours.Write(bridgetest.AppendFrame(nil, 0xa, "")); err != nil {
					return
				}
			}
		}
	}()
	return p
}

// TestSilentClientsAreCutWhileDataFlows: they are pinged every 10 s, and cut when nothing has
// come for 20 s. Any frame is a sign of life.
func TestSilentClientsAreCutWhileDataFlows(t *testing.T) {
	for name, c := range map[string]struct {
		pongs bool
		says  []byte // every 15 s
		stays bool
	}{
		"silent":         {},
		"answers pings":  {pongs: true, stays: true},
		"sends messages": {says: bridgetest.AppendFrame(nil, 1, "nothing of this name"), stays: true},
		"sends pings":    {says: bridgetest.AppendFrame(nil, 9, "x"), stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, streams := serveUnheard(t, transport.Config{}, "a")
				begun := time.Now()
				client := admit(t, server, c.pongs)
				_, err := client.Write(bridgetest.AppendFrame(nil, 2, "a"))
				require.NoError(t, err)
				synctest.Wait()
				for k := range 4 * 60 { // a message each 250 ms
					time.Sleep(250 * time.Millisecond)
					if streams["a"].Subscribers() > 0 {
						text(t, streams["a"], "data")
					}
					if c.says != nil && k%60 == 59 {
						_, err := client.Write(c.says)
						require.NoError(t, err)
					}
				}
				synctest.Wait()
				if c.stays {
					assert.Len(t, server.Clients(), 1)
					assert.InDelta(t, 6, client.pings.Load(), 1, "one each 10 s")
					assert.GreaterOrEqual(t, client.messages.Load(), int64(240))
				} else {
					assert.Empty(t, server.Clients())
					assert.InDelta(t, 20, time.Unix(0, client.ended.Load()).Sub(begun).Seconds(), 1.5)
					assert.EqualValues(t, 1, client.pings.Load())
					assert.ErrorIs(t, server.Diagnosis().LastError, transport.ErrPeerSlow)
					assert.ErrorContains(t, server.Diagnosis().LastError, "silent for 20s")
				}
				_ = client.Close()
				require.NoError(t, server.Close(context.Background()))
				assert.Zero(t, server.Outstanding())
			})
		})
	}
}

// TestAServerThatEndsDoesntWaitForAHandshake, nor for one that has just been made: what ends
// the connection isn't taken back.
func TestAServerThatEndsDoesntWaitForAHandshake(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a request": upgrade[:20], "a request": upgrade} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := serveUnheard(t, transport.Config{})
				ours, theirs := net.Pipe()
				defer ours.Close()
				server.Admit(theirs)
				go func() { _, _ = io.WriteString(ours, said) }()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.NoError(t, server.Close(ctx))
			})
		})
	}
}
