package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReplayLoopsAtTheRecordingsPace: however few of its messages are replayed.
func TestReplayLoopsAtTheRecordingsPace(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	for _, c := range []struct {
		topics   []string
		duration time.Duration
		passes   int64 // in ten seconds
	}{
		{[]string{"/tf_static"}, 0, 12},                      // of 0.9 s each
		{[]string{"/tf_static"}, 200 * time.Millisecond, 51}, // and of 0.2 s
		{[]string{"/tf_static"}, time.Nanosecond, 1001},      // of 10 ms: it has no time of its own
	} {
		f := &replayFlags{bridges: []string{"mcap:b.mcap"}, rate: 1, out: t.TempDir(), topics: c.topics, duration: c.duration, loop: true, noClock: true}
		cmd := newReplay()
		cmd.SetContext(t.Context())
		s, err := newReplaySession(cmd, []string{path}, f)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		wall := &fakeClock{}
		s.pace = wall.pacer(1)
		sleeper := s.pace.sleep
		s.pace.sleep = func(ctx context.Context, d time.Duration) error {
			if wall.now.Add(d).After(time.Time{}.Add(10 * time.Second)) {
				cancel()
			}
			return sleeper(ctx, d)
		}
		require.NoError(t, s.connect(ctx))
		assert.ErrorIs(t, s.replay(ctx), context.Canceled)
		require.NoError(t, s.close())
		require.NoError(t, s.reader.Close())
		assert.Equal(t, c.passes, s.sent(), c)
	}
}

// TestReplayLoopsNothing: a part without messages ends a loop.
func TestReplayLoopsNothing(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", t.TempDir(), "--topics", "/imu", "--start", "50ms", "--duration", "10ms", "--loop", "--no-clock")
	assert.Equal(t, exitDone, o.code, o.err)
}

// TestReplayOverwritesNothingOfItself: by whichever name, what is replayed stays.
func TestReplayOverwritesNothingOfItself(t *testing.T) {
	t.Parallel()
	for connection, to := range map[string][]string{
		"a.mcap":               {"a.mcap", "a.mcap?profile=ros1", "link.mcap", "a.mcap?split_time=1s"},
		"bag?split_time=300ms": {"bag", "bag?split=1MB"},
	} {
		path := replayable(t, connection, true)
		dir := filepath.Dir(path)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, "link.mcap")))
		for _, bridge := range to {
			o := call(t, "replay", path, "--bridge", "mcap:"+bridge, "--out", dir, "--fast")
			assert.Equal(t, exitUsage, o.code, bridge)
			assert.Contains(t, o.err, "which is to be replayed")
		}
		o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", dir, "--fast")
		require.Equal(t, exitDone, o.code, o.err)
		assert.Len(t, content(t, filepath.Join(dir, "b.mcap")), 31)
	}
}

// TestReplayOfATopicOfTwoTypes: the first is replayed, the other told of.
func TestReplayOfATopicOfTwoTypes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.mcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := foxglove.NewWriter(file, &foxglove.WriterOptions{Chunked: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "std_msgs/msg/Float32", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 2, Name: "rosgraph_msgs/msg/Clock", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/clock", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 2, SchemaID: 2, Topic: "/clock", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: 5, Data: []byte{0, 1, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 2, LogTime: 6, Data: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", t.TempDir(), "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "topic has messages of several types")
	assert.Contains(t, o.out, "/clock  1         *sample.Speed")
}
