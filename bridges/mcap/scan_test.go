package mcap

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted counts what is read of a file.
type counted struct {
	data []byte
	read int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(c.data)) {
		return 0, io.EOF
	}
	n := copy(p, c.data[at:])
	c.read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// record is a record of a kind, with a length that may be a lie.
func record(op mcap.OpCode, length uint64, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{byte(op)}, length), content...)
}

// emptyChunk is what looks like a chunk, compressed by zstd, and can't be unpacked.
func emptyChunk() []byte {
	content := make([]byte, chunkCompression)
	content = append(binary.LittleEndian.AppendUint32(content, 4), "zstd"...)
	content = append(binary.LittleEndian.AppendUint64(content, 3), "abc"...)
	return record(mcap.OpChunk, uint64(len(content)), content)
}

// TestDamageIsReadAFewTimes: whatever 3 MB of damage look like, a scan reads them a few times,
// not once for each fault.
func TestDamageIsReadAFewTimes(t *testing.T) {
	const size = 3 << 20
	for name, piece := range map[string][]byte{
		"chunks and what breaks off":      append(emptyChunk(), record(mcap.OpMessage, math.MaxUint64, nil)...),
		"chunks and what can't be parsed": append(emptyChunk(), record(mcap.OpMetadata, size/2, bytes.Repeat([]byte{0xff}, 8))...),
		"chunks of wrong lengths":         append(emptyChunk(), record(mcap.OpChunk, size/2, make([]byte, 60))...),
		"chunks by another name":          append(emptyChunk(), append([]byte{byte(mcap.OpSchema)}, emptyChunk()[1:]...)...),
		"chunks":                          emptyChunk(),
		"chunks' marks":                   {byte(mcap.OpChunk)},
		"indexes":                         record(mcap.OpMessageIndex, 6, make([]byte, 6)),
		"indexes of a lie":                append(emptyChunk(), record(mcap.OpMessageIndex, size/2, make([]byte, 6))...),
	} {
		t.Run(name, func(t *testing.T) {
			file := &counted{data: append(bytes.Clone(mcap.Magic), bytes.Repeat(piece, size/len(piece))...)}
			x := &index{}
			_, err := x.scan(file, int64(len(file.data)))
			require.NoError(t, err)
			t.Logf("read %.1f times", float64(file.read)/size)
			assert.Less(t, file.read, int64(10*size))
		})
	}
}

// TestManyChannels: a recording of all channels that there can be is opened and read in work
// that grows with them, not with their square.
func TestManyChannels(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 60 MB")
	}
	for name, options := range map[string]*mcap.WriterOptions{
		"finished": {Chunked: true, ChunkSize: 1 << 20}, "killed": {Chunked: true, ChunkSize: 1 << 20}, "without chunks": {},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := mcap.NewWriter(&file, options)
			require.NoError(t, err)
			require.NoError(t, w.WriteHeader(&mcap.Header{}))
			text := strings.Repeat("x", 5)
			for id := 1; id <= math.MaxUint16; id++ {
				require.NoError(t, w.WriteSchema(&mcap.Schema{ID: uint16(id), Name: "lgsvl_msgs/msg/Detection3DArray", Encoding: "ros2msg", Data: []byte(text)}))
				require.NoError(t, w.WriteChannel(&mcap.Channel{ID: uint16(id), SchemaID: uint16(id), Topic: "/t" + string(rune('a'+id)), MessageEncoding: "cdr",
					Metadata: map[string]string{"offered_qos_profiles": "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 1\n"}}))
				require.NoError(t, w.WriteMessage(&mcap.Message{ChannelID: uint16(id), LogTime: uint64(id), PublishTime: uint64(id)}))
			}
			if name != "killed" {
				require.NoError(t, w.Close())
			}
			path := filepath.Join(t.TempDir(), "a.mcap")
			require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
			r, err := Open(path)
			require.NoError(t, err)
			defer r.Close()
			assert.Greater(t, len(r.Topics()), 60_000)
			r.Select(Selection{FromNs: 60_000})
			_, err = r.Next()
			assert.ErrorIs(t, err, io.EOF) // none of them can be decoded
			assert.NotEmpty(t, r.Skipped())
		})
	}
}

// TestAChunksOwnClaimCostsNothing: a frame of a few bytes that says that it unpacks to a gigabyte,
// in a chunk that says otherwise, takes no such memory.
func TestAChunksOwnClaimCostsNothing(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 0, 0, 0, 0, 0x3f} // a window of 1 KiB, content of 1008 MiB (RFC 8878)
	frame = append(frame, 0x21, 0, 0, 1, 2, 3, 4)                   // the last block, of 4 bytes as they are
	var u unpacker
	defer u.close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := u.uncompress(&mcap.Chunk{Compression: "zstd", Records: frame}, 4)
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

// TestDenseChunks: what packs better than most is unpacked too.
func TestDenseChunks(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	data := make([]byte, 8<<20)
	var u unpacker
	defer u.close()
	got, err := u.uncompress(&mcap.Chunk{Compression: "zstd", Records: encoder.EncodeAll(data, nil)}, int64(len(data)))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
	_, err = u.checked(&mcap.Chunk{Compression: "zstd", Records: encoder.EncodeAll(data, nil), UncompressedSize: 1000})
	assert.ErrorIs(t, err, ErrDamaged)
}
