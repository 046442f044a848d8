package mcap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// bag is rosbag2's metadata as its own reader takes it (rosbag2_storage,
// yaml.hpp): each key is looked up by this name.
type bag struct {
	Version           int
	StorageIdentifier string                       `yaml:"storage_identifier"`
	Duration          struct{ Nanoseconds uint64 } `yaml:"duration"`
	StartingTime      struct {
		NanosecondsSinceEpoch uint64 `yaml:"nanoseconds_since_epoch"`
	} `yaml:"starting_time"`
	MessageCount uint64 `yaml:"message_count"`
	Topics       []struct {
		Metadata struct {
			Name, Type          string
			SerializationFormat string  `yaml:"serialization_format"`
			QoS                 any     `yaml:"offered_qos_profiles"`
			Hash                *string `yaml:"type_description_hash"`
		} `yaml:"topic_metadata"`
		MessageCount uint64 `yaml:"message_count"`
	} `yaml:"topics_with_message_count"`
	CompressionFormat *string  `yaml:"compression_format"`
	CompressionMode   *string  `yaml:"compression_mode"`
	RelativeFilePaths []string `yaml:"relative_file_paths"`
	Files             []struct {
		Path         string
		StartingTime struct {
			NanosecondsSinceEpoch uint64 `yaml:"nanoseconds_since_epoch"`
		} `yaml:"starting_time"`
		Duration     struct{ Nanoseconds uint64 }
		MessageCount uint64 `yaml:"message_count"`
	}
	CustomData any     `yaml:"custom_data"`
	Distro     *string `yaml:"ros_distro"`
}

// decodeStrictly fails on keys that v doesn't have.
func decodeStrictly(t *testing.T, text []byte, v any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	require.NoError(t, d.Decode(v), "%s", text)
}

func parseBag(t *testing.T, text []byte) bag {
	t.Helper()
	var doc struct {
		Bag bag `yaml:"rosbag2_bagfile_information"`
	}
	decodeStrictly(t, text, &doc)
	return doc.Bag
}

// qos is one entry of offered_qos_profiles.
type qos struct {
	History, Depth, Reliability, Durability, Liveliness any
	Deadline, Lifespan                                  struct{ Sec, Nsec uint64 }
	Lease                                               struct{ Sec, Nsec uint64 } `yaml:"liveliness_lease_duration"`
	Avoid                                               *bool                      `yaml:"avoid_ros_namespace_conventions"`
}

func parseQoS(t *testing.T, text []byte) qos {
	t.Helper()
	var list []qos
	decodeStrictly(t, text, &list)
	require.Len(t, list, 1)
	unset := struct{ Sec, Nsec uint64 }{9223372036, 854775807}
	assert.Equal(t, unset, list[0].Deadline)
	assert.Equal(t, unset, list[0].Lifespan)
	assert.Equal(t, unset, list[0].Lease)
	require.NotNil(t, list[0].Avoid)
	assert.False(t, *list[0].Avoid)
	return list[0]
}

func readBag(t *testing.T, options string) bag {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(drive(t, "bag"+options, bridges.Run{}), "bag", "metadata.yaml"))
	require.NoError(t, err)
	m := parseBag(t, text)
	assert.Equal(t, "mcap", m.StorageIdentifier)
	assert.EqualValues(t, 29*bridgetest.Period+1, m.Duration.Nanoseconds)
	assert.EqualValues(t, 7_000_000, m.StartingTime.NanosecondsSinceEpoch)
	assert.EqualValues(t, 60, m.MessageCount)
	assert.Equal(t, []string{"bag_0.mcap"}, m.RelativeFilePaths)
	require.Len(t, m.Files, 1)
	assert.Equal(t, "bag_0.mcap", m.Files[0].Path)
	assert.Equal(t, m.StartingTime.NanosecondsSinceEpoch, m.Files[0].StartingTime.NanosecondsSinceEpoch)
	assert.Equal(t, m.Duration.Nanoseconds, m.Files[0].Duration.Nanoseconds)
	assert.EqualValues(t, 60, m.Files[0].MessageCount)
	require.NotNil(t, m.CompressionFormat)
	require.NotNil(t, m.CompressionMode)
	require.Len(t, m.Topics, 3)
	for i, want := range []struct {
		name, typ string
		count     uint64
		hash      string // as ROS 2 Jazzy's packages have it
	}{
		{"/points", "sensor_msgs/msg/PointCloud2", 30, "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"},
		{"/camera/image", "sensor_msgs/msg/Image", 30, "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"},
		{"/tf_static", "tf2_msgs/msg/TFMessage", 0, "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
	} {
		topic := m.Topics[i]
		assert.Equal(t, want.name, topic.Metadata.Name)
		assert.Equal(t, want.typ, topic.Metadata.Type)
		assert.Equal(t, "cdr", topic.Metadata.SerializationFormat)
		assert.Equal(t, want.count, topic.MessageCount)
		require.NotNil(t, topic.Metadata.Hash)
		assert.Equal(t, want.hash, *topic.Metadata.Hash)
	}
	return m
}

func TestMetadataForHumble(t *testing.T) {
	m := readBag(t, "")
	assert.Equal(t, 5, m.Version)
	assert.Nil(t, m.Distro)
	for i, want := range []qos{
		{History: 1, Depth: 5, Reliability: 2, Durability: 2},
		{History: 1, Depth: 10, Reliability: 1, Durability: 2},
		{History: 1, Depth: 1, Reliability: 1, Durability: 1},
	} {
		text, ok := m.Topics[i].Metadata.QoS.(string)
		require.True(t, ok, "a string of YAML, not a list")
		got := parseQoS(t, []byte(text))
		assert.Equal(t, []any{want.History, want.Depth, want.Reliability, want.Durability, 1},
			[]any{got.History, got.Depth, got.Reliability, got.Durability, got.Liveliness})
	}
}

func TestMetadataForJazzy(t *testing.T) {
	m := readBag(t, "?metadata=9")
	assert.Equal(t, 9, m.Version)
	require.NotNil(t, m.Distro)
	assert.Nil(t, m.CustomData)
	for i, want := range [][]any{
		{"keep_last", 5, "best_effort", "volatile", "automatic"},
		{"keep_last", 10, "reliable", "volatile", "automatic"},
		{"keep_last", 1, "reliable", "transient_local", "automatic"},
	} {
		list, ok := m.Topics[i].Metadata.QoS.([]any)
		require.True(t, ok, "a list, not a string")
		text, err := yaml.Marshal(list)
		require.NoError(t, err)
		got := parseQoS(t, text)
		assert.Equal(t, want, []any{got.History, got.Depth, got.Reliability, got.Durability, got.Liveliness})
	}
}

// TestDeadlineIsRecorded: what is promised is in the file and in metadata.yaml, and comes
// back.
func TestDeadlineIsRecorded(t *testing.T) {
	promised := flow.SensorDataQoS
	promised.Deadline = 1_250_000_000
	for _, version := range []string{"5", "9"} {
		dir := t.TempDir()
		b := open(t, mcap.Factory{}, "bag?metadata="+version, bridges.Env{OutDir: dir})
		_, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu", QoS: promised})
		require.NoError(t, err)
		_, err = bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		clock, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
		require.NoError(t, err)
		require.NoError(t, clock(t.Context(), &sample.Clock{}))
		require.NoError(t, b.Close(t.Context()))
		text, err := os.ReadFile(filepath.Join(dir, "bag", "metadata.yaml"))
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(text), "nsec: 250000000"))
		r, err := mcap.Open(filepath.Join(dir, "bag"))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		got := map[string]flow.QoS{}
		for _, topic := range r.Topics() {
			got[topic.Name] = topic.QoS
		}
		assert.Equal(t, map[string]flow.QoS{"/imu": promised, "/clock": flow.ClockQoS}, got, version)
	}
}

func TestMetadataOfAnEmptyRecording(t *testing.T) {
	dir := t.TempDir()
	b := open(t, mcap.Factory{}, "bag", bridges.Env{OutDir: dir})
	require.NoError(t, b.Connect(t.Context()))
	require.NoError(t, b.Close(t.Context()))
	text, err := os.ReadFile(filepath.Join(dir, "bag", "metadata.yaml"))
	require.NoError(t, err)
	m := parseBag(t, text)
	assert.Zero(t, m.MessageCount)
	assert.Empty(t, m.Topics)
	assert.Empty(t, readFile(t, filepath.Join(dir, "bag", "bag_0.mcap")).messages)
}
