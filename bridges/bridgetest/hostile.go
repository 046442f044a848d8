package bridgetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// HostileKept is what a server may keep for a hostile client, bytes. A test gives it to its
	// server in place of guard.KeptBytes, so that less need be sent to exceed it.
	HostileKept = guard.KeptBytes / 16
	// MuchSent is how much a hostile client sends of each thing, bytes.
	MuchSent = 10 * HostileKept
	// MostKept is the most that the process may keep for it. It is the limit, and a margin for
	// what the memory's bookkeeping and the test itself take.
	MostKept = 3 * HostileKept
	// HostilePart is the length of a long text of a hostile client, bytes. It is far above all
	// limits of single texts.
	HostilePart = HostileKept / 4
	// LargeMessage is about the size of a message that SendLarge is given, bytes. What is read
	// of smaller ones may take more than ten times their size (encode.TreeDecoder).
	LargeMessage = guard.MessageBytes / 4
	// mostAtOnce is the most that the process may grow by while such a message is read.
	mostAtOnce = 10 * LargeMessage
)

var padding = strings.Repeat("x", LargeMessage)

// Long returns a text of n bytes, at most LargeMessage, that takes no memory of its own.
func Long(n int) string { return padding[:n] }

// Hostile is a client of a WebSocket server that sends what no honest one would, as fast as it
// can. The server is in the same process: what it keeps is measured.
type Hostile struct {
	t      *testing.T
	conn   net.Conn
	out    *bufio.Writer
	frame  []byte
	pongs  chan struct{}
	ended  chan struct{}
	Answer atomic.Int64 // bytes that the server has sent
}

// DialHostile connects; deaf leaves unread what the server sends.
func DialHostile(t *testing.T, address, subprotocol string, deaf bool) *Hostile {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	h := &Hostile{t: t, conn: conn, out: bufio.NewWriterSize(conn, 64<<10), pongs: make(chan struct{}, 1), ended: make(chan struct{})}
	t.Cleanup(h.Close)
	_, err = io.WriteString(conn, Upgrade(subprotocol))
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	if !deaf {
		go h.read(in)
	}
	return h
}

// read throws away all frames but tells of pongs.
func (h *Hostile) read(in *bufio.Reader) {
	defer close(h.ended)
	for {
		opcode, size, err := readHeader(in)
		if err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, size); err != nil {
			return
		}
		h.Answer.Add(size)
		if opcode == opPong {
			h.pongs <- struct{}{}
		}
	}
}

const opPong = 10 // RFC 6455, section 5.2

// readHeader reads what stands before a server's frame, which isn't masked.
func readHeader(in *bufio.Reader) (opcode byte, size int64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:2]); err != nil {
		return 0, 0, err
	}
	opcode, size = head[0]&15, int64(head[1]&127)
	long := map[int64]int{126: 2, 127: 8}[size]
	if long > 0 {
		size = 0
		_, err = io.ReadFull(in, head[:long])
		for _, b := range head[:long] {
			size = size<<8 | int64(b)
		}
	}
	return opcode, size, err
}

// Send writes a message of an opcode, 1 for text and 2 for binary. An error says that the
// server has ended the connection.
func (h *Hostile) Send(opcode byte, message []byte) error {
	h.frame = transport.AppendMasked(h.frame[:0], opcode, len(message), transport.MaskKey{}) // of zeros, which changes nothing
	_, err := h.out.Write(h.frame)
	if err == nil {
		_, err = h.out.Write(message)
	}
	return err
}

// Flood sends MuchSent of messages, of an opcode each, and fails the test if the process keeps
// as much as MostKept for them. A message counts for the entry that may be kept of it, too. Now
// and then it waits for the answers: a server ends a connection that leaves too many unread.
func (h *Hostile) Flood(message func(n int) (opcode byte, text string)) {
	h.t.Helper()
	before := Heap()
	for n, sent := 0, 0; sent < MuchSent; n++ {
		opcode, text := message(n)
		sent += len(text) + guard.EntryBytes
		require.NoError(h.t, h.Send(opcode, []byte(text)))
		if n%64 == 63 {
			h.Settle()
		}
	}
	h.Settle()
	kept := Heap() - before
	h.t.Logf("kept %.2f MiB of %d", float64(kept)/(1<<20), MuchSent>>20)
	assert.Less(h.t, kept, int64(MostKept))
}

// SendLarge sends a message, and fails the test if the process grows by as much as mostAtOnce
// while the server reads it.
func (h *Hostile) SendLarge(opcode byte, text string) {
	h.t.Helper()
	data := []byte(text)
	peak := peakOf(func() {
		require.NoError(h.t, h.Send(opcode, data))
		h.Settle()
	})
	h.t.Logf("%.0f MB", float64(peak)/1e6)
	assert.Less(h.t, peak, int64(mostAtOnce))
}

// Settle waits until the server has done all that was sent.
func (h *Hostile) Settle() {
	h.t.Helper()
	h.frame = transport.AppendMasked(h.frame[:0], transport.OpPing, 0, transport.MaskKey{})
	_, err := h.out.Write(h.frame)
	require.NoError(h.t, err)
	require.NoError(h.t, h.out.Flush())
	select {
	case <-h.pongs:
	case <-h.ended:
		require.Fail(h.t, "the server has ended the connection")
	case <-time.After(patience):
		require.Fail(h.t, "no answer")
	}
}

// Close ends the connection.
func (h *Hostile) Close() { _ = h.conn.Close() }

// Heap returns how much memory is in use, once what isn't was freed.
func Heap() int64 {
	for range 3 { // pools give theirs back after two
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// peakOf returns by how much the memory in use has grown at the most while f ran, what
// could have been freed included.
func peakOf(f func()) int64 {
	before := Heap()
	done, stopped := make(chan struct{}), make(chan int64)
	go func() {
		var peak uint64
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}} // HeapAlloc, without stopping the world
		for {
			metrics.Read(heap)
			peak = max(peak, heap[0].Value.Uint64())
			select {
			case <-done:
				stopped <- int64(peak)
				return
			case <-time.After(100 * time.Microsecond): // a message takes far longer
			}
		}
	}()
	f()
	close(done)
	return <-stopped - before
}

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
// for a handshake, which a busy machine may not keep. A connection that was ended without any
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
	return append(transport.AppendMasked(dst, opcode, len(payload), transport.MaskKey{}), payload...)
}

// Upgrade is a WebSocket client's request, for a subprotocol unless it is "".
func Upgrade(subprotocol string) string {
	if subprotocol != "" {
		subprotocol = "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"
	}
	return "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + subprotocol +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
}
