package mcap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestConformanceOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:    mcap.Factory{},
		Connection: "sub/drive.mcap",
		BadConnections: []string{
			"", "?metadata=5", "bag?profile=ros1", "bag?profile=foxglove", "a.mcap?profile=ros3", "a.mcap?split=0", "a.mcap?split=5XB",
			"a.mcap?split_time=60", "a.mcap?split_time=-1s", "a.mcap?flush=0s", "a.mcap?split=9223372036854775807KB", "/", "a.mcap?metadata=7", "a.mcap?chunk=0", "a.mcap?chunk=big",
			"a.mcap?compression=bz2", "a.mcap?colour=red", "a.mcap?metadata=5&metadata=9", "a.mcap?%zz",
		},
		Count: countBelow,
	})
}

func TestConformanceOfFolders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        mcap.Factory{},
		Connection:     "drive?metadata=9&split_time=300ms&compression=lz4&chunk=100",
		BadConnections: []string{"drive?compression=ZSTD"},
		Count:          countBelow,
	})
}

// clock is a hand-over time that the test sets.
type clock struct{ now int64 }

func (c *clock) Now() int64 { return c.now }

// drive records a fixed series of two topics and returns the output folder.
func drive(t *testing.T, connection string, run bridges.Run) string {
	t.Helper()
	dir := t.TempDir()
	c := &clock{}
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir, Now: c.Now, Run: run})
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/camera/image"})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for seq := range 30 {
		c.now = int64(seq)*bridgetest.Period + 7_000_000
		require.NoError(t, points(t.Context(), bridgetest.PointCloud(seq)))
		c.now++
		require.NoError(t, image(t.Context(), bridgetest.Image(seq)))
	}
	require.NoError(t, b.Close(t.Context()))
	return dir
}

func open(t testing.TB, f bridges.Factory, connection string, env bridges.Env) *bridges.Bridge {
	t.Helper()
	registry, err := bridges.NewRegistry(f)
	require.NoError(t, err)
	b, err := registry.Open("mcap:"+connection, env)
	require.NoError(t, err)
	return b
}

func TestRecordingHasWhatROS2Expects(t *testing.T) {
	dir := drive(t, "a.mcap", bridges.Run{Version: "1.2.3", Scene: "city", Rig: "demo", Seed: 42})
	r := readFile(t, filepath.Join(dir, "a.mcap"))
	assert.Equal(t, "ros2", r.info.Header.Profile)
	assert.Equal(t, "raybridge 1.2.3", r.info.Header.Library)
	assert.Equal(t, []map[string]string{{"version": "1.2.3", "scene": "city", "rig": "demo", "seed": "42"}}, r.metadata)
	assert.Len(t, r.info.Channels, 3, "also the topic without messages")
	require.Len(t, r.messages, 60)

	schema, err := ros.ROS2.Definition("sensor_msgs/msg/PointCloud2")
	require.NoError(t, err)
	for i, m := range r.messages {
		seq := i / 2
		assert.Equal(t, "cdr", m.encoding)
		assert.EqualValues(t, seq+1, m.Sequence)
		assert.EqualValues(t, seq*bridgetest.Period, m.PublishTime, "the capture stamp")
		var want []byte
		if i%2 == 0 {
			assert.Equal(t, "/points", m.topic)
			assert.Equal(t, "sensor_msgs/msg/PointCloud2", m.schema)
			assert.Equal(t, "ros2msg\n"+schema, m.schemaText)
			assert.EqualValues(t, seq*bridgetest.Period+7_000_000, m.LogTime, "the hand-over")
			var cloud ros.PointCloud2
			require.NoError(t, rossample.PointCloud2(&cloud, bridgetest.PointCloud(seq)))
			want = new(cdr.Encoder).Append(nil, &cloud)
		} else {
			assert.Equal(t, "/camera/image", m.topic)
			assert.EqualValues(t, seq*bridgetest.Period+7_000_001, m.LogTime)
			var image ros.Image
			require.NoError(t, rossample.Image(&image, bridgetest.Image(seq)))
			want = new(cdr.Encoder).Append(nil, &image)
		}
		assert.Equal(t, want, m.Data)
	}
	assert.Contains(t, r.messages[0].metadata["offered_qos_profiles"], "- history: 1\n  depth: 5\n  reliability: 2\n  durability: 2\n")
	assert.Contains(t, r.messages[1].metadata["offered_qos_profiles"], "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n")
}

func TestEqualRunsGiveEqualBytes(t *testing.T) { // law T5
	for _, options := range []string{"", "?compression=lz4", "?compression=none", "?chunk=5000", "?metadata=9"} {
		var files [2][]byte
		for i := range files {
			dir := drive(t, "bag"+options, bridges.Run{Seed: 1})
			for _, name := range []string{"bag_0.mcap", "metadata.yaml"} {
				data, err := os.ReadFile(filepath.Join(dir, "bag", name))
				require.NoError(t, err)
				files[i] = append(files[i], data...)
			}
		}
		assert.Equal(t, files[0], files[1], options)
	}
}

func TestChunksCloseBySizeAndByTime(t *testing.T) {
	chunks := func(options string) []int {
		r := readFile(t, filepath.Join(drive(t, "a.mcap"+options, bridges.Run{}), "a.mcap"))
		var list []int
		for _, c := range r.info.ChunkIndexes {
			list = append(list, int(c.MessageEndTime-c.MessageStartTime)/1e6)
			assert.Equal(t, "zstd", string(c.Compression))
		}
		return list
	}
	assert.Equal(t, []int{1000, 1000, 800}, chunks(""), "milliseconds of log time in each chunk")
	assert.Len(t, chunks("?chunk=4000"), 16, "two scans of 2.3 kB and two pictures each; schemas don't count")
}

func TestStampsWithoutHandOver(t *testing.T) {
	dir := t.TempDir()
	b := open(t, mcap.Factory{}, "a.mcap", bridges.Env{OutDir: dir})
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	require.NoError(t, publish(t.Context(), &sample.Clock{StampNs: 5}))
	assert.ErrorIs(t, publish(t.Context(), &sample.Clock{StampNs: -5}), bridges.ErrConvert)
	require.NoError(t, b.Close(t.Context()))
	r := readFile(t, filepath.Join(dir, "a.mcap"))
	require.Len(t, r.messages, 1)
	assert.EqualValues(t, 5, r.messages[0].LogTime)
	assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Drops)
}

func TestBadSamplesAreCountedAndTheRestRecorded(t *testing.T) {
	dir := t.TempDir()
	b := open(t, mcap.Factory{}, "a.mcap", bridges.Env{OutDir: dir})
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	broken := bridgetest.Image(0)
	broken.Data = broken.Data[1:]
	assert.ErrorIs(t, publish(t.Context(), broken), bridges.ErrConvert)
	require.NoError(t, publish(t.Context(), bridgetest.Image(1)))
	require.NoError(t, b.Close(t.Context()))
	assert.Equal(t, 1, countBelow(t, dir)["/image"])
}

func TestRecordingElsewhere(t *testing.T) {
	dir := t.TempDir()
	for connection, file := range map[string]string{
		"a.mcap":                            "out/a.mcap",
		"deep/er/a.mcap":                    "out/deep/er/a.mcap",
		"bag":                               "out/bag/bag_0.mcap",
		"deep/bag/":                         "out/deep/bag/bag_0.mcap",
		filepath.Join(dir, "abs", "b.mcap"): "abs/b.mcap",
		filepath.Join(dir, "abs", "bag"):    "abs/bag/bag_0.mcap",
	} {
		b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: filepath.Join(dir, "out")})
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, b.Close(t.Context()))
		assert.FileExists(t, filepath.Join(dir, file))
	}
	b := open(t, mcap.Factory{}, "a.mcap/below/a/file", bridges.Env{OutDir: filepath.Join(dir, "out")})
	err := b.Connect(t.Context())
	assert.ErrorContains(t, err, "a.mcap")
	assert.Equal(t, bridges.UnexpectedlyDisconnected, b.Status())
}

// mood is a message type that raybridge knows nothing of.
type mood struct {
	At   int64
	Word string
}

func (m *mood) Stamp() int64 { return m.At }

func TestTypesOfOnesOwn(t *testing.T) {
	registry, err := bridges.NewRegistry(mcap.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("mcap")
	require.NoError(t, err)
	schema := mcap.Schema{Name: "example.Mood", Encoding: "jsonschema", Data: []byte(`{"type":"object"}`), MessageEncoding: "json"}
	encode := func(dst []byte, m *mood) ([]byte, error) {
		text, err := json.Marshal(m)
		return append(dst, text...), err
	}
	require.NoError(t, mcap.RegPublisher(plugin, schema, encode))
	require.ErrorIs(t, mcap.RegPublisher(plugin, schema, encode), bridges.ErrDuplicate)

	dir := t.TempDir()
	b, err := registry.Open("mcap:moods", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*mood](b, bridges.Topic{Name: "/mood"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &mood{At: 3, Word: "fine"}))
	require.NoError(t, b.Close(t.Context()))
	r := readFile(t, filepath.Join(dir, "moods", "moods_0.mcap"))
	require.Len(t, r.messages, 1)
	assert.Equal(t, "example.Mood", r.messages[0].schema)
	assert.Equal(t, "json", r.messages[0].encoding)
	assert.JSONEq(t, `{"At":3,"Word":"fine"}`, string(r.messages[0].Data))
	yaml, err := os.ReadFile(filepath.Join(dir, "moods", "metadata.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(yaml), `type: "example.Mood"`)
}

func TestPublishingAllocatesNextToNothing(t *testing.T) {
	for _, options := range []string{"", "?profile=ros1", "?profile=foxglove", "?split=1GB&split_time=1h&flush=1h"} {
		b := open(t, mcap.Factory{}, "a.mcap"+options, bridges.Env{OutDir: t.TempDir()})
		publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		cloud := bridgetest.PointCloud(0)
		ctx := context.Background()
		for range 1000 { // until the library's index has its size
			require.NoError(t, publish(ctx, cloud))
		}
		allocs := testing.AllocsPerRun(2000, func() {
			if err := publish(ctx, cloud); err != nil {
				t.Error(err)
			}
		})
		assert.Zero(t, allocs, "%s: the library's few a chunk make less than one a message", options)
		require.NoError(t, b.Close(ctx))
	}
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "mcap")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	b, err := bridges.MustRegistry(mcap.Factory{}).Open("mcap:drive", bridges.Env{OutDir: dir})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	if err != nil {
		panic(err)
	}
	if err := b.Connect(ctx); err != nil {
		panic(err)
	}
	for i := range 3 {
		if err := publish(ctx, &sample.Imu{Header: sample.Header{StampNs: int64(i) * 10_000_000, FrameID: "imu"}}); err != nil {
			panic(err)
		}
	}
	if err := b.Close(ctx); err != nil {
		panic(err)
	}

	recording, err := mcap.Open(filepath.Join(dir, "drive"))
	if err != nil {
		panic(err)
	}
	defer recording.Close()
	recording.Select(mcap.Selection{FromNs: 10_000_000})
	for {
		m, err := recording.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		if imu, ok := m.Sample.(*sample.Imu); ok {
			fmt.Println(m.Topic, imu.FrameID, imu.StampNs)
		}
	}
	// Output:
	// /imu imu 10000000
	// /imu imu 20000000
}

func ExampleFactory() {
	dir, err := os.MkdirTemp("", "mcap")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	registry := bridges.MustRegistry(mcap.Factory{})
	b, err := registry.Open("mcap:drive", bridges.Env{OutDir: dir})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := b.Connect(ctx); err != nil {
		panic(err)
	}
	if err := publish(ctx, &sample.Clock{StampNs: 1_500_000_000}); err != nil {
		panic(err)
	}
	if err := b.Close(ctx); err != nil {
		panic(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "drive", "*"))
	for _, f := range files {
		fmt.Println(strings.TrimPrefix(f, dir))
	}
	fmt.Println(b.Statistics().Messages, "message")
	// Output:
	// /drive/drive_0.mcap
	// /drive/metadata.yaml
	// 1 message
}

// ExampleFactoryOn measures what encoding costs without a disk.
func ExampleFactoryOn() {
	discard := func(string) (mcap.Target, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) }
	registry := bridges.MustRegistry(mcap.FactoryOn{Open: discard})
	b, err := registry.Open("mcap:drive.mcap?compression=none", bridges.Env{})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := b.Connect(ctx); err != nil {
		panic(err)
	}
	if err := publish(ctx, &sample.Clock{StampNs: 1_500_000_000}); err != nil {
		panic(err)
	}
	if err := b.Close(ctx); err != nil {
		panic(err)
	}
	_, err = os.Stat("drive.mcap")
	fmt.Println(b.Statistics().Messages, "message, file made:", err == nil)
	// Output: 1 message, file made: false
}
