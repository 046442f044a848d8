package mcap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
)

// offered is a file with one channel whose quality of service is described so.
func offered(tb testing.TB, description string) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w, err := foxglove.NewWriter(&buf, &foxglove.WriterOptions{})
	require.NoError(tb, err)
	require.NoError(tb, w.WriteHeader(&foxglove.Header{Profile: "ros2"}))
	require.NoError(tb, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "sensor_msgs/msg/Imu", Encoding: "ros2msg"}))
	require.NoError(tb, w.WriteChannel(&foxglove.Channel{
		ID: 1, SchemaID: 1, Topic: "/imu", MessageEncoding: "cdr", Metadata: map[string]string{"offered_qos_profiles": description},
	}))
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

// qosOf returns the quality of service that the reader takes from a description.
func qosOf(tb testing.TB, path, description string) flow.QoS {
	tb.Helper()
	require.NoError(tb, os.WriteFile(path, offered(tb, description), 0o666))
	r, err := mcap.Open(path)
	require.NoError(tb, err)
	defer r.Close()
	require.Len(tb, r.Topics(), 1)
	return r.Topics()[0].QoS
}

func TestQualityOfServiceOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mcap")
	reliable := flow.QoS{Reliability: flow.Reliable, Durability: flow.Volatile, History: flow.KeepLast, Depth: 7}
	promised := reliable
	promised.Deadline = 1_500_000_000
	for description, want := range map[string]flow.QoS{
		"":                         flow.DefaultQoS,
		"no list":                  flow.DefaultQoS,
		"[]":                       flow.DefaultQoS,
		"! 0":                      flow.DefaultQoS, // of which the library panics
		strings.Repeat("[", 1<<20): flow.DefaultQoS,
		"- history: ":              {},
		"- {history: 1, depth: 7, reliability: 1, durability: 2, deadline: {sec: 9223372036, nsec: 854775807}}":              reliable, // Humble
		"- {history: keep_last, depth: 7, reliability: reliable, durability: volatile, deadline: {sec: 1, nsec: 500000000}}": promised, // Jazzy
		"- {history: 1, depth: 7, reliability: 1, durability: 2, deadline: {sec: 2147483647, nsec: 4294967295}}":             reliable, // Foxy
		"- {history: 1, depth: 7, reliability: 1, durability: 2, deadline: {sec: 1, nsec: 4294967295}}":                      reliable,
		"- {history: 9, depth: -7, reliability: best, durability: [1]}":                                                      {},
	} {
		assert.Equal(t, want, qosOf(t, path, description), description)
	}
}

// TestQualityOfServiceOfManyPublishers: a bag has a profile for each of them.
func TestQualityOfServiceOfManyPublishers(t *testing.T) {
	one := "- history: 1\n  depth: 7\n  reliability: 1\n  durability: 2\n"
	got := qosOf(t, filepath.Join(t.TempDir(), "a.mcap"), strings.Repeat(one, 1000))
	assert.Equal(t, flow.QoS{Reliability: flow.Reliable, Durability: flow.Volatile, History: flow.KeepLast, Depth: 7}, got)
}

func FuzzQualityOfService(f *testing.F) {
	f.Add("- history: 1\n  depth: 5\n  reliability: 2\n  durability: 2\n  deadline:\n    sec: 1\n    nsec: 5\n")
	f.Add("- {history: keep_all, depth: 0, reliability: reliable, durability: transient_local}")
	path := filepath.Join(f.TempDir(), "a.mcap")
	f.Fuzz(func(t *testing.T, description string) {
		q := qosOf(t, path, description)
		assert.GreaterOrEqual(t, q.Depth, 0)
		assert.GreaterOrEqual(t, q.Deadline, int64(0))
	})
}

// TestMetadataThatIsNone: what the library can't read is an error.
func TestMetadataThatIsNone(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"rosbag2_bagfile_information: ! 0", "\x00", "rosbag2_bagfile_information: [", strings.Repeat("#", 17<<20), strings.Repeat("[", 100_000)} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "metadata.yaml"), []byte(text), 0o666))
		_, err := mcap.Open(folder)
		assert.Error(t, err)
	}
}

// FuzzMetadata: whatever describes a folder, its files alone are read.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte("rosbag2_bagfile_information:\n  storage_identifier: mcap\n  relative_file_paths:\n    - a.mcap\n    - ../../b.mcap\n"))
	f.Add([]byte("rosbag2_bagfile_information: {storage_identifier: mcap, compression_format: zstd, relative_file_paths: []}"))
	folder := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(folder, "a.mcap"), offered(f, ""), 0o666))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "metadata.yaml"), metadata, 0o666))
		r, err := mcap.Open(folder)
		if err != nil {
			return
		}
		defer r.Close()
		for _, path := range r.Files() {
			assert.Equal(t, folder, filepath.Dir(path))
		}
	})
}
