package stream_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Bytes of the protocol, from its document and not from the package.
const (
	helloAll   = "RBSTREAM\x02\x00\x00\x00\x05\x00\x00\x00" + "\x01\x00" + "\x01\x00*"
	helloNone  = "RBSTREAM\x02\x00\x00\x00\x02\x00\x00\x00" + "\x00\x00"
	emptyFrame = "\x00\x00\x00\x00" + "\x00\x00\x00" // and the control's number
)

// answer is what a server said to a client that misbehaves: the status of its
// acknowledgement or, if that was 0, of its goodbye.
func answer(t *testing.T, s *stream.Server, sent string) (status uint16, reason string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, sent)
	require.NoError(t, err)
	greeting := make([]byte, 16)
	_, err = io.ReadFull(conn, greeting)
	require.NoError(t, err)
	require.Equal(t, "RBSTREAM\x02\x00", string(greeting[:10]), "its own version, whatever the client's")
	rest := make([]byte, binary.LittleEndian.Uint32(greeting[12:]))
	_, err = io.ReadFull(conn, rest)
	require.NoError(t, err)
	if status = binary.LittleEndian.Uint16(greeting[10:]); status != 0 {
		_, err := conn.Read(greeting)
		assert.ErrorIs(t, err, io.EOF, "and disconnects")
		return status, string(rest[2:][:binary.LittleEndian.Uint16(rest)])
	}
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(conn, head); err != nil {
			return 0, ""
		}
		payload := make([]byte, binary.LittleEndian.Uint32(head))
		_, err = io.ReadFull(conn, payload)
		require.NoError(t, err)
		if head[7] == 5 {
			_, err := conn.Read(head)
			assert.ErrorIs(t, err, io.EOF, "it is the last frame")
			return binary.LittleEndian.Uint16(payload), string(payload[4:])
		}
	}
}

// A client that misbehaves is told why and disconnected; another goes on undisturbed.
func TestMalformedClients(t *testing.T) {
	s := serve(t, stream.ServerConfig{Beat: 100 * time.Millisecond})
	out := add(t, s, "/speed")
	c := dial(t, s, stream.Options{})
	got := make(chan uint64, 1)
	require.NoError(t, c.Listen(t.Context(), "/speed", func(d *stream.Data) { got <- d.Sequence() }))
	for i, test := range []struct {
		name, sent string
		status     stream.ReplyStatus
		reason     string
	}{
		{"rubbish", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", stream.StatusMagic, `begins with "GET / HT"`},
		{"another version", "RBSTREAM\x07\x00\x00\x00\x02\x00\x00\x00\x00\x00", stream.StatusVersion, "it is 7, this side's is 2"},
		{"version 1", "RBSTREAM\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00", stream.StatusVersion, "it is 1, this side's is 2: since version 2 messages are ROS messages; use"},
		{"a hello of 4 GiB", "RBSTREAM\x02\x00\x00\x00\xff\xff\xff\xff", stream.StatusTooLarge, "4294967295 bytes"},
		{"a hello that contradicts itself", "RBSTREAM\x02\x00\x00\x00\x02\x00\x00\x00\xff\xff", stream.StatusMalformed, "wrong length"},
		{"a hello with a rest", "RBSTREAM\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00x", stream.StatusMalformed, "wrong length"},
		{"an unknown stream", "RBSTREAM\x02\x00\x00\x00\x09\x00\x00\x00" + "\x01\x00" + "\x05\x00/spee", stream.StatusUnknownStream, `"/spee"; there are: /speed`},
		{"a frame of 4 GiB", helloAll + "\xff\xff\xff\xff" + emptyFrame[4:] + "\x06" + "\x00\x00\x00\x00\xff\xff\xff\xff", stream.StatusTooLarge, "4294967295 bytes"},
		{"data from a client", helloNone + "\x00\x00\x00\x00\x01\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00", stream.StatusMalformed, "no data"},
		{"an unknown control", helloNone + emptyFrame + "\x63" + "\x00\x00\x00\x00\x00\x00\x00\x00", stream.StatusMalformed, "control 99"},
		{"a request without a name", helloNone + emptyFrame + "\x06" + "\x00\x00\x00\x00\x00\x00\x00\x00", stream.StatusMalformed, "wrong length"},
		{"unknown flags", helloNone + "\x00\x00\x00\x00\x00\x00\x80\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00", stream.StatusMalformed, "0x80"},
		{"rubbish of a megabyte", strings.Repeat("rubbish ", 1<<17), stream.StatusMagic, "rubbish"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, reason := answer(t, s, test.sent)
			assert.Equal(t, test.status, stream.ReplyStatus(status))
			assert.Contains(t, reason, test.reason)
			publish(t, out, i)
			assert.EqualValues(t, i, take(t, got))
		})
	}
}

// Clients that stop in the middle of a hello or a frame, or go silent altogether, are
// disconnected after five beats.
func TestHalfMessagesAndHalfOpenConnections(t *testing.T) {
	s := serve(t, stream.ServerConfig{Beat: 10 * time.Millisecond})
	add(t, s, "a")
	for _, sent := range []string{"", "RBST", helloAll[:len(helloAll)-1], helloAll, helloAll + "\x05\x00\x00\x00", helloAll + "\x05\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x05\x00\x00\x00ab"} {
		conn, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, sent)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(limit)))
		_, err = io.Copy(io.Discard, conn)
		var timeout net.Error
		assert.False(t, errors.As(err, &timeout) && timeout.Timeout(), "%q: it is not disconnected", sent)
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return len(s.Clients()) == 0 }, limit, time.Millisecond)
}

// A client that goes silent is told so, not that the server ends.
func TestASilentClientIsToldWhy(t *testing.T) {
	s := serve(t, stream.ServerConfig{Beat: 10 * time.Millisecond})
	for _, sent := range []string{helloNone, helloAll + "\x05\x00\x00\x00"} {
		status, reason := answer(t, s, sent)
		assert.Equal(t, stream.StatusUnresponsive, stream.ReplyStatus(status))
		assert.Equal(t, "the client doesn't respond: it sent nothing for 50ms", reason)
	}
	assert.ErrorContains(t, s.Diagnosis().LastError, "it sent nothing for 50ms")
}

// A half message whose client then closes the connection ends at once.
func TestHalfAHelloAndTheEnd(t *testing.T) {
	s := serve(t, stream.ServerConfig{Beat: time.Minute})
	for _, sent := range []string{"", "RBST", helloAll[:20], helloAll + "\x05\x00"} {
		conn, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, sent)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return len(s.Clients()) == 0 }, limit, time.Millisecond)
}

// fakeServer sends a client that dials it some bytes, more when the client asks for a
// stream, and is silent then.
func fakeServer(t *testing.T, greeting, sent string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting)
			if untilAsked(conn) {
				_, _ = io.WriteString(conn, sent)
				_, _ = io.Copy(io.Discard, conn) // until the client goes
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		<-done
	})
	return listener.Addr().String()
}

// untilAsked reads the hello and frames up to a request for a stream.
func untilAsked(conn net.Conn) bool {
	_, err := io.CopyN(io.Discard, conn, int64(len(helloNone)))
	for head := make([]byte, 16); err == nil; {
		if _, err = io.ReadFull(conn, head); err == nil && head[7] == 6 {
			return true
		}
	}
	return false
}

// welcome is an acknowledgement with a beat of 10 ms and the stream 1, "a".
const welcome = "RBSTREAM\x02\x00\x00\x00\x36\x00\x00\x00" + "\x00\x00" + "\x00\x00" + "\x00\x00\x00\x10" + "\x0a\x00\x00\x00" +
	"\x01\x02\x03\x04\x05\x06\x07\x08" + "\x01\x00" +
	"\x01\x00\x00\x00\x00\x01\x00\x00" + "\x01\x00a" + "\x00\x00\x00\x00" + "\x04\x00Blob" + "\x03\x00cdr" + "\x00\x00" + "\x00\x00\x00\x00"

func TestMalformedServers(t *testing.T) {
	noGoroutines(t)
	for _, test := range []struct {
		name, sent string
		want       error
	}{
		{"rubbish", "HTTP/1.1 400 Bad Request\r\n", stream.ErrMagic},
		{"another version", "RBSTREAM\x01\x00\x02\x00\x06\x00\x00\x00\x04\x00nope", stream.ErrVersion},
		{"a table of 4 GiB", "RBSTREAM\x02\x00\x00\x00\xff\xff\xff\xff", stream.ErrTooLarge},
		{"a table that contradicts itself", "RBSTREAM\x02\x00\x00\x00\x02\x00\x00\x00\xff\xff", stream.ErrMalformed},
		{"no beat", "RBSTREAM\x02\x00\x00\x00\x16\x00\x00\x00" + strings.Repeat("\x00", 22), stream.ErrMalformed},
		{"an unknown status", "RBSTREAM\x02\x00\x99\x00\x16\x00\x00\x00" + strings.Repeat("\x00", 22), stream.ErrMalformed},
	} {
		_, err := stream.Dial(t.Context(), fakeServer(t, test.sent, ""), stream.Options{})
		assert.ErrorIs(t, err, test.want, test.name)
	}
	for _, test := range []struct {
		name, sent string
		want       error
	}{
		{"a frame of 4 GiB", "\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", stream.ErrTooLarge},
		{"a control frame of 200 MiB", "\x00\x00\x80\x0c\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80\x0c", stream.ErrTooLarge},
		{"a length that contradicts itself", "\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00", stream.ErrMalformed},
		{"rubbish as compressed", "\x04\x00\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x64\x00\x00\x00rubb", stream.ErrMalformed},
		{"no message", "\x04\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00rubb", nil},
		{"losses that end early", "\x02\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x02\x00\x00\x00\xff\xff", stream.ErrMalformed},
		{"half a message and silence", "\x00\x00\x00\x08\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08half", nil},
		{"silence", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEvents()
			c, err := stream.Dial(t.Context(), fakeServer(t, welcome, test.sent), stream.Options{
				MinBackoff: time.Minute, Events: func(event stream.Event) { e <- event },
			})
			require.NoError(t, err)
			listening := make(chan error, 1)
			go func() {
				listening <- c.Listen(t.Context(), "a", func(*stream.Data) { assert.Fail(t, "no message came") })
			}()
			disconnected := e.of(t, stream.EventDisconnected)
			require.Error(t, disconnected.Err)
			if test.want != nil {
				assert.ErrorIs(t, disconnected.Err, test.want)
			}
			assert.NoError(t, take(t, listening), "it is asked for over the next connection")
			end(c)
			assert.Zero(t, c.Outstanding())
		})
	}
}

// A frame with a message that a person wrote from the document and from the definitions of
// geometry and headers: an instance of raybridge_msgs/msg/Speed.
const byHand = `
	88000000 0100 00 00 00000000 88000000   136 bytes, stream 1, no flags, message 0, 136 bytes
	0700000000000000            sequence 7
	2a00000000000000            frame 42
	00ca9a3b00000000            capture 1 s
	0194357700000000            publish 2 s and 1 ns
	000000000000f83f 00000000000002c0 000000000000e83f                   position 1.5, -2.25, 0.75
	000000000000e03f 000000000000e0bf 000000000000d03f 000000000000c03f  x 0.5, y -0.5, z 0.25, w 0.125
	0100 0500                   flags: headed, frame id of 5 bytes
	70726f6265 000000           frame id "probe", padded
	00010000                    CDR, little-endian
	01000000 00000000           stamp: 1 s, 0 ns
	06000000 70726f626500       "probe" with its NUL
	000000000000                to a multiple of 8
	0000000000002b40            metres per second: 13.5
`

// What goes over the connection is what a person wrote, and a client takes it.
func TestFrameWrittenByHand(t *testing.T) {
	want := unhex(t, byHand)
	s := serve(t, stream.ServerConfig{Beat: time.Minute})
	out := add(t, s, "/speed")
	conn, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
	_, err = io.WriteString(conn, helloAll)
	require.NoError(t, err)
	greeting := make([]byte, 16)
	_, err = io.ReadFull(conn, greeting)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, conn, int64(binary.LittleEndian.Uint32(greeting[12:])))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.Subscribers() == 1 }, limit, time.Millisecond)
	sent := &sample.Speed{
		Header: sample.Header{
			Stamp: 1_000_000_000, Seq: 7, Frame: 42, FrameID: "probe",
			Pose: spatial.Pose{
				Position:    mgl64.Vec3{1.5, -2.25, 0.75},
				Orientation: mgl64.Quat{V: mgl64.Vec3{0.5, -0.5, 0.25}, W: 0.125},
			},
		},
		MetresPerSecond: 13.5,
	}
	require.NoError(t, out.Publish(t.Context(), 2_000_000_001, sent))
	got := make([]byte, len(want))
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, hex.Dump(want), hex.Dump(got))

	n, _, err := stream.Received(want, 1<<20)
	assert.Equal(t, 1, n)
	assert.ErrorIs(t, err, io.EOF)
	info := out.Info()
	d, err := stream.Open(&info, want[16:])
	require.NoError(t, err)
	speed, err := stream.Read[sample.Speed](d)
	require.NoError(t, err)
	assert.Equal(t, sent, speed)
}

// unhex reads the hexadecimal words at the beginnings of lines.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	word := regexp.MustCompile(`^([0-9a-f]{2})+$`)
	var all strings.Builder
	for line := range strings.Lines(text) {
		for _, w := range strings.Fields(line) {
			if !word.MatchString(w) {
				break
			}
			all.WriteString(w)
		}
	}
	b, err := hex.DecodeString(all.String())
	require.NoError(t, err)
	return b
}

// The server counts clients that were welcomed, and those that were refused or failed, with
// the reason of the last.
func TestConnections(t *testing.T) {
	s := serve(t, stream.ServerConfig{MaxClients: 1, Beat: time.Minute})
	add(t, s, "a")
	assert.Zero(t, s.Diagnosis())
	for _, c := range []struct {
		sent   string
		want   transport.Diagnosis
		reason error
	}{
		{"GET / HTTP/1.1\r\n\r\n", transport.Diagnosis{Failures: 1, Malformed: 1}, stream.ErrMagic},
		{"RBSTREAM\x01\x00\x00\x00\x02\x00\x00\x00" + "\x00\x00", transport.Diagnosis{Failures: 2, Malformed: 2}, stream.ErrVersion},
		{"RBSTREAM\x02\x00\x00\x00\x05\x00\x00\x00" + "\x01\x00" + "\x01\x00b", transport.Diagnosis{Failures: 3, Malformed: 2}, stream.ErrUnknownStream},
		{helloNone + emptyFrame + "\x63" + "\x00\x00\x00\x00\x00\x00\x00\x00", transport.Diagnosis{Connections: 1, Failures: 4, Malformed: 3}, stream.ErrMalformed},
	} {
		answer(t, s, c.sent)
		fares(t, s, c.want, c.reason)
	}
	client, err := stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	require.NoError(t, err)
	fares(t, s, transport.Diagnosis{Connections: 2, Failures: 4, Malformed: 3}, stream.ErrMalformed)
	_, err = stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	require.ErrorIs(t, err, stream.ErrTooManyClients)
	want := transport.Diagnosis{Connections: 2, Failures: 5, Malformed: 3, Refused: map[string]int64{"too_many_connections": 1}}
	fares(t, s, want, stream.ErrTooManyClients)
	end(client)
	probe, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	require.NoError(t, probe.Close())
	closeServer(t, s) // waits for all
	fares(t, s, want, stream.ErrTooManyClients)
}

// fares waits until the server has counted so much, and checks why a connection failed last.
func fares(t *testing.T, s *stream.Server, want transport.Diagnosis, reason error) {
	t.Helper()
	require.Eventually(t, func() bool {
		got := s.Diagnosis()
		last := got.LastError
		got.LastError = nil
		return reflect.DeepEqual(got, want) && errors.Is(last, reason)
	}, limit, time.Millisecond, "%+v, not %+v", s.Diagnosis(), want)
	assert.ErrorContains(t, s.Diagnosis().LastError, "client 127.0.0.1:")
}
