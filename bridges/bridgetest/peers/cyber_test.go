package peers_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
)

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

func logLines(s fake, n int) func() bool { return func() bool { return len(s.Log()) == n } }

func TestMessagesGoToReaders(t *testing.T) {
	s := start(t, peers.NewCyber(peers.CyberConfig{}))
	writer, reader := dial(t, s), dial(t, s)
	send(t, reader, op(2, "/c", "whatever"))
	eventually(t, func() bool { return len(s.Readers()) == 1 })
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
	eventually(t, func() bool { return len(s.Writers()) == 0 }, "a writer ends with its last client")
	send(t, reader, op(4, "/c", "\x08\x08"))
	eventually(t, logLines(s, 1))
	assert.Contains(t, s.Log()[0], "no writer")
	assert.Equal(t, map[string]int{"/c": 1}, s.Received())
}

func TestUnknownTypesAreOnlyLogged(t *testing.T) {
	s := start(t, peers.NewCyber(peers.CyberConfig{}))
	conn := dial(t, s)
	send(t, conn, op(3, "/c", "google.protobuf.Duration")) // never described
	eventually(t, logLines(s, 1))
	send(t, conn, op(4, "/c", "\x08\x07"))
	eventually(t, logLines(s, 2))
	send(t, conn, append([]byte{1, 1, 0, 0, 0}, field(nil, "\xff")...)) // no descriptor at all
	eventually(t, logLines(s, 3))
	send(t, conn, register(t, &fieldmaskpb.FieldMask{}))
	send(t, conn, op(3, "/mask", "google.protobuf.FieldMask"))
	eventually(t, func() bool { return len(s.Writers()) == 1 }, "the connection is as good as before")
	assert.Empty(t, s.Received())
}

func TestFilesBeforeTheirImportsAreLost(t *testing.T) {
	s := start(t, peers.NewCyber(peers.CyberConfig{}))
	conn := dial(t, s)
	file := protodesc.ToFileDescriptorProto((&durationpb.Duration{}).ProtoReflect().Descriptor().ParentFile())
	file.Dependency = append(file.Dependency, "google/protobuf/field_mask.proto")
	data, err := proto.Marshal(file)
	require.NoError(t, err)
	send(t, conn, append([]byte{1, 1, 0, 0, 0}, field(nil, string(data))...))
	eventually(t, logLines(s, 1))
	assert.Contains(t, s.Log()[0], "duration.proto")
}
