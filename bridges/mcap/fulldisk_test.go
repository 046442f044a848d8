package mcap_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/recordfile/fulldisk"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// fill publishes scans and pictures until a publisher fails or n of each are
// out, and returns the error.
func fill(t *testing.T, b *bridges.Bridge, n int) error {
	t.Helper()
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	for seq := range n {
		if err := points(t.Context(), bridgetest.PointCloud(seq)); err != nil {
			return err
		}
		if err := image(t.Context(), bridgetest.Image(seq)); err != nil {
			return err
		}
	}
	return nil
}

// TestFullDiskLeavesTheRecordingReadable lets the disk end at every possible
// place of the file: within the header, a chunk, an index or the summary.
func TestFullDiskLeavesTheRecordingReadable(t *testing.T) {
	const messages = 20
	record := func(capacity int) (*fulldisk.Disk, *bridges.Bridge, error) {
		disk := &fulldisk.Disk{Capacity: capacity}
		f := mcap.FactoryOn{Open: func(string) (mcap.Target, error) { return disk, nil }}
		b := open(t, f, "a.mcap?chunk=3000&compression=none", bridges.Env{OutDir: t.TempDir(), Run: bridges.Run{Seed: 1}})
		if err := b.Connect(t.Context()); err != nil {
			return disk, b, err
		}
		err := fill(t, b, messages)
		if closeErr := b.Close(t.Context()); err == nil {
			err = closeErr
		}
		return disk, b, err
	}
	whole, _, err := record(1 << 30)
	require.NoError(t, err)
	total := len(whole.Data)
	// The first chunk has the schemas; before it there is only room for a
	// recording without messages, and before that for none.
	const header, emptySummary = 200, 500
	for capacity := 0; capacity < total; capacity += 203 {
		disk, b, err := record(capacity)
		require.ErrorIs(t, err, syscall.ENOSPC, "%d bytes", capacity)
		if capacity < header {
			continue // not even Connect may have worked
		}
		require.ErrorIs(t, err, bridges.ErrWriteFailed, "%d bytes", capacity)
		assert.ErrorIs(t, b.Err(), bridges.ErrWriteFailed)
		assert.Equal(t, bridges.UnexpectedlyDisconnected, b.Status())
		assert.Equal(t, 1, disk.Closed)
		s := b.Statistics()
		if capacity >= emptySummary {
			got := read(t, disk.Data)
			require.EqualValues(t, len(got.messages), s.Messages, "%d bytes: counted as recorded is what is readable", capacity)
			require.Len(t, got.metadata, 1)
		}
		published := s.Messages + s.Drops[flow.CauseWriteFailed]
		assert.Positive(t, s.Drops[flow.CauseWriteFailed], "%d bytes", capacity)
		assert.LessOrEqual(t, published, int64(2*messages))
		if capacity > total/2 {
			assert.Greater(t, s.Messages, int64(messages/2), "%d bytes: what fits is kept", capacity)
		}
	}
}

func TestPublishersFailOnceTheDiskIsFull(t *testing.T) {
	disk := &fulldisk.Disk{Capacity: 20_000}
	f := mcap.FactoryOn{Open: func(string) (mcap.Target, error) { return disk, nil }}
	dir := t.TempDir()
	b := open(t, f, "bag?chunk=3000&compression=none", bridges.Env{OutDir: dir})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bag"), 0o777))
	require.NoError(t, b.Connect(t.Context()))
	require.ErrorIs(t, fill(t, b, 100), bridges.ErrWriteFailed)
	recorded := b.Statistics().Messages
	require.ErrorIs(t, fill(t, b, 1), bridges.ErrWriteFailed, "as long as nobody connects again")
	assert.Equal(t, recorded, b.Statistics().Messages)
	assert.ErrorIs(t, b.Close(t.Context()), bridges.ErrWriteFailed)
	yaml, err := os.ReadFile(filepath.Join(dir, "bag", "metadata.yaml"))
	require.NoError(t, err)
	assert.EqualValues(t, recorded, parseBag(t, yaml).MessageCount, "the folder agrees with the file")
}

// TestFullFileSystem fills a real one. It needs the right to mount.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	b := open(t, mcap.Factory{}, "bag?chunk=3000&compression=none", bridges.Env{OutDir: dir})
	require.NoError(t, b.Connect(t.Context()))
	err := fill(t, b, 1000)
	require.ErrorIs(t, err, bridges.ErrWriteFailed)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, b.Close(t.Context()), bridges.ErrWriteFailed)
	got := readFile(t, filepath.Join(dir, "bag", "bag_0.mcap"))
	assert.EqualValues(t, len(got.messages), b.Statistics().Messages)
	assert.Greater(t, len(got.messages), 10)
}
