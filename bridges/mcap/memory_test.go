package mcap_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
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
