package mcap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// envRecorder has the connection string of a test binary that is to record without end.
const envRecorder = "RAYBRIDGE_TEST_RECORDER"

func TestMain(m *testing.M) {
	if connection := os.Getenv(envRecorder); connection != "" {
		if err := recordForEver(connection); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// recordForEver records scans and one set of static frames until the process is killed,
// and prints how many scans were recorded.
func recordForEver(connection string) error {
	b, err := bridges.MustRegistry(mcap.Factory{}).Open("mcap:"+connection, bridges.Env{})
	if err != nil {
		return err
	}
	static, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	if err != nil {
		return err
	}
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.SensorDataQoS})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := b.Connect(ctx); err != nil {
		return err
	}
	if err := static(ctx, frames()); err != nil {
		return err
	}
	for seq := 0; ; seq++ {
		if err := points(ctx, bridgetest.PointCloud(seq)); err != nil {
			return err
		}
		if (seq+1)%100 == 0 {
			fmt.Println("recorded", seq+1)
		}
	}
}

// frames is a set of static frames.
func frames() *sample.Transforms {
	return &sample.Transforms{Static: true, Stamp: 5, Transforms: []sample.Transform{
		{Header: sample.Header{Stamp: 5, FrameID: "base_link"}, ChildFrameID: "lidar"},
	}}
}

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

func (c *clock) Now() simtime.Stamp { return simtime.Stamp(c.now) }

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
	dir := drive(t, "a.mcap", bridges.Run{Version: "1.2.3", Scene: "city", Rig: "demo", Device: "host", Seed: 42})
	r := readFile(t, filepath.Join(dir, "a.mcap"))
	assert.Equal(t, "ros2", r.info.Header.Profile)
	assert.Equal(t, "raybridge 1.2.3", r.info.Header.Library)
	assert.Equal(t, []map[string]string{{"version": "1.2.3", "scene": "city", "rig": "demo", "device": "host", "seed": "42"}}, r.metadata)
	weathered := readFile(t, filepath.Join(drive(t, "a.mcap", bridges.Run{Version: "1.2.3", Weather: `{"rain":5}`}), "a.mcap"))
	assert.Equal(t, []map[string]string{{"version": "1.2.3", "scene": "", "rig": "", "device": "", "seed": "0", "weather": `{"rain":5}`}}, weathered.metadata)
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
			want = encode.CDR.Encoder().Append(nil, &cloud)
		} else {
			assert.Equal(t, "/camera/image", m.topic)
			assert.EqualValues(t, seq*bridgetest.Period+7_000_001, m.LogTime)
			var image ros.Image
			require.NoError(t, rossample.Image(&image, bridgetest.Image(seq)))
			want = encode.CDR.Encoder().Append(nil, &image)
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
	require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 5}))
	assert.ErrorIs(t, publish(t.Context(), &sample.Clock{Stamp: -5}), bridges.ErrConvert)
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
	assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
}

// mood is a message type that raybridge knows nothing of.
type mood struct {
	At   int64
	Word string
}

func (m *mood) Captured() simtime.Stamp { return simtime.Stamp(m.At) }

func TestTypesOfOnesOwn(t *testing.T) {
	registry, err := bridges.NewRegistry(mcap.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("mcap")
	require.NoError(t, err)
	schema := bridges.Schema{Name: "example.Mood", Encoding: "jsonschema", Data: []byte(`{"type":"object"}`), MessageEncoding: "json"}
	encode := func(dst []byte, m *mood) ([]byte, error) {
		text, err := json.Marshal(m)
		return append(dst, text...), err
	}
	codec := bridges.Codec[*mood]{Schema: schema, Append: encode}
	require.NoError(t, codec.Register(plugin))
	require.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)

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

func TestACodecsMD5StandsBesideItsMessages(t *testing.T) {
	registry, err := bridges.NewRegistry(mcap.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("mcap")
	require.NoError(t, err)
	const sum = "0123456789abcdef0123456789abcdef" // of a definition that raybridge doesn't know
	require.NoError(t, bridges.Codec[*mood]{
		Schema: bridges.Schema{Name: "example/Mood", Encoding: "ros1msg", Data: []byte("string word\n"), MessageEncoding: "ros1", MD5: sum},
		Append: func(dst []byte, m *mood) ([]byte, error) { return append(dst, m.Word...), nil },
	}.Register(plugin))

	dir := t.TempDir()
	b, err := registry.Open("mcap:moods.mcap?profile=ros1", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*mood](b, bridges.Topic{Name: "/mood"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &mood{At: 3, Word: "fine"}))
	require.NoError(t, b.Close(t.Context()))
	r := readFile(t, filepath.Join(dir, "moods.mcap"))
	require.Len(t, r.info.Channels, 1)
	for _, c := range r.info.Channels {
		assert.Equal(t, map[string]string{"topic": "/mood", "md5sum": sum, "latching": "false"}, c.Metadata)
	}
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
		if err := publish(ctx, &sample.Imu{Header: sample.Header{Stamp: simtime.Stamp(int64(i) * 10_000_000), FrameID: "imu"}}); err != nil {
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
			fmt.Println(m.Topic, imu.FrameID, imu.Stamp)
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
	if err := publish(ctx, &sample.Clock{Stamp: 1_500_000_000}); err != nil {
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

// ExampleFactory_open measures what encoding costs without a disk.
func ExampleFactory_open() {
	discard := func(string) (bridges.Target, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) }
	registry := bridges.MustRegistry(mcap.Factory{Open: discard})
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
	if err := publish(ctx, &sample.Clock{Stamp: 1_500_000_000}); err != nil {
		panic(err)
	}
	if err := b.Close(ctx); err != nil {
		panic(err)
	}
	_, err = os.Stat("drive.mcap")
	fmt.Println(b.Statistics().Messages, "message, file made:", err == nil)
	// Output: 1 message, file made: false
}

func TestTopicNamesAreTheProfiles(t *testing.T) {
	names := []string{"image", "/1st/image", "/a//b", "/a-b", "/a__b"}
	for profile, want := range map[string]struct {
		says   string
		refuse []string
	}{
		"":                  {"ROS 2 wants", names},
		"?profile=ros1":     {"profile=ros1 wants ROS 1's", names[:4]},
		"?profile=foxglove": {"", nil},
	} {
		for _, name := range names {
			early := open(t, mcap.Factory{}, "a.mcap"+profile, bridges.Env{OutDir: t.TempDir()})
			_, err := bridges.AddPublisher[*sample.Image](early, bridges.Topic{Name: name})
			require.NoError(t, err, "the profile isn't known yet")
			late := open(t, mcap.Factory{}, "a.mcap"+profile, bridges.Env{OutDir: t.TempDir()})
			require.NoError(t, late.Connect(t.Context()))
			_, err = bridges.AddPublisher[*sample.Image](late, bridges.Topic{Name: name})
			for _, err := range []error{early.Connect(t.Context()), err} {
				if !slices.Contains(want.refuse, name) {
					require.NoError(t, err, name)
					continue
				}
				require.ErrorIs(t, err, bridges.ErrTopicName, name)
				assert.ErrorContains(t, err, want.says)
			}
		}
	}
}

// differences lists the fields of two samples, by their paths without indexes, that differ;
// headers aside.
func differences(path string, want, got reflect.Value) []string {
	switch want.Kind() {
	case reflect.Pointer:
		return differences(path, want.Elem(), got.Elem())
	case reflect.Struct:
		var list []string
		for i := range want.NumField() {
			f := want.Type().Field(i)
			if f.Type == reflect.TypeFor[sample.Header]() {
				continue
			}
			name := f.Name
			if path != "" {
				name = path + "." + name
			}
			list = append(list, differences(name, want.Field(i), got.Field(i))...)
		}
		return list
	case reflect.Slice, reflect.Array:
		if want.Len() != got.Len() {
			return []string{path}
		}
		var list []string
		for i := range want.Len() {
			for _, d := range differences(path, want.Index(i), got.Index(i)) {
				if !slices.Contains(list, d) {
					list = append(list, d)
				}
			}
		}
		return list
	case reflect.Float32, reflect.Float64:
		if math.Abs(want.Float()-got.Float()) > 1e-3*math.Abs(want.Float()) {
			return []string{path}
		}
		return nil
	}
	if want.Equal(got) {
		return nil
	}
	return []string{path}
}

// groundTruth are the samples that say what is so, which no sensor measures, as far as
// recordings have them.
var groundTruth = []reflect.Type{
	reflect.TypeFor[*sample.Detections2D](), reflect.TypeFor[*sample.Detections3D](), reflect.TypeFor[*sample.Signals](),
	reflect.TypeFor[*sample.RadarObjects](), reflect.TypeFor[*sample.Radar](), reflect.TypeFor[*sample.Collision](), reflect.TypeFor[*sample.LaneInvasion](),
	reflect.TypeFor[*sample.Obstacle](), reflect.TypeFor[*sample.Snapshot](), reflect.TypeFor[*sample.LaneMarks](), reflect.TypeFor[*sample.InsStatus](),
}

// TestWhatMessagesLackOfGroundTruth records a sample of each kind of ground truth with a value
// in every field. What comes back without its value is what Lacks says.
func TestWhatMessagesLackOfGroundTruth(t *testing.T) {
	types := map[string]bool{}
	for _, profile := range []string{"ros2", "ros1", "foxglove"} {
		for _, typ := range groundTruth {
			t.Run(profile+" "+typ.Elem().Name(), func(t *testing.T) {
				dir := t.TempDir()
				b := open(t, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
				require.NoError(t, b.Connect(t.Context()))
				publish, err := bridges.AddPublisherOf(b, typ, bridges.Topic{Name: "/truth"})
				require.NoError(t, err)
				want := bridgetest.Filled(typ)
				if signals, ok := want.(*sample.Signals); ok { // a state and its name are one
					for i, state := range []world.SignalState{world.SignalYellow, world.SignalGreen, world.SignalOff} {
						signals.Signals[i].State, signals.Signals[i].Label = state, []string{"yellow", "green", "off"}[i]
					}
				}
				require.NoError(t, publish(t.Context(), want))
				require.NoError(t, b.Close(t.Context()))
				r, err := mcap.Open(filepath.Join(dir, "a.mcap"))
				require.NoError(t, err)
				defer r.Close()
				topic := r.Topics()[0]
				m, err := r.Next()
				require.NoError(t, err)
				types[topic.Type] = true
				if reflect.TypeOf(m.Sample) != typ {
					t.Logf("%s is read as %T", topic.Type, m.Sample)
					return
				}
				assert.ElementsMatch(t, differences("", reflect.ValueOf(want), reflect.ValueOf(m.Sample)), mcap.Lacks(topic.Type, typ), "%s", topic.Type)
			})
		}
	}
	assert.Greater(t, len(types), 8)
}

// definitions counts the Schema and Channel records of a file, by kind and id: those of the
// data section and those of the summary.
func definitions(t *testing.T, path string) (data, summary map[string]int) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	lexer, err := foxglove.NewLexer(bytes.NewReader(file), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	data, summary = map[string]int{}, map[string]int{}
	section := data
	for {
		token, record, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return data, summary
		}
		require.NoError(t, err)
		switch token {
		case foxglove.TokenSchema:
			s, err := foxglove.ParseSchema(record)
			require.NoError(t, err)
			section[fmt.Sprint("schema ", s.ID, s.Name)]++
		case foxglove.TokenChannel:
			c, err := foxglove.ParseChannel(record)
			require.NoError(t, err)
			section[fmt.Sprint("channel ", c.ID, c.Topic)]++
		case foxglove.TokenDataEnd:
			section = summary
		}
	}
}

// TestDefinitionsAreWrittenOnce: no file has what mcap's doctor complains of, schemas and
// channels that the data section has twice. Files are of many chunks, split, cut back, or have
// late topics. Topics of one type share its schema.
func TestDefinitionsAreWrittenOnce(t *testing.T) {
	for _, connection := range []string{"a.mcap?chunk=500", "a.mcap?chunk=500&split=20KB", "bag?chunk=500", "a.mcap?profile=ros1&chunk=500", "a.mcap?profile=foxglove&chunk=500"} {
		t.Run(connection, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir})
			require.NoError(t, b.Connect(t.Context()))
			for topic := range 3 {
				image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: fmt.Sprintf("/image%d", topic)})
				require.NoError(t, err)
				for seq := range 20 {
					require.NoError(t, image(t.Context(), bridgetest.Image(20*topic+seq)))
				}
			}
			require.NoError(t, b.Close(t.Context()))
			var files []string
			for _, pattern := range []string{"*.mcap", "bag/*.mcap"} {
				found, err := filepath.Glob(filepath.Join(dir, pattern))
				require.NoError(t, err)
				files = append(files, found...)
			}
			require.NotEmpty(t, files)
			for _, path := range files {
				data, summary := definitions(t, path)
				assert.Equal(t, summary, data)
				schemas := 0
				for what, n := range data {
					assert.Equal(t, 1, n, "%s of %s", what, path)
					if strings.HasPrefix(what, "schema ") {
						schemas++
					}
				}
				assert.Equal(t, 1, schemas, "schemas of %s: %v", path, data)
			}
		})
	}
}
