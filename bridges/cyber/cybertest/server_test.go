package cybertest_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/raybridge/raybridge/bridges/cyber/cybertest"
)

const (
	patience = 30 * time.Second
	tick     = time.Millisecond
)

func start(t *testing.T, config cybertest.Config) *cybertest.Server {
	t.Helper()
	s := cybertest.New(config)
	require.NoError(t, s.Start("127.0.0.1:0"))
	t.Cleanup(s.Kill)
	return s
}

// dial returns a connection that writes ops one byte at a time.
func dial(t *testing.T, s *cybertest.Server) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, op []byte) {
	t.Helper()
	for i := range op {
		_, err := conn.Write(op[i : i+1])
		require.NoError(t, err)
	}
}

func field(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

func op(code byte, channel, body string) []byte { return field(field([]byte{code}, channel), body) }

// register describes files, which needn't be Apollo's.
func register(t *testing.T, messages ...proto.Message) []byte {
	t.Helper()
	b := binary.LittleEndian.AppendUint32([]byte{1}, uint32(len(messages)))
	for _, m := range messages {
		data, err := proto.Marshal(protodesc.ToFileDescriptorProto(m.ProtoReflect().Descriptor().ParentFile()))
		require.NoError(t, err)
		b = field(b, string(data))
	}
	return b
}

func logged(s *cybertest.Server, lines int) func() bool {
	return func() bool { return len(s.Log()) == lines }
}

func TestMessagesGoToReaders(t *testing.T) {
	s := start(t, cybertest.Config{})
	writer, reader := dial(t, s), dial(t, s)
	send(t, reader, op(2, "/c", "whatever"))
	require.Eventually(t, func() bool { return len(s.Readers()) == 1 }, patience, tick)
	send(t, writer, register(t, &durationpb.Duration{}, &durationpb.Duration{}))
	send(t, writer, op(3, "/c", "google.protobuf.Duration"))
	send(t, writer, op(4, "/c", "\x08\x07"))
	got := make([]byte, len(op(4, "/c", "\x08\x07")))
	_, err := io.ReadFull(reader, got)
	require.NoError(t, err)
	assert.Equal(t, op(4, "/c", "\x08\x07"), got)
	assert.Equal(t, map[string]string{"/c": "google.protobuf.Duration"}, s.Writers())
	m, err := s.Last("/c")
	require.NoError(t, err)
	assert.EqualValues(t, 7, m.Get(m.Descriptor().Fields().ByName("seconds")).Int())
	assert.Empty(t, s.Log())

	require.NoError(t, writer.Close())
	require.Eventually(t, func() bool { return len(s.Writers()) == 0 }, patience, tick, "a writer ends with its last client")
	send(t, reader, op(4, "/c", "\x08\x08"))
	require.Eventually(t, logged(s, 1), patience, tick)
	assert.Contains(t, s.Log()[0], "no writer")
	assert.Equal(t, map[string]int{"/c": 1}, s.Received())
}

func TestUnknownTypesAreOnlyLogged(t *testing.T) {
	s := start(t, cybertest.Config{})
	conn := dial(t, s)
	send(t, conn, op(3, "/c", "google.protobuf.Duration")) // never described
	require.Eventually(t, logged(s, 1), patience, tick)
	send(t, conn, op(4, "/c", "\x08\x07"))
	require.Eventually(t, logged(s, 2), patience, tick)
	send(t, conn, append([]byte{1, 1, 0, 0, 0}, field(nil, "\xff")...)) // no descriptor at all
	require.Eventually(t, logged(s, 3), patience, tick)
	send(t, conn, register(t, &fieldmaskpb.FieldMask{}))
	send(t, conn, op(3, "/mask", "google.protobuf.FieldMask"))
	require.Eventually(t, func() bool { return len(s.Writers()) == 1 }, patience, tick, "the connection is as good as before")
	assert.Empty(t, s.Received())
}

func TestFilesBeforeTheirImportsAreLost(t *testing.T) {
	s := start(t, cybertest.Config{})
	conn := dial(t, s)
	file := protodesc.ToFileDescriptorProto((&durationpb.Duration{}).ProtoReflect().Descriptor().ParentFile())
	file.Dependency = append(file.Dependency, "google/protobuf/field_mask.proto")
	data, err := proto.Marshal(file)
	require.NoError(t, err)
	send(t, conn, append([]byte{1, 1, 0, 0, 0}, field(nil, string(data))...))
	require.Eventually(t, logged(s, 1), patience, tick)
	assert.Contains(t, s.Log()[0], "duration.proto")
}

func TestUnknownOpEndsTheClient(t *testing.T) {
	s := start(t, cybertest.Config{})
	conn := dial(t, s)
	send(t, conn, []byte{9})
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.Contains(t, s.Log()[0], "unknown op 9")
}

func TestSlowReaders(t *testing.T) {
	s := start(t, cybertest.Config{Pending: 1 << 20})
	conn := dial(t, s)
	send(t, conn, op(2, "/c", ""))
	require.Eventually(t, func() bool { return len(s.Readers()) == 1 }, patience, tick)
	message := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		s.Publish("/c", message)
		return len(s.Log()) > 0
	}, patience, tick, "nobody reads")
	assert.Contains(t, s.Log()[0], "discarded")
}

func TestStall(t *testing.T) {
	var received atomic.Int64
	s := start(t, cybertest.Config{Received: func(string, []byte) { received.Add(1) }})
	conn := dial(t, s)
	send(t, conn, register(t, &durationpb.Duration{}))
	send(t, conn, op(3, "/c", "google.protobuf.Duration"))
	require.Eventually(t, func() bool { return len(s.Writers()) == 1 }, patience, tick)
	s.Stall()
	send(t, conn, op(4, "/c", ""))
	assert.Zero(t, received.Load())
	s.Resume()
	require.Eventually(t, func() bool { return received.Load() == 1 }, patience, tick)
	s.Kill()
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.Empty(t, s.Addr())
}
