package bridges_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
)

func TestRewindLeavesCompleteRecords(t *testing.T) {
	disk := &bridgetest.FullDisk{Capacity: 100_000}
	f := bridges.NewFile(disk, "disk")
	record := bytes.Repeat([]byte{7}, 30_000)
	var err error
	for range 4 {
		if _, err = f.Write(record); err != nil {
			break
		}
		if err = f.Commit(); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	_, err = f.Write([]byte{1})
	require.ErrorIs(t, err, syscall.ENOSPC, "the error stays")
	assert.Len(t, disk.Data, disk.Capacity, "part of a record is in the file")

	require.NoError(t, f.Rewind(f.Committed()))
	_, err = f.Write([]byte("end"))
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	assert.Equal(t, int64(90_003), f.Committed())
	assert.Equal(t, append(bytes.Repeat([]byte{7}, 90_000), "end"...), disk.Data)
	require.NoError(t, f.Close())
	assert.Equal(t, 1, disk.Closed)
}

func TestCreateMakesFoldersAndEmptiesTheFile(t *testing.T) {
	var files bridges.Recorder[*bridges.File]
	path := filepath.Join(t.TempDir(), "a", "b", "c.bin")
	for _, content := range []string{"a longer first content", "short"} {
		f, err := files.Create(path)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
		require.NoError(t, f.Commit())
		require.NoError(t, f.Close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(got))
	}
	_, err := files.Create(filepath.Join(path, "below-a-file"))
	assert.ErrorIs(t, err, syscall.ENOTDIR)
}

func TestFullDevice(t *testing.T) {
	dev, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("needs /dev/full: %v", err)
	}
	f := bridges.NewFile(dev, "/dev/full")
	_, err = f.Write([]byte("something"))
	require.NoError(t, err, "still buffered")
	assert.ErrorIs(t, f.Commit(), syscall.ENOSPC)
	assert.Zero(t, f.Committed())
	require.NoError(t, f.Close())
}
