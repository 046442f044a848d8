package mcap_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// split records static frames and 100 scans at 10 Hz and returns the bridge.
func split(t *testing.T, dir, connection string) *bridges.Bridge {
	t.Helper()
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir})
	static, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for seq := range 100 {
		require.NoError(t, points(t.Context(), bridgetest.PointCloud(seq)))
		if seq == 0 {
			require.NoError(t, static(t.Context(), frames()))
		}
	}
	require.NoError(t, b.Close(t.Context()))
	return b
}

func TestSplitByTime(t *testing.T) {
	dir := t.TempDir()
	b := split(t, dir, "bag?split_time=3s")
	assert.EqualValues(t, 101, b.Statistics().Messages, "what is repeated was sent once")
	text, err := os.ReadFile(filepath.Join(dir, "bag", "metadata.yaml"))
	require.NoError(t, err)
	m := parseBag(t, text)
	assert.Equal(t, []string{"bag_0.mcap", "bag_1.mcap", "bag_2.mcap", "bag_3.mcap"}, m.RelativeFilePaths)
	assert.EqualValues(t, 99*bridgetest.Period, m.Duration.Nanoseconds)
	assert.Zero(t, m.StartingTime.NanosecondsSinceEpoch)
	assert.EqualValues(t, 104, m.MessageCount)
	var first []byte
	for i, f := range m.Files {
		r := readFile(t, filepath.Join(dir, "bag", f.Path))
		assert.Len(t, r.info.Channels, 3, "also the topic without messages")
		assert.Len(t, r.info.Schemas, 3)
		assert.EqualValues(t, len(r.messages), f.MessageCount)
		assert.Equal(t, r.info.Statistics.MessageStartTime, f.StartingTime.NanosecondsSinceEpoch)
		assert.Equal(t, r.info.Statistics.MessageEndTime-r.info.Statistics.MessageStartTime, f.Duration.Nanoseconds)
		assert.EqualValues(t, i*30*bridgetest.Period, f.StartingTime.NanosecondsSinceEpoch)
		latched, scan := r.messages[0], r.messages[1]
		if i == 0 {
			latched, scan = scan, latched
		}
		assert.Equal(t, "/tf_static", latched.topic, "the frames come first")
		assert.EqualValues(t, 5, latched.PublishTime, "with their own stamp")
		assert.EqualValues(t, 1, latched.Sequence)
		if i == 0 {
			first = latched.Data
		}
		assert.Equal(t, first, latched.Data)
		assert.EqualValues(t, i*30+1, scan.Sequence, "numbers go on")
	}
	counts := map[string]uint64{}
	for _, topic := range m.Topics {
		counts[topic.Metadata.Name] = topic.MessageCount
	}
	assert.Equal(t, map[string]uint64{"/tf_static": 4, "/points": 100, "/imu": 0}, counts)
}

func TestSplitBySize(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "a.mcap?split=60KB&compression=none&chunk=20KiB")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 4, "100 scans of 2.1 kB")
	for i := range files {
		path := filepath.Join(dir, "a_"+strconv.Itoa(i)+".mcap")
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Less(t, info.Size(), int64(90_000), "at most a chunk and the summary more than the size")
		r := readFile(t, path)
		assert.Equal(t, "/tf_static", r.messages[max(1-i, 0)].topic, "first, but in the file where it was new")
		if i < len(files)-1 {
			assert.Greater(t, info.Size(), int64(60_000))
		}
	}
}

// TestASplitRecordingReadsAsOne: nothing is read twice, whatever was repeated.
func TestASplitRecordingReadsAsOne(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=3s")
	split(t, dir, "a.mcap?split_time=700ms")
	for _, path := range []string{"bag", "a.mcap"} {
		r, err := mcap.Open(filepath.Join(dir, path))
		require.NoError(t, err)
		counts, last := map[string]int{}, int64(-1)
		for _, m := range all(t, r) {
			counts[m.Topic]++
			assert.GreaterOrEqual(t, m.Logged, simtime.Stamp(last))
			last = int64(m.Logged)
		}
		assert.Equal(t, map[string]int{"/tf_static": 1, "/points": 100}, counts, path)
		start, end := r.Span()
		assert.Equal(t, []int64{0, 99 * bridgetest.Period}, []int64{int64(start), int64(end)})
		require.NoError(t, r.Close())
	}
}

// TestPartsReadAsOne: several files are one recording, in whatever order they are named.
func TestPartsReadAsOne(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=3s")
	split(t, dir, "once.mcap")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "begun.mcap"), nil, 0o666))
	require.NoError(t, os.Symlink(filepath.Join(dir, "bag", "bag_1.mcap"), filepath.Join(dir, "link.mcap")))
	const part = 30 // messages of /points in each but the last
	for name, c := range map[string]struct {
		paths  []string
		files  int
		points int
		mixed  bool
	}{
		"backwards":       {[]string{"bag/bag_3.mcap", "bag/bag_2.mcap", "bag/bag_1.mcap", "bag/bag_0.mcap"}, 4, 100, false},
		"with a gap":      {[]string{"bag/bag_0.mcap", "bag/bag_2.mcap"}, 2, 2 * part, false},
		"one twice":       {[]string{"bag/bag_0.mcap", "link.mcap", "bag/bag_1.mcap", "bag/../bag/bag_0.mcap"}, 2, 2 * part, false},
		"one of nothing":  {[]string{"bag/bag_0.mcap", "begun.mcap"}, 1, part, false},
		"and its folder":  {[]string{"bag", "bag/bag_1.mcap"}, 4, 100, false},
		"another of them": {[]string{"bag", "once.mcap"}, 5, 200, true},
	} {
		paths := make([]string, len(c.paths))
		for i, path := range c.paths {
			paths[i] = filepath.Join(dir, path)
		}
		r, err := mcap.Open(paths[0], paths[1:]...)
		require.NoError(t, err, name)
		assert.Len(t, r.Files(), c.files, name)
		first, second := r.Overlap()
		assert.Equal(t, c.mixed, first != "" && second != "", name)
		points, last := 0, int64(-1)
		for _, m := range all(t, r) {
			if m.Topic == "/points" {
				points++
				assert.Equal(t, m.Logged, m.Sample.Captured(), "a gap stays one")
			}
			assert.GreaterOrEqual(t, m.Logged, simtime.Stamp(last), name)
			last = int64(m.Logged)
		}
		assert.Equal(t, c.points, points, name)
		require.NoError(t, r.Close())
	}
	_, err := mcap.Open(filepath.Join(dir, "begun.mcap"), filepath.Join(dir, "begun.mcap"))
	require.ErrorIs(t, err, mcap.ErrNotMCAP)
	_, err = mcap.Open(filepath.Join(dir, "bag"), filepath.Join(dir, "none.mcap"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAnOlderRecordingIsReplaced(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=1s")
	split(t, dir, "bag")
	files, err := filepath.Glob(filepath.Join(dir, "bag", "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "bag", "bag_0.mcap"), filepath.Join(dir, "bag", "metadata.yaml")}, files)
}

// TestASplitRecordingReplacesOneFile: a reader that is given the name must not find the
// older recording.
func TestASplitRecordingReplacesOneFile(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "drive.mcap", 3)
	replaced, err := mcap.Replaces("drive.mcap?split_time=1s", dir)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "drive.mcap")}, replaced)
	split(t, dir, "drive.mcap?split_time=5s")
	assert.NoFileExists(t, filepath.Join(dir, "drive.mcap"))
	r, err := mcap.Open(filepath.Join(dir, "drive.mcap"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "drive_0.mcap"), filepath.Join(dir, "drive_1.mcap")}, r.Files())
	require.NoError(t, r.Close())
	replaced, err = mcap.Replaces("drive.mcap?split=1GB", dir)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{filepath.Join(dir, "drive_0.mcap"), filepath.Join(dir, "drive_1.mcap")}, replaced)
	replaced, err = mcap.Replaces("other", dir)
	require.NoError(t, err)
	assert.Empty(t, replaced)
	_, err = mcap.Replaces("", dir)
	assert.ErrorIs(t, err, bridges.ErrConnectionString)
}

func TestEqualSplitRunsGiveEqualBytes(t *testing.T) { // law T5
	var runs [2]map[string]string
	for i := range runs {
		dir := t.TempDir()
		split(t, dir, "bag?split=30KB&split_time=4s&chunk=5000")
		runs[i] = map[string]string{}
		files, err := filepath.Glob(filepath.Join(dir, "bag", "*"))
		require.NoError(t, err)
		for _, path := range files {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			runs[i][filepath.Base(path)] = string(data)
		}
	}
	require.Greater(t, len(runs[0]), 3)
	assert.Equal(t, runs[0], runs[1])
}

// TestFlushBoundsWhatIsLost: the wall clock closes a chunk whose log time stands still.
func TestFlushBoundsWhatIsLost(t *testing.T) {
	dir := t.TempDir()
	b := open(t, mcap.Factory{}, "a.mcap?flush=1ns", bridges.Env{OutDir: dir, Now: func() simtime.Stamp { return 7 }})
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for range 10 {
		require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 7}))
	}
	// Nothing is closed: this is what a killed process would leave.
	assert.GreaterOrEqual(t, wholeMessages(t, filepath.Join(dir, "a.mcap")), 2)
	require.NoError(t, b.Close(t.Context()))
	assert.Len(t, readFile(t, filepath.Join(dir, "a.mcap")).messages, 10)
}

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
	record := func(capacity int) (*bridgetest.FullDisk, *bridges.Bridge, error) {
		disk := &bridgetest.FullDisk{Capacity: capacity}
		f := mcap.Factory{Open: func(string) (bridges.Target, error) { return disk, nil }}
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
		require.ErrorIs(t, err, flow.ErrWriteFailed, "%d bytes", capacity)
		assert.ErrorIs(t, b.Err(), flow.ErrWriteFailed)
		assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
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
	disk := &bridgetest.FullDisk{Capacity: 20_000}
	f := mcap.Factory{Open: func(string) (bridges.Target, error) { return disk, nil }}
	dir := t.TempDir()
	b := open(t, f, "bag?chunk=3000&compression=none", bridges.Env{OutDir: dir})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bag"), 0o777))
	require.NoError(t, b.Connect(t.Context()))
	require.ErrorIs(t, fill(t, b, 100), flow.ErrWriteFailed)
	recorded := b.Statistics().Messages
	require.ErrorIs(t, fill(t, b, 1), flow.ErrWriteFailed, "as long as nobody connects again")
	assert.Equal(t, recorded, b.Statistics().Messages)
	assert.ErrorIs(t, b.Close(t.Context()), flow.ErrWriteFailed)
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
	require.ErrorIs(t, err, flow.ErrWriteFailed)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, b.Close(t.Context()), flow.ErrWriteFailed)
	got := readFile(t, filepath.Join(dir, "bag", "bag_0.mcap"))
	assert.EqualValues(t, len(got.messages), b.Statistics().Messages)
	assert.Greater(t, len(got.messages), 10)
}

// TestARemovedRecordingIsALoss: a recording that is removed while it is written, or a part of
// it, fails. It fails at the next chunk or at the end; what is missing is counted as lost.
func TestARemovedRecordingIsALoss(t *testing.T) {
	rename := func(from, to string) func(dir string) error {
		return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	}
	remove := func(path string) func(dir string) error {
		return func(dir string) error { return os.RemoveAll(filepath.Join(dir, path)) }
	}
	truncate := func(path string) func(dir string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, path), 5) }
	}
	for name, c := range map[string]struct {
		connection string
		lose       func(dir string) error
		kept       string // where what isn't lost is
	}{
		"file":                       {"out/a.mcap?chunk=3000", remove("out/a.mcap"), ""},
		"file in one chunk":          {"out/a.mcap", remove("out/a.mcap"), ""},
		"file's folder":              {"out/a.mcap?chunk=3000", remove("out"), ""},
		"truncated file":             {"out/a.mcap?chunk=3000", truncate("out/a.mcap"), ""},
		"truncated first of several": {"out/a.mcap?chunk=200&split=600&compression=none", truncate("out/a_0.mcap"), "out/*.mcap"},
		"renamed file":               {"out/a.mcap?chunk=3000", rename("out/a.mcap", "out/b.mcap"), ""},
		"renamed folder of file":     {"out/a.mcap?chunk=3000", rename("out", "other"), ""},
		"replaced file": {"out/a.mcap?chunk=3000", func(dir string) error {
			path := filepath.Join(dir, "out/a.mcap")
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		}, ""},
		"bag":              {"bag?chunk=3000", remove("bag"), ""},
		"file of a bag":    {"bag?chunk=3000", remove("bag/bag_0.mcap"), ""},
		"first of several": {"out/a.mcap?chunk=200&split=600&compression=none", remove("out/a_0.mcap"), "out/*.mcap"},
		"last of several":  {"out/a.mcap?split_time=1000s", remove("out/a_0.mcap"), ""},
		"first of a bag":   {"bag?chunk=200&split=600&compression=none", remove("bag/bag_0.mcap"), "bag"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, c.connection, bridges.Env{OutDir: dir})
			require.NoError(t, b.Connect(t.Context()))
			image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
			require.NoError(t, err)
			const messages = 40
			for seq := range messages {
				if seq == messages/2 {
					require.NoError(t, c.lose(dir))
				}
				if err := image(t.Context(), bridgetest.Image(seq)); err != nil {
					require.ErrorIs(t, err, flow.ErrWriteFailed)
				}
			}
			err = b.Close(t.Context())
			require.ErrorIs(t, err, flow.ErrWriteFailed)
			assert.ErrorContains(t, err, "removed, renamed, replaced or truncated")
			assert.ErrorIs(t, b.Err(), flow.ErrWriteFailed)
			assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
			kept := 0
			if c.kept != "" {
				files, err := filepath.Glob(filepath.Join(dir, c.kept))
				require.NoError(t, err)
				require.NotEmpty(t, files)
				r, err := mcap.Open(files[0], files[1:]...)
				require.NoError(t, err)
				defer r.Close()
				kept = len(all(t, r))
				assert.Positive(t, kept)
			}
			assert.EqualValues(t, kept, b.Statistics().Messages)
			assert.Positive(t, b.Statistics().Drops[flow.CauseWriteFailed])
		})
	}
}
