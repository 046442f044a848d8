//go:build linux

package stream_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
)

// placeOf returns where a message is, as the frame says it.
func placeOf(t *testing.T, short []byte) (at, size uint64) {
	t.Helper()
	require.Len(t, short, 32)
	assert.Equal(t, byte(2), short[6], "the flag")
	return binary.LittleEndian.Uint64(short[16:]), binary.LittleEndian.Uint64(short[24:])
}

// What is in the memory stays as it was until it is given back, whatever comes and goes beside it.
func TestRingKeepsMessages(t *testing.T) {
	const size = 1 << 20
	r := stream.NewRing(size)
	random := rand.New(rand.NewPCG(1, 2))
	kept := map[uint64][]byte{}
	full := 0
	for range 5000 {
		if random.IntN(2) == 0 {
			for at, want := range kept { // any of them
				require.True(t, bytes.Equal(want, r.Memory()[at:][:len(want)]))
				require.NoError(t, r.Release(at))
				delete(kept, at)
				break
			}
			continue
		}
		message := bytes.Repeat([]byte{byte(random.Uint32())}, stream.RingLeast+random.IntN(150_000))
		short := r.Place(message)
		if short == nil {
			full++
			continue
		}
		at, n := placeOf(t, short)
		require.EqualValues(t, len(message), n)
		require.Zero(t, at%64)
		kept[at] = message
	}
	assert.Positive(t, full, "it was full now and then")
	for at, want := range kept {
		require.True(t, bytes.Equal(want, r.Memory()[at:][:len(want)]))
		require.NoError(t, r.Release(at))
		require.ErrorIs(t, r.Release(at), stream.ErrMalformed, "twice")
	}
	assert.Equal(t, 1, r.Free())
	assert.NotNil(t, r.Place(make([]byte, size)), "all of it is free again")
	assert.Nil(t, r.Place(make([]byte, stream.RingLeast)))
}

func TestRingLeavesShortMessages(t *testing.T) {
	assert.Nil(t, stream.NewRing(1<<20).Place(make([]byte, stream.RingLeast-1)))
}

// ringFrame asks for shared memory.
func ringFrame(size uint64) []byte {
	return framed(0, 0, 10, 8, binary.LittleEndian.AppendUint64(nil, size))
}

// dialLocal is a connection to a site's UNIX socket that was upgraded.
func dialLocal(t *testing.T, s *site) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: strings.TrimPrefix(s.address, "unix:")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, "GET /v1/stream HTTP/1.1\r\nHost: a\r\nUpgrade: raybridge-stream\r\n\r\n")
	require.NoError(t, err)
	answer := []byte{}
	for b := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, b[0]) {
		_, err := io.ReadFull(conn, b)
		require.NoError(t, err)
	}
	require.Contains(t, string(answer), http.StatusText(http.StatusSwitchingProtocols))
	return conn
}

// greeted reads the server's greeting.
func greeted(t *testing.T, conn net.Conn) {
	t.Helper()
	greeting := make([]byte, 16)
	_, err := io.ReadFull(conn, greeting)
	require.NoError(t, err)
	require.Equal(t, "RBSTREAM", string(greeting[:8]))
	_, err = io.CopyN(io.Discard, conn, int64(binary.LittleEndian.Uint32(greeting[12:])))
	require.NoError(t, err)
}

// local is a connection to a site's UNIX socket that was greeted.
func local(t *testing.T, s *site, hello string) *net.UnixConn {
	t.Helper()
	conn := dialLocal(t, s)
	_, err := io.WriteString(conn, hello)
	require.NoError(t, err)
	greeted(t, conn)
	return conn
}

// control reads frames up to one of that control, with a file that comes with it, or -1.
func control(t *testing.T, conn *net.UnixConn, want byte) (payload []byte, file int) {
	t.Helper()
	for {
		head, rights := make([]byte, 16), make([]byte, 64)
		n, n2, _, _, err := conn.ReadMsgUnix(head, rights)
		require.NoError(t, err)
		require.Equal(t, 16, n)
		payload = make([]byte, binary.LittleEndian.Uint32(head))
		_, err = io.ReadFull(conn, payload)
		require.NoError(t, err)
		if head[7] != want {
			continue
		}
		if n2 == 0 {
			return payload, -1
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:n2])
		require.NoError(t, err)
		files, err := syscall.ParseUnixRights(&messages[0])
		require.NoError(t, err)
		return payload, files[0]
	}
}

// The answer to a request for memory stands behind the greeting, whatever a client waits for and
// however slowly it reads.
func TestSharedMemoryComesInItsTurn(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for longer than a second")
	}
	s := newSite(t, "unix", filepath.Join(t.TempDir(), "api"))
	for i := range 3000 { // a greeting of more than the socket holds
		_, err := bridges.AddPublisher[*sample.Image](s.bridge, bridges.Topic{Name: fmt.Sprintf("/camera_%d/image", i)})
		require.NoError(t, err)
	}
	conn := dialLocal(t, s)
	_, err := conn.Write(append([]byte(helloNone), ringFrame(1<<20)...))
	require.NoError(t, err)
	time.Sleep(1200 * time.Millisecond) // more than a look at what is being written
	greeted(t, conn)
	_, file := control(t, conn, 10)
	require.NotEqual(t, -1, file)
	require.NoError(t, syscall.Close(file))
}

// A client on a UNIX socket is given memory that it can read, and neither write nor shrink.
func TestSharedMemory(t *testing.T) {
	s := newSite(t, "unix", filepath.Join(t.TempDir(), "api"))
	conn := local(t, s, helloNone)
	_, err := conn.Write(ringFrame(1 << 20))
	require.NoError(t, err)
	payload, file := control(t, conn, 10)
	require.NotEqual(t, -1, file)
	t.Cleanup(func() { _ = syscall.Close(file) })
	assert.Equal(t, "\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x40\x00\x00", string(payload))
	_, err = syscall.Mmap(file, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	assert.ErrorIs(t, err, syscall.EPERM)
	assert.ErrorIs(t, syscall.Ftruncate(file, 0), syscall.EPERM)
	memory, err := syscall.Mmap(file, 0, 1<<20, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	assert.NoError(t, syscall.Munmap(memory))

	for name, frame := range map[string][]byte{
		"twice": ringFrame(1 << 20), "unknown place": framed(0, 0, 11, 8, make([]byte, 8)), "half a place": framed(0, 0, 11, 7, make([]byte, 7)),
	} {
		conn := local(t, s, helloNone)
		_, err := conn.Write(append(ringFrame(1<<20), frame...))
		require.NoError(t, err, name)
		_, file := control(t, conn, 10)
		_ = syscall.Close(file)
		payload, _ := control(t, conn, 5)
		assert.Equal(t, byte(stream.StatusMalformed), payload[0], name)
	}
	conn = local(t, s, helloAll)
	_, err = conn.Write(ringFrame(1 << 20))
	require.NoError(t, err)
	payload, _ = control(t, conn, 5)
	assert.Contains(t, string(payload), "before any stream")
}

// A client that can't have shared memory is told so, and stays connected.
func TestNoSharedMemory(t *testing.T) {
	s := newSite(t, "unix", filepath.Join(t.TempDir(), "api"))
	conn := local(t, s, helloNone)
	for _, size := range []uint64{0, 512<<20 + 1, 1 << 63} {
		_, err := conn.Write(ringFrame(size))
		require.NoError(t, err)
		payload, file := control(t, conn, 10)
		assert.Equal(t, -1, file)
		assert.Contains(t, string(payload), "the range is 1 MiB to 512 MiB")
	}
}

// TestSharedMemoryHasABudget: all clients share one, and who leaves gives back what he had.
func TestSharedMemoryHasABudget(t *testing.T) {
	s := newSite(t, "unix", filepath.Join(t.TempDir(), "api"))
	ask := func(conn *net.UnixConn, size uint64) (payload []byte, given bool) {
		t.Helper()
		_, err := conn.Write(ringFrame(size))
		require.NoError(t, err)
		payload, file := control(t, conn, 10)
		if file != -1 {
			_ = syscall.Close(file)
		}
		return payload, file != -1
	}
	first, second := local(t, s, helloNone), local(t, s, helloNone)
	_, given := ask(first, siteMemory-1<<20)
	require.True(t, given)
	payload, given := ask(second, 2<<20)
	require.False(t, given)
	assert.Contains(t, string(payload), "not enough memory: the memory that a client shares needs 2.0 MiB beside 63.0 MiB that are held, the limit is 64.0 MiB")
	_, given = ask(second, 1<<20)
	require.True(t, given, "less is there, and the connection lives")
	assert.EqualValues(t, siteMemory, s.memory.Held())
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return s.memory.Held() == 1<<20 }, limit, time.Millisecond)
	require.NoError(t, second.Close())
	require.Eventually(t, func() bool { return s.memory.Held() == 0 }, limit, time.Millisecond)
}

// Over TCP there is none.
func TestNoSharedMemoryOverTCP(t *testing.T) {
	remote := newSite(t, "tcp", "127.0.0.1:0")
	over, next := remote.raw(t)
	_, err := over.Write(ringFrame(1 << 20))
	require.NoError(t, err)
	for {
		if kind, payload := next(); kind == 10 {
			assert.Contains(t, string(payload), "it needs a UNIX socket")
			return
		}
	}
}
