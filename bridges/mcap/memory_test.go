package mcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/memory"
)

// sparse writes a finished recording of some kilobytes whose chunks unpack to a megabyte each,
// and returns its path. With all of one time, every chunk is due at once.
func sparse(t *testing.T, chunks int, step uint64) string {
	t.Helper()
	var file bytes.Buffer
	w, err := foxglove.NewWriter(&file, &foxglove.WriterOptions{Chunked: true, ChunkSize: 1, Compression: foxglove.CompressionZSTD})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, Topic: "/a", MessageEncoding: "json"}))
	for i := range chunks {
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: uint64(i) * step, Data: make([]byte, 1<<20)}))
	}
	require.NoError(t, w.Close())
	require.Less(t, file.Len(), 64<<10)
	path := filepath.Join(t.TempDir(), "a.mcap")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

// drain reads all messages.
func drain(r *mcap.Reader) error {
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestReadingTakesMemory: chunks are taken from the budget while their messages are due. A
// small file can't have a reader hold all that it unpacks to.
func TestReadingTakesMemory(t *testing.T) {
	t.Run("one after another", func(t *testing.T) {
		budget := memory.New(3 << 20)
		r, err := mcap.Reading{Memory: budget}.Open(sparse(t, 10, 1e9))
		require.NoError(t, err)
		require.NoError(t, drain(r))
		assert.EqualValues(t, 10, r.Skipped()[0].Messages)
		require.NoError(t, r.Close())
		assert.Zero(t, budget.Held())
	})
	t.Run("all at once", func(t *testing.T) {
		budget := memory.New(3 << 20)
		r, err := mcap.Reading{Memory: budget}.Open(sparse(t, 10, 0))
		require.NoError(t, err)
		err = drain(r)
		require.ErrorIs(t, err, memory.ErrExceeded)
		assert.NotErrorIs(t, err, mcap.ErrDamaged)
		require.NoError(t, r.Close())
		assert.Zero(t, budget.Held())

		r, err = mcap.Reading{Memory: memory.New(20 << 20)}.Open(sparse(t, 10, 0))
		require.NoError(t, err)
		require.NoError(t, drain(r))
		require.NoError(t, r.Close())
	})
	t.Run("recovery", func(t *testing.T) {
		path := sparse(t, 3, 1)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data[:len(data)-20], 0o600)) // not finished
		for limit, fits := range map[int64]bool{1 << 20: false, 2 << 20: true} {
			budget := memory.New(limit)
			done, err := mcap.Reading{Memory: budget}.Recover(path, filepath.Join(t.TempDir(), "b.mcap"))
			if assert.Zero(t, budget.Held()); !fits {
				require.ErrorIs(t, err, memory.ErrExceeded)
				continue
			}
			require.NoError(t, err)
			assert.EqualValues(t, 3, done[0].Messages)
		}
	})
	t.Run("a record's claim", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.mcap")
		file := append(bytes.Clone(foxglove.Magic), byte(foxglove.OpMetadata), 0, 0, 16, 0, 0, 0, 0, 0)
		require.NoError(t, os.WriteFile(path, append(file, make([]byte, 1<<20)...), 0o600))
		_, err := mcap.Reading{Memory: memory.New(1 << 20)}.Open(path)
		require.ErrorIs(t, err, memory.ErrExceeded)
		_, err = mcap.Reading{Memory: memory.New(math.MaxInt64)}.Open(path)
		require.NoError(t, err)
	})
}

// TestAChunkUnpacksToWhatItSays: data that unpack to more than their chunk says, or that say
// so, cost no memory that the budget doesn't know of.
func TestAChunkUnpacksToWhatItSays(t *testing.T) {
	const unpacked = 64 << 20
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	told := encoder.EncodeAll(make([]byte, unpacked), nil)
	var untold bytes.Buffer
	encoder.Reset(&untold)
	_, err = io.Copy(encoder, bytes.NewReader(make([]byte, unpacked)))
	require.NoError(t, err)
	require.NoError(t, encoder.Close())
	for name, data := range map[string][]byte{
		"its size is told": told, "its size isn't told": untold.Bytes(),
		"the size is a lie": {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 0}, // RFC 8878: one segment of 256 MiB
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			file.Write(foxglove.Magic)
			for range 8 {
				content := append(binary.LittleEndian.AppendUint64(make([]byte, 16), 1000), 0, 0, 0, 0)
				content = append(append(content, 4, 0, 0, 0), "zstd"...)
				content = append(binary.LittleEndian.AppendUint64(content, uint64(len(data))), data...)
				file.Write(binary.LittleEndian.AppendUint64([]byte{byte(foxglove.OpChunk)}, uint64(len(content))))
				file.Write(content)
			}
			path := filepath.Join(t.TempDir(), "a.mcap")
			require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := mcap.Reading{Memory: memory.New(1 << 20)}.Open(path)
			runtime.ReadMemStats(&after)
			if err == nil {
				require.NoError(t, r.Close())
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(unpacked))
		})
	}
}
