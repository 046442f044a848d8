package mcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// killed records in a process of its own, kills it with SIGKILL in mid-recording, and
// returns how many scans it had recorded at least.
func killed(t *testing.T, connection string) int {
	t.Helper()
	recorder := process.Start(t, process.Program(os.Args[0]).With(envRecorder+"="+connection))
	recorder.Expect(t, "recorded 300")
	recorder.Kill()
	var last int
	for line := range bytes.Lines([]byte(recorder.Output())) {
		var n int
		if _, err := fmt.Sscanf(string(line), "recorded %d\n", &n); err == nil {
			last = n
		}
	}
	require.GreaterOrEqual(t, last, 300)
	return last
}

// wholeMessages are those that the official lexer reads from front to back, until the
// file breaks off.
func wholeMessages(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lexer, err := foxglove.NewLexer(bytes.NewReader(data), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	messages := 0
	for {
		token, _, err := lexer.Next(nil)
		if err != nil {
			return messages
		}
		require.NotEqual(t, foxglove.TokenFooter, token, "the file isn't finished")
		if token == foxglove.TokenMessage {
			messages++
		}
	}
}

func TestAKilledProcessLeavesAllButTheOpenChunk(t *testing.T) {
	for _, options := range []string{"?chunk=20000", "?chunk=20000&compression=none", "?chunk=20000&compression=lz4"} {
		path := filepath.Join(t.TempDir(), "a.mcap")
		recorded := killed(t, path+options)
		whole := wholeMessages(t, path)
		// A chunk closes each second of the scans' time at the latest: ten scans.
		assert.Greater(t, whole, recorded-30, "ten scans a chunk, and one or two of them open")

		r, err := mcap.Open(path)
		require.NoError(t, err)
		assert.Equal(t, []string{path}, r.Unfinished())
		checkScans(t, r, whole)

		done, err := mcap.Recover(path, "")
		require.NoError(t, err)
		to := filepath.Join(filepath.Dir(path), "a_recovered.mcap")
		require.Len(t, done, 1)
		assert.Equal(t, mcap.Recovery{From: path, To: to, Messages: uint64(whole), LostBytes: done[0].LostBytes}, done[0])
		assert.Len(t, readFile(t, to).messages, whole, "by its index and from front to back")
		r, err = mcap.Open(to)
		require.NoError(t, err)
		assert.Empty(t, r.Unfinished())
		checkScans(t, r, whole)
	}
}

// checkScans reads a recording of recordForEver with so many messages.
func checkScans(t *testing.T, r *mcap.Reader, messages int) {
	t.Helper()
	defer r.Close()
	scans, static := 0, 0
	for _, m := range all(t, r) {
		if m.Topic == "/tf_static" {
			assert.EqualValues(t, 5, m.LogNs)
			static++
			continue
		}
		require.Equal(t, "/points", m.Topic)
		require.EqualValues(t, scans*bridgetest.Period, m.LogNs)
		scans++
	}
	assert.Equal(t, []int{1, messages - 1}, []int{static, scans})
}

func TestAKilledProcessLeavesAFolderThatRecovers(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bag")
	recorded := killed(t, folder+"?chunk=20000&split_time=10s")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { // the next one, just made
		info, err := os.Stat(path)
		return err == nil && info.Size() == 0
	})
	assert.GreaterOrEqual(t, len(files), 3, "at 10 Hz 300 scans are 30 s")
	assert.NoFileExists(t, filepath.Join(folder, "metadata.yaml"))

	to := filepath.Join(t.TempDir(), "whole")
	done, err := mcap.Recover(folder, to)
	require.NoError(t, err)
	require.Len(t, done, len(files))
	assert.True(t, done[0].Complete, "all files but the last were finished")
	text, err := os.ReadFile(filepath.Join(to, "metadata.yaml"))
	require.NoError(t, err)
	b := parseBag(t, text)
	assert.Len(t, b.RelativeFilePaths, len(files))
	var messages uint64
	repeated := -1 // each file but the first repeats the frames, with its first chunk
	for i, f := range done {
		assert.Equal(t, f.Messages, b.Files[i].MessageCount)
		messages += f.Messages
		if f.Messages > 0 {
			repeated++
		}
	}
	assert.Equal(t, messages, b.MessageCount)
	assert.Greater(t, messages, uint64(recorded-30))
	for _, path := range []string{folder, to} {
		r, err := mcap.Open(path)
		require.NoError(t, err)
		checkScans(t, r, int(messages)-repeated)
	}
}

// TestEveryPrefixOfARecordingIsRead cuts a recording everywhere: in each kind of record.
func TestEveryPrefixOfARecordingIsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	dir := t.TempDir()
	path := record(t, dir, "a.mcap?chunk=700&compression=none", 6)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	cut, to := filepath.Join(dir, "cut.mcap"), filepath.Join(dir, "to.mcap")
	headerEnd := 8 + 9 + int(whole[9]) // magic bytes and the first record
	before := 0
	for size := 0; size < len(whole); size += 13 {
		require.NoError(t, os.WriteFile(cut, whole[:size], 0o666))
		r, err := mcap.Open(cut)
		if size < 8 {
			require.ErrorIs(t, err, mcap.ErrNotMCAP, "%d bytes", size)
			continue
		}
		require.NoError(t, err, "%d bytes", size)
		n := 0
		for {
			_, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "%d bytes", size)
			n++
		}
		require.NoError(t, r.Close())
		require.GreaterOrEqual(t, n, before, "%d bytes", size)
		before = n
		if size%3 != 0 {
			continue
		}
		_ = os.Remove(to)
		done, err := mcap.Recover(cut, to)
		if size < headerEnd {
			require.ErrorIs(t, err, mcap.ErrDamaged)
			continue
		}
		require.NoError(t, err, "%d bytes", size)
		require.EqualValues(t, n, done[0].Messages)
		require.Len(t, readFile(t, to).messages, n, "%d bytes", size)
	}
	assert.Equal(t, 12, before, "all but the summary")
}

// TestAFolderRecoversWithoutWhatIsUnreadable: a file that the disk has lost takes nothing
// with it.
func TestAFolderRecoversWithoutWhatIsUnreadable(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=4s")
	lost := filepath.Join(dir, "bag", "bag_1.mcap")
	require.NoError(t, os.WriteFile(lost, make([]byte, 100), 0o666))
	to := filepath.Join(dir, "whole")
	done, err := mcap.Recover(filepath.Join(dir, "bag"), to)
	require.NoError(t, err)
	require.Len(t, done, 3)
	assert.Equal(t, []uint64{41, 0, 21}, []uint64{done[0].Messages, done[1].Messages, done[2].Messages})
	assert.ErrorIs(t, done[1].Err, mcap.ErrNotMCAP)
	assert.Equal(t, mcap.Recovery{From: lost, LostBytes: 100, Err: done[1].Err}, done[1])
	r, err := mcap.Open(to)
	require.NoError(t, err)
	assert.Len(t, r.Files(), 2)
	assert.Len(t, all(t, r), 61, "the frames once")
	require.NoError(t, r.Close())

	for _, name := range []string{"bag_0.mcap", "bag_2.mcap"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bag", name), make([]byte, 100), 0o666))
	}
	_, err = mcap.Recover(filepath.Join(dir, "bag"), filepath.Join(dir, "nothing"))
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
	assert.NoDirExists(t, filepath.Join(dir, "nothing"))
}

func TestRecoverOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	path := record(t, dir, "a.mcap", 1)
	_, err := mcap.Recover(path, path)
	assert.ErrorIs(t, err, os.ErrExist)
	_, err = mcap.Recover(filepath.Join(dir, "no.mcap"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = mcap.Recover(dir, dir)
	assert.ErrorIs(t, err, os.ErrExist)
}

// TestRecoverOfASplitRecordingNamesItsLastFile: each is recovered by its own name.
func TestRecoverOfASplitRecordingNamesItsLastFile(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "a.mcap?split_time=3s")
	_, err := mcap.Recover(filepath.Join(dir, "a.mcap"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "a_3.mcap"))
}

// record records n scans and n pictures and returns the path of the file.
func record(t *testing.T, dir, connection string, n int) string {
	t.Helper()
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir})
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for seq := range n {
		require.NoError(t, points(t.Context(), bridgetest.PointCloud(seq)))
		require.NoError(t, image(t.Context(), bridgetest.Image(seq)))
	}
	require.NoError(t, b.Close(t.Context()))
	return filepath.Join(dir, "a.mcap")
}
