package mcap_test

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/mcap"
)

func TestDamageIsTold(t *testing.T) {
	path := record(t, t.TempDir(), "a.mcap?chunk=3000", 10)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)/2] ^= 0xff // within a chunk, the summary is far behind
	require.NoError(t, os.WriteFile(path, data, 0o666))
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	damage, messages := 0, 0
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			require.ErrorIs(t, err, mcap.ErrDamaged)
			damage++
			continue
		}
		messages++
	}
	assert.Equal(t, 1, damage)
	assert.Greater(t, messages, 10, "the rest is read")
	assert.Less(t, messages, 20)
}

// TestADamagedSummaryIsNotBelieved: wherever a byte of it is wrong, all messages are read,
// from the rest of the file where need be.
func TestADamagedSummaryIsNotBelieved(t *testing.T) {
	path := record(t, t.TempDir(), "a.mcap?chunk=3000", 10)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	footer := len(data) - len(foxglove.Magic) - 20
	start := binary.LittleEndian.Uint64(data[footer:])
	r, err := mcap.Open(path)
	require.NoError(t, err)
	want := all(t, r)
	require.NoError(t, r.Close())
	for at := int(start); at < len(data); at += 13 {
		data[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, data, 0o666))
		data[at] ^= 0x10
		r, err := mcap.Open(path)
		require.NoError(t, err, "byte %d", at)
		require.Equal(t, want, all(t, r), "byte %d", at)
		require.Equal(t, []string{path}, r.Unfinished(), "byte %d", at)
		require.NoError(t, r.Close())
	}
}
