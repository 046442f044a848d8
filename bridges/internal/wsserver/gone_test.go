package wsserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/wsserver"
)

// upgrade is a request that is let in.
const upgrade = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// appendFrame appends a client's frame with a mask of zeros.
func appendFrame(dst []byte, opcode byte, payload string) []byte {
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|opcode, 0x80|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|opcode, 0x80|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|opcode, 0x80|127), uint64(n))
	}
	return append(append(dst, 0, 0, 0, 0), payload...)
}

// held is what the process holds.
type held struct {
	heap                    uint64
	goroutines, descriptors int
}

func measure(t *testing.T) held {
	t.Helper()
	runtime.GC()
	runtime.GC() // the second frees what finalizers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return held{m.HeapAlloc, runtime.NumGoroutine(), len(list)}
}

// TestClientsThatGoLeaveNothing: a thousand clients send 64 kB and go without a close frame,
// each in its way. Nothing of them stays.
func TestClientsThatGoLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n = 1000
	// room is what maps and pools keep that had to do with all of them at a time. A client that
	// stayed would have more than 64 kB.
	const room = 4 << 20
	for name, leave := range map[string]func(*testing.T, *net.TCPConn){
		"by FIN": func(*testing.T, *net.TCPConn) {},
		"by RST": func(t *testing.T, c *net.TCPConn) { require.NoError(t, c.SetLinger(0)) },
		"half way in a frame": func(t *testing.T, c *net.TCPConn) {
			_, err := c.Write([]byte{0x82, 0xff})
			require.NoError(t, err)
		},
		"in silence": func(t *testing.T, c *net.TCPConn) { waitForEnd(t, c) },
		"in silence, half way in a ping": func(t *testing.T, c *net.TCPConn) {
			_, _ = c.Write([]byte{0x89, 0x85, 0, 0, 0, 0, 'x'}) // the server may have ended it
			waitForEnd(t, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := wsserver.Config{MaxClients: n}
			if strings.Contains(name, "silence") {
				config.Idle, config.Patience = 500*time.Millisecond, time.Second
			}
			server, _ := start(t, config.WithBeat(50*time.Millisecond))
			before := measure(t)
			come := make(chan struct{}, 32) // at a time, since handshakes are limited
			done := make(chan struct{}, n)
			for range n {
				come <- struct{}{}
				go func() {
					defer func() { done <- struct{}{} }()
					conn := comeAndSend(t, server)
					<-come
					leave(t, conn)
					_ = conn.Close()
				}()
			}
			for range n {
				<-done
			}
			after := measure(t)
			for range 1000 { // the last ones are being noticed
				if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.heap <= before.heap+room {
					break
				}
				time.Sleep(10 * time.Millisecond)
				after = measure(t)
			}
			assert.LessOrEqual(t, after.goroutines, before.goroutines)
			assert.LessOrEqual(t, after.descriptors, before.descriptors)
			assert.LessOrEqual(t, after.heap, before.heap+room)
			t.Logf("before %+v, after %+v", before, after)
			assert.EqualValues(t, n, server.Diagnosis().Connections)
			assert.Empty(t, server.Clients())
		})
	}
}

// comeAndSend shakes hands and sends a message, all at once, and waits for the answer to
// what follows it.
func comeAndSend(t *testing.T, server *wsserver.Server) *net.TCPConn {
	conn, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	said := appendFrame([]byte(upgrade), 2, strings.Repeat("x", 64<<10))
	_, err = conn.Write(appendFrame(said, 1, "echo done"))
	require.NoError(t, err)
	var got []byte
	for piece := make([]byte, 512); !bytes.Contains(got, []byte("done")); {
		n, err := conn.Read(piece)
		require.NoError(t, err)
		got = append(got, piece[:n]...)
	}
	return conn.(*net.TCPConn)
}

// waitForEnd reads until the server has ended the connection.
func waitForEnd(t *testing.T, conn net.Conn) {
	assert.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err := io.Copy(io.Discard, conn)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// piped is a client over a pipe whose hands are shaken. What it is sent is read and counted.
type piped struct {
	net.Conn
	pings, messages atomic.Int64
	ended           atomic.Int64 // UNIX time, ns; 0 while it isn't
}

func admit(t *testing.T, server *wsserver.Server, answer bool) *piped {
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
				if _, err := ours.Write(appendFrame(nil, 0xa, "")); err != nil {
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
		"sends messages": {says: appendFrame(nil, 1, "nothing of this name"), stays: true},
		"sends pings":    {says: appendFrame(nil, 9, "x"), stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, streams := startUnheard(t, wsserver.Config{}, "a")
				begun := time.Now()
				client := admit(t, server, c.pongs)
				_, err := client.Write(appendFrame(nil, 2, "a"))
				require.NoError(t, err)
				synctest.Wait()
				for k := range 4 * 60 { // a message each 250 ms
					time.Sleep(250 * time.Millisecond)
					if streams["a"].Subscribers() > 0 {
						send(t, streams["a"], "data")
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
					assert.ErrorIs(t, server.Diagnosis().LastError, bridges.ErrPeerSlow)
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
				server, _ := startUnheard(t, wsserver.Config{})
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
