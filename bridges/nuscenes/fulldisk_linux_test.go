package nuscenes_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/bridges/nuscenes"
	"github.com/raybridge/raybridge/flow"
)

// formats are what Recover may find.
var formats = []dataset.Format{nuscenes.Format}

// recordUntil writes a whole set of a run that lasts so long, and returns its folder.
func recordUntil(t *testing.T, until time.Duration) string {
	t.Helper()
	d := begin(t, "a", "?scene=1s")
	require.NoError(t, d.bridge.Connect(t.Context()))
	require.NoError(t, d.run(0, until))
	require.NoError(t, d.bridge.Close(context.Background()))
	return d.dir
}

// TestFullFileSystem fills disks of many sizes, so that the end comes in data files, in the journal and in the tables. The set is whole up
// to the last key frame that it has, and recover makes it that of a run of as many. It needs the right to mount.
func TestFullFileSystem(t *testing.T) {
	clean := map[int]map[string]string{} // by key frames
	inTables := false
	for size := 100; ; size += 40 {
		d := begin(t, "a", "?scene=1s")
		disk := filepath.Dir(d.dir)
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dk", size)); err != nil {
			t.Skipf("needs the right to mount a small tmpfs: %v", err)
		}
		t.Cleanup(func() { assert.NoError(t, syscall.Unmount(disk, 0)) })
		require.NoError(t, d.bridge.Connect(t.Context()))
		failed := d.run(0, 1040*time.Millisecond)
		closed := d.bridge.Close(context.Background())
		if closed == nil {
			break
		}
		inTables = inTables || failed == nil
		for _, err := range []error{cmp.Or(failed, closed), closed} {
			require.ErrorIs(t, err, flow.ErrWriteFailed)
			require.ErrorIs(t, err, syscall.ENOSPC)
		}
		samples := readTable(t, d.dir, "sample")
		require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=10m"))
		frames, err := dataset.Recover(d.dir, formats)
		require.NoError(t, err)
		assert.Len(t, samples, frames, "the tables were those of the journal")
		if clean[frames] == nil {
			clean[frames] = filesOf(t, recordUntil(t, time.Duration(frames)*500*time.Millisecond+40*time.Millisecond))
		}
		assert.Equal(t, clean[frames], filesOf(t, d.dir), "%d KB", size)
	}
	assert.True(t, inTables, "no disk had room for all but the tables")
	assert.Len(t, clean, 2, "sets of none and of one of the two key frames")
}

// TestTablesThatCantBeWritten: the key frames stay, and recover makes the tables once it can.
func TestTablesThatCantBeWritten(t *testing.T) {
	t.Parallel()
	d := begin(t, "a", "?scene=1s")
	require.NoError(t, d.bridge.Connect(t.Context()))
	require.NoError(t, d.run(0, 1040*time.Millisecond))
	obstacle := filepath.Join(d.dir, "v1.0-trainval", "sample.json.part")
	require.NoError(t, os.MkdirAll(filepath.Join(obstacle, "x"), 0o777))
	err := d.bridge.Close(context.Background())
	require.ErrorIs(t, err, flow.ErrWriteFailed)
	assert.ErrorContains(t, err, "sample.json")
	assert.NotContains(t, err.Error(), "attribute.json", "others aren't at fault")
	require.NoError(t, os.RemoveAll(obstacle))
	frames, err := dataset.Recover(d.dir, formats)
	require.NoError(t, err)
	assert.Equal(t, 2, frames)
	assert.Equal(t, filesOf(t, recordUntil(t, 1040*time.Millisecond)), filesOf(t, d.dir))
}
