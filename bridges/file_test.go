package bridges_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
)

func TestRewindLeavesCompleteRecords(t *testing.T) {
	disk := &bridgetest.FullDisk{Capacity: 100_000}
	f := bridges.FileOn(disk, "disk")
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
	f := bridges.FileOn(dev, "/dev/full")
	_, err = f.Write([]byte("something"))
	require.NoError(t, err, "still buffered")
	assert.ErrorIs(t, f.Commit(), syscall.ENOSPC)
	assert.Zero(t, f.Committed())
	require.NoError(t, f.Close())
}

// pages is an instance that records lines.
type pages struct {
	bridges.Recorder[*bridges.File]
}

// newPages returns one that writes to dir, or to where open says.
func newPages(dir string, open func(string) (bridges.Target, error)) *pages {
	p := &pages{}
	p.Env, p.Open = bridges.Env{Log: slog.New(slog.DiscardHandler)}, open
	p.Read = func(connection string) (func() (*bridges.File, error), error) {
		if connection == "" {
			return nil, bridges.ErrConnectionString
		}
		return func() (*bridges.File, error) { return p.Create(filepath.Join(dir, connection)) }, nil
	}
	return p
}

// write records a line.
func (p *pages) write(line string) error {
	p.Lock()
	defer p.Unlock()
	file, err := p.Recording()
	if err != nil {
		return err
	}
	if _, err = file.Write([]byte(line)); err == nil {
		err = file.Commit()
	}
	if err != nil {
		return p.Fail(err)
	}
	return nil
}

var (
	_ bridges.Instance = (*pages)(nil)
	_ bridges.Checker  = (*pages)(nil)
	_ bridges.Failer   = (*pages)(nil)
)

func TestRecorderMakesARecordingForEachConnection(t *testing.T) {
	dir := t.TempDir()
	p := newPages(dir, nil)
	assert.ErrorIs(t, p.write("early"), flow.ErrNotConnected)
	require.NoError(t, p.Disconnect(t.Context()), "there is nothing to end")
	require.ErrorIs(t, p.Check(""), bridges.ErrConnectionString)
	require.NoError(t, p.Check("a"))
	assert.NoFileExists(t, filepath.Join(dir, "a"))

	require.NoError(t, p.Connect(t.Context(), "a"))
	assert.Equal(t, flow.Connected, p.Status())
	require.NoError(t, p.write("1"))
	require.NoError(t, p.Connect(t.Context(), "b"), "which ends a")
	require.NoError(t, p.write("2"))
	require.ErrorIs(t, p.Connect(t.Context(), ""), bridges.ErrConnectionString)
	assert.Equal(t, flow.Disconnected, p.Status(), "Connect disconnects first")
	assert.ErrorIs(t, p.write("late"), flow.ErrNotConnected)
	require.NoError(t, p.Err())
	for name, want := range map[string]string{"a": "1", "b": "2"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

func TestRecorderThatCannotBegin(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		open func(string) (bridges.Target, error)
		path string
		want error
	}{
		"target": {func(string) (bridges.Target, error) { return nil, broken }, "a", broken},
		"folder": {nil, "b/c", syscall.ENOTDIR},
		"file":   {nil, "d", syscall.EISDIR},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			p := newPages(dir, c.open)
			require.ErrorIs(t, p.Connect(t.Context(), c.path), c.want)
			assert.Equal(t, flow.UnexpectedlyDisconnected, p.Status())
			assert.ErrorIs(t, p.write("1"), flow.ErrNotConnected)
			assert.NoError(t, p.Disconnect(t.Context()))
		})
	}
}

func TestRecorderEndsEarlyWhereTheDiskIsFull(t *testing.T) {
	disk := &bridgetest.FullDisk{Capacity: 5}
	p := newPages("dir", func(string) (bridges.Target, error) { return disk, nil })
	require.NoError(t, p.Connect(t.Context(), "a"))
	require.NoError(t, p.write("abc"))
	failure := p.write("def")
	require.ErrorIs(t, failure, flow.ErrWriteFailed)
	require.ErrorIs(t, failure, syscall.ENOSPC)
	assert.ErrorContains(t, failure, filepath.Join("dir", "a"))
	assert.Equal(t, "abc", string(disk.Data), "what is complete stays")
	assert.Equal(t, 1, disk.Closed)
	assert.Equal(t, flow.UnexpectedlyDisconnected, p.Status())
	assert.Equal(t, failure, p.write("g"))
	assert.Equal(t, failure, p.Err())
	assert.Equal(t, failure, p.Disconnect(t.Context()))

	*disk = bridgetest.FullDisk{Capacity: 5}
	require.NoError(t, p.Connect(t.Context(), "a"))
	require.NoError(t, p.Err())
	require.NoError(t, p.write("abc"))
	disk.Capacity = 3
	p.Lock()
	file, err := p.Recording()
	require.NoError(t, err)
	_, err = file.Write([]byte("buffered"))
	p.Unlock()
	require.NoError(t, err)
	assert.ErrorIs(t, p.Disconnect(t.Context()), syscall.ENOSPC, "the rest can't be written")
	assert.Equal(t, flow.UnexpectedlyDisconnected, p.Status())
	assert.Equal(t, "abc", string(disk.Data))
}

func TestRecorderTellsOfFilesThatAreNotThere(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(path string) error
		early bool // the next write tells
	}{
		"removed":   {os.Remove, true},
		"truncated": {func(path string) error { return os.Truncate(path, 1) }, true},
		"renamed":   {func(path string) error { return os.Rename(path, path+"_") }, false},
		"replaced": {func(path string) error {
			return errors.Join(os.Rename(path, path+"_"), os.WriteFile(path, []byte("x"), 0o600))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := newPages(dir, nil)
			require.NoError(t, p.Connect(t.Context(), "a"))
			require.NoError(t, p.write("abc"))
			require.NoError(t, c.harm(filepath.Join(dir, "a")))
			if err := p.write("def"); c.early {
				require.ErrorIs(t, err, bridges.ErrRemoved)
			} else {
				require.NoError(t, err)
			}
			err := p.Disconnect(t.Context())
			require.ErrorIs(t, err, flow.ErrWriteFailed)
			require.ErrorIs(t, err, bridges.ErrRemoved)
			assert.Equal(t, 1, strings.Count(err.Error(), bridges.ErrRemoved.Error()), "it is said once")
			assert.Equal(t, err, p.Err())
			assert.Equal(t, flow.UnexpectedlyDisconnected, p.Status())
		})
	}
}
