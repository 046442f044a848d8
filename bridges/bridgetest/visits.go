package bridgetest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/wsframe"
)

// Visits are a thousand clients that come to a server over TCP and go.
type Visits struct {
	// Address is the server's, HOST:PORT.
	Address string
	// Said is what each client sends at once, and Until what is in the answer to the end of it.
	Said  []byte
	Until string
	// Leave is called before the client closes the connection; nil does nothing.
	Leave func(*testing.T, *net.TCPConn)
}

const (
	// visits is how many come, and visitsAtATime how many connect at a time: servers limit
	// handshakes.
	visits        = 1000
	visitsAtATime = 32
	// visitsRoom is the memory that maps and pools may keep, which had to do with all clients
	// at a time: 4 kB each.
	visitsRoom = visits << 12
)

// holdings are what the process has.
type holdings struct {
	heap                    uint64
	goroutines, descriptors int
}

// Run fails the test unless the process's memory, goroutines and file descriptors are what they
// were before, soon after all have gone. What a client makes a server keep is to be far more than 4 kB.
func (v Visits) Run(t *testing.T) {
	t.Helper()
	before := held(t)
	var wg sync.WaitGroup
	turn := make(chan struct{}, visitsAtATime)
	for range visits {
		turn <- struct{}{}
		wg.Go(func() {
			conn := v.come(t)
			<-turn
			if conn == nil {
				return
			}
			if v.Leave != nil {
				v.Leave(t, conn)
			}
			_ = conn.Close()
		})
	}
	wg.Wait()
	after := held(t)
	for range 1000 { // the last ones are being noticed
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.heap <= before.heap+visitsRoom {
			break
		}
		time.Sleep(10 * time.Millisecond)
		after = held(t)
	}
	assert.LessOrEqual(t, after.goroutines, before.goroutines, "goroutines")
	assert.LessOrEqual(t, after.descriptors, before.descriptors, "descriptors")
	assert.LessOrEqual(t, after.heap, before.heap+visitsRoom, "bytes of memory")
	t.Logf("before %+v, after %+v", before, after)
}

// come connects, and returns when the answer has come; nil if it doesn't. A server has little time
// for a handshake, which a busy machine may not keep: a connection that was ended without any
// answer is made again.
func (v Visits) come(t *testing.T) *net.TCPConn {
	var err error
	for range 100 {
		var conn *net.TCPConn
		var got []byte
		if conn, got, err = v.try(); err == nil {
			return conn
		}
		if len(got) > 0 {
			break
		}
	}
	assert.NoError(t, err)
	return nil
}

// try connects once. What the server has answered is returned with an error too.
func (v Visits) try() (*net.TCPConn, []byte, error) {
	conn, err := net.Dial("tcp", v.Address)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // of a new connection it can be set
	_, err = conn.Write(v.Said)
	var got []byte
	for piece := make([]byte, 4096); err == nil && !bytes.Contains(got, []byte(v.Until)); {
		var n int
		n, err = conn.Read(piece)
		got = append(got, piece[:n]...)
	}
	if err != nil {
		_ = conn.Close()
		return nil, got, fmt.Errorf("after %.500q: %w", got, err)
	}
	return conn.(*net.TCPConn), got, nil
}

func held(t *testing.T) holdings {
	t.Helper()
	runtime.GC()
	runtime.GC() // the second frees what finalizers of the first let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return holdings{m.HeapAlloc, runtime.NumGoroutine(), len(list)}
}

// Reset is a Leave that has the connection end by RST.
func Reset(t *testing.T, conn *net.TCPConn) { assert.NoError(t, conn.SetLinger(0)) }

// AwaitEnd is a Leave that says nothing until the server has ended the connection.
func AwaitEnd(t *testing.T, conn *net.TCPConn) {
	_, err := io.Copy(io.Discard, conn)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// AppendFrame appends a WebSocket client's frame (RFC 6455, section 5.2) with a mask of zeros,
// which changes nothing.
func AppendFrame(dst []byte, opcode byte, payload string) []byte {
	return append(wsframe.AppendMasked(dst, opcode, len(payload), wsframe.Key{}), payload...)
}

// Upgrade is a WebSocket client's request, for a subprotocol unless it is "".
func Upgrade(subprotocol string) string {
	if subprotocol != "" {
		subprotocol = "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"
	}
	return "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + subprotocol +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
}
