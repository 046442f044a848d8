package mcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/klauspost/compress/zstd"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	foxglovepb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// recorded is one message as the official reader gives it.
type recorded struct {
	topic, schema, schemaText, encoding string
	metadata                            map[string]string
	foxglove.Message
}

// recording is a whole file.
type recording struct {
	info     *foxglove.Info
	messages []recorded
	metadata []map[string]string
}

// read reads a file with the official reader, once through the index and once from front to
// back with all checksums. It fails if the two disagree.
func read(t *testing.T, data []byte) recording {
	t.Helper()
	reader, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	var r recording
	r.info, err = reader.Info()
	require.NoError(t, err)
	for _, index := range r.info.MetadataIndexes {
		m, err := reader.GetMetadata(index.Offset)
		require.NoError(t, err)
		r.metadata = append(r.metadata, m.Metadata)
	}
	messages, err := reader.Messages(foxglove.UsingIndex(true), foxglove.InOrder(foxglove.FileOrder))
	require.NoError(t, err)
	require.NoError(t, foxglove.Range(messages, func(s *foxglove.Schema, c *foxglove.Channel, m *foxglove.Message) error {
		got := recorded{
			topic: c.Topic, encoding: c.MessageEncoding, metadata: c.Metadata,
			schema: s.Name, schemaText: s.Encoding + "\n" + string(s.Data), Message: *m,
		}
		got.Data = bytes.Clone(m.Data)
		r.messages = append(r.messages, got)
		return nil
	}))
	require.Equal(t, linear(t, data), r.plain(), "index and file order agree")
	require.EqualValues(t, len(r.messages), r.info.Statistics.MessageCount)
	return r
}

func (r recording) plain() []foxglove.Message {
	var list []foxglove.Message
	for _, m := range r.messages {
		list = append(list, m.Message)
	}
	return list
}

// linear reads all messages in the file's order.
func linear(t *testing.T, data []byte) []foxglove.Message {
	t.Helper()
	lexer, err := foxglove.NewLexer(bytes.NewReader(data), &foxglove.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	var list []foxglove.Message
	for {
		token, record, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		if token == foxglove.TokenMessage {
			m, err := foxglove.ParseMessage(record)
			require.NoError(t, err)
			list = append(list, *m)
		}
	}
}

func readFile(t *testing.T, path string) recording {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return read(t, data)
}

// countBelow counts the messages of all recordings below a folder.
func countBelow(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".mcap" {
			for _, m := range readFile(t, path).messages {
				counts[m.topic]++
			}
		}
		return err
	}))
	return counts
}

// all reads what is left of a recording.
func all(t *testing.T, r *mcap.Reader) []mcap.Message {
	t.Helper()
	var list []mcap.Message
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, m)
	}
}

func headerAt(seq int) sample.Header {
	return sample.Header{Stamp: simtime.Stamp(int64(seq)*bridgetest.Period + 123_456_789), Seq: uint64(seq), FrameID: "frame", Pose: spatial.Identity()}
}

// varied are the seq-th samples of topics whose message carries all that is set, in
// every profile.
func varied(seq int) map[string]simtime.Stamped {
	h := headerAt(seq)
	pose := spatial.Pose{Position: mgl64.Vec3{1, float64(seq), 3}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}}
	cloud := &sample.PointCloud{Header: h, Rings: 3, Layout: sample.LayoutXYZIRCAEDT}
	for i := range 3 {
		cloud.Points = append(cloud.Points, sample.Point{
			X: float32(seq), Y: float32(i), Z: 1, Intensity: float32(i), Distance: 2, Azimuth: 0.25, Elevation: 0.5,
			TimeNs: uint32(1000 * i), Ring: uint16(i), Return: 1, Ray: uint32(i),
		})
	}
	return map[string]simtime.Stamped{
		"/points":     cloud,
		"/image":      &sample.Image{Header: h, Width: 2, Height: 1, Step: 6, Encoding: sample.EncodingRGB8, Data: []byte{1, 2, 3, 4, 5, byte(seq)}},
		"/compressed": &sample.CompressedImage{Header: h, Format: "jpeg", Data: []byte{0xff, 0xd8, byte(seq)}},
		"/info": &sample.CameraInfo{
			Header: h, Width: 4, Height: 2, DistortionModel: "plumb_bob", D: []float64{1, 2, 3, 4, 5}, K: [9]float64{1}, R: [9]float64{2}, P: [12]float64{3},
		},
		"/imu":  &sample.Imu{Header: h, Orientation: pose.Orientation, AngularVelocity: mgl64.Vec3{1, 2, 3}, LinearAcceleration: mgl64.Vec3{0, 0, 9.80665}},
		"/fix":  &sample.GnssFix{Header: h, Status: 1, Latitude: 49, Longitude: 8, Altitude: 116, PositionCovariance: [9]float64{1}, PositionCovarianceType: 2},
		"/odom": &sample.Odometry{Header: h, ChildFrameID: "base_link", BodyPose: pose, Twist: spatial.Twist{Linear: mgl64.Vec3{1, 2, 3}}, PoseCovariance: [36]float64{1}},
		"/scan": &sample.LaserScan{Header: h, AngleMin: -1, AngleMax: 1, AngleIncrement: 1, Ranges: []float32{1, 2, 3}, Intensities: []float32{4, 5, 6}},
		"/tf": &sample.Transforms{Stamp: h.Stamp, Transforms: []sample.Transform{
			{Header: sample.Header{Stamp: h.Stamp, FrameID: "map", Pose: spatial.Identity()}, ChildFrameID: "base_link", Relative: pose},
		}},
		"/boxes": &sample.Detections3D{Header: h, Boxes: []sample.Box3D{{ID: 7, Label: "Sedan", Score: 1, Pose: pose, Size: mgl64.Vec3{4, 2, 1.5}}}},
		"/radar": &sample.Radar{Header: h, Detections: []sample.RadarDetection{{Velocity: 3, Depth: 40, Azimuth: 0.5}}},
		"/dvs":   &sample.DvsEvents{Header: h, Events: []sample.DvsEvent{{X: 3, Y: 4, TimeNs: 5, Polarity: true}}},
		"/clock": &sample.Clock{Stamp: h.Stamp},
	}
}

const variedMessages = 5

// recordVaried records the varied topics, with log times 1 ms after the stamps.
func recordVaried(t *testing.T, connection string) string {
	t.Helper()
	dir := t.TempDir()
	c := &clock{}
	b := open(t, mcap.Factory{}, connection, bridges.Env{OutDir: dir, Now: c.Now})
	publishers := map[string]bridges.Publisher[any]{}
	for topic, s := range varied(0) {
		publish, err := bridges.AddPublisherOf(b, reflect.TypeOf(s), bridges.Topic{Name: topic, QoS: flow.SensorDataQoS})
		require.NoError(t, err)
		publishers[topic] = publish
	}
	require.NoError(t, b.Connect(t.Context()))
	for seq := range variedMessages {
		for topic, s := range varied(seq) {
			c.now = int64(s.Captured() + 1_000_000)
			require.NoError(t, publishers[topic](t.Context(), s))
		}
	}
	require.NoError(t, b.Close(t.Context()))
	for _, row := range b.Statistics().Topics {
		assert.Equal(t, wireIn(t, dir, row.Topic), row.Type, "the statistics have the profile's names")
	}
	return dir
}

// wireIn returns the schema of a topic in the file that a folder has.
func wireIn(t *testing.T, dir, topic string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	for _, m := range readFile(t, files[0]).messages {
		if m.topic == topic {
			return m.schema
		}
	}
	return ""
}

// TestSamplesComeBackFromEveryProfile records and reads.
func TestSamplesComeBackFromEveryProfile(t *testing.T) {
	for _, profile := range []string{"ros2", "ros1", "foxglove"} {
		for _, more := range []string{"", "&compression=lz4&chunk=300", "&compression=none"} {
			dir := recordVaried(t, "a.mcap?profile="+profile+more)
			r, err := mcap.Open(filepath.Join(dir, "a.mcap"))
			require.NoError(t, err)
			counts, last := map[string]int{}, int64(0)
			for _, m := range all(t, r) {
				seq := counts[m.Topic]
				counts[m.Topic]++
				want := varied(seq)[m.Topic]
				assert.Equal(t, want, m.Sample, "%s: %s", profile, m.Topic)
				assert.Equal(t, want.Captured(), m.Stamp)
				assert.Equal(t, want.Captured()+1_000_000, m.Logged)
				assert.GreaterOrEqual(t, m.Logged, simtime.Stamp(last))
				if profile != "ros1" {
					assert.Equal(t, flow.SensorDataQoS, m.QoS)
				}
				last = int64(m.Logged)
			}
			for topic, s := range varied(0) {
				assert.Equal(t, variedMessages, counts[topic], "%s: %s", profile, topic)
				found := false
				for _, listed := range r.Topics() {
					if listed.Name == topic {
						found = true
						assert.Equal(t, reflect.TypeOf(s), listed.Sample, topic)
						assert.EqualValues(t, variedMessages, listed.Messages)
					}
				}
				assert.True(t, found, topic)
			}
			assert.Empty(t, r.Skipped())
			require.NoError(t, r.Close())
		}
	}
}

func TestProfilesAreWhatTheRegistrySays(t *testing.T) {
	type kind struct{ message, schema, name string }
	for profile, want := range map[string]struct {
		header string
		points kind
		imu    kind
	}{
		"ros2":     {"ros2", kind{"cdr", "ros2msg", "sensor_msgs/msg/PointCloud2"}, kind{"cdr", "ros2msg", "sensor_msgs/msg/Imu"}},
		"ros1":     {"ros1", kind{"ros1", "ros1msg", "sensor_msgs/PointCloud2"}, kind{"ros1", "ros1msg", "sensor_msgs/Imu"}},
		"foxglove": {"", kind{"protobuf", "protobuf", "foxglove.PointCloud"}, kind{"cdr", "ros2msg", "sensor_msgs/msg/Imu"}},
	} {
		r := readFile(t, filepath.Join(recordVaried(t, "a.mcap?profile="+profile), "a.mcap"))
		assert.Equal(t, want.header, r.info.Header.Profile)
		for topic, k := range map[string]kind{"/points": want.points, "/imu": want.imu} {
			for _, c := range r.info.Channels {
				if c.Topic != topic {
					continue
				}
				s := r.info.Schemas[c.SchemaID]
				assert.Equal(t, k, kind{c.MessageEncoding, s.Encoding, s.Name}, profile)
				if profile == "ros1" {
					assert.Equal(t, topic, c.Metadata["topic"])
					assert.Equal(t, "false", c.Metadata["latching"])
					assert.NotContains(t, c.Metadata, "offered_qos_profiles")
				} else {
					assert.Contains(t, c.Metadata["offered_qos_profiles"], "depth: 5")
				}
			}
		}
	}
	r := readFile(t, filepath.Join(recordVaried(t, "a.mcap?profile=ros1"), "a.mcap"))
	for _, c := range r.info.Channels {
		if c.Topic == "/imu" {
			assert.Equal(t, "6a62c6daae103f4ff57a132d6f95cec2", c.Metadata["md5sum"], "rosmsg md5 sensor_msgs/Imu")
		}
		if c.Topic == "/boxes" {
			assert.Equal(t, "lgsvl_msgs/Detection3DArray", r.info.Schemas[c.SchemaID].Name)
		}
	}
}

func TestSelection(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=3s&chunk=5000")
	r, err := mcap.Open(filepath.Join(dir, "bag"))
	require.NoError(t, err)
	defer r.Close()
	times := func(s mcap.Selection) (topics []string, first, last int64, n int) {
		r.Select(s)
		for i, m := range all(t, r) {
			if i < 2 {
				topics = append(topics, m.Topic)
			}
			if n = i + 1; m.Topic == "/points" {
				if last = int64(m.Logged); first == 0 {
					first = int64(m.Logged)
				}
			}
		}
		return topics, first, last, n
	}
	for range 2 { // one may select again
		topics, first, last, n := times(mcap.Selection{FromNs: 45 * bridgetest.Period, ToNs: 50 * bridgetest.Period})
		assert.Equal(t, []string{"/tf_static", "/points"}, topics, "what latched topics had comes first")
		assert.EqualValues(t, 45*bridgetest.Period, first)
		assert.EqualValues(t, 49*bridgetest.Period, last)
		assert.Equal(t, 6, n)
	}
	topics, _, _, n := times(mcap.Selection{FromNs: 45 * bridgetest.Period, Topics: func(name string) bool { return name == "/points" }})
	assert.Equal(t, []string{"/points", "/points"}, topics)
	assert.Equal(t, 55, n)
}

// foreignFile writes a file with the official writer.
func foreignFile(t *testing.T, opts *foxglove.WriterOptions, write func(w *foxglove.Writer)) string {
	t.Helper()
	var buf bytes.Buffer
	w, err := foxglove.NewWriter(&buf, opts)
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{Profile: "ros2"}))
	write(w)
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "foreign.mcap")
	require.NoError(t, os.WriteFile(path, buf.Bytes(), 0o666))
	return path
}

// TestFilesOfOthers: without chunks, without a summary, out of order, with types that
// nobody knows.
func TestFilesOfOthers(t *testing.T) {
	write := func(w *foxglove.Writer) {
		require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 3, Name: "std_msgs/msg/Float32", Encoding: "ros2msg", Data: []byte("float32 data\n")}))
		require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 4, Name: "their_msgs/msg/Secret", Encoding: "ros2msg"}))
		require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 9, SchemaID: 3, Topic: "/speed", MessageEncoding: "cdr"}))
		require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 8, SchemaID: 4, Topic: "/secret", MessageEncoding: "cdr"}))
		require.NoError(t, w.WriteAttachment(&foxglove.Attachment{Name: "notes", MediaType: "text/plain", DataSize: 5, Data: bytes.NewReader([]byte("hello"))}))
		for _, at := range []uint64{30, 10, 20} {
			require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 9, LogTime: at, PublishTime: at - 1, Data: []byte{0, 1, 0, 0, 0, 0, 128, 63}}))
			require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 8, LogTime: at, Data: []byte{1, 2, 3}}))
		}
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 9, LogTime: 40, Data: []byte{0, 1, 0, 0}}))
	}
	for name, opts := range map[string]*foxglove.WriterOptions{
		"unchunked":      {},
		"chunked":        {Chunked: true, Compression: foxglove.CompressionLZ4, ChunkSize: 1},
		"without index":  {Chunked: true, SkipMessageIndexing: true, SkipChunkIndex: true, Compression: foxglove.CompressionZSTD},
		"without all":    {Chunked: true, SkipMessageIndexing: true, SkipStatistics: true, SkipRepeatedSchemas: true, SkipRepeatedChannelInfos: true, SkipAttachmentIndex: true, SkipMetadataIndex: true, SkipChunkIndex: true, SkipSummaryOffsets: true},
		"not repeated":   {Chunked: true, SkipRepeatedChannelInfos: true},
		"unchunked, CRC": {IncludeCRC: true},
	} {
		path := foreignFile(t, opts, write)
		r, err := mcap.Open(path)
		require.NoError(t, err, name)
		assert.Empty(t, r.Unfinished(), name)
		var got []string
		for _, m := range all(t, r) {
			got = append(got, fmt.Sprintf("%s %d %d %v", m.Topic, m.Logged, m.Sample.Captured(), m.Sample.(*sample.Speed).MetresPerSecond))
		}
		assert.Equal(t, []string{"/speed 10 9 1", "/speed 20 19 1", "/speed 30 29 1"}, got, name)
		skipped := r.Skipped()
		require.Len(t, skipped, 2, name)
		assert.ErrorIs(t, skipped[1].Err, mcap.ErrUnknownType)
		assert.EqualValues(t, 3, skipped[1].Messages)
		assert.Contains(t, skipped[1].Err.Error(), "their_msgs/msg/Secret")
		assert.EqualValues(t, 1, skipped[0].Messages, "one is too short")
		require.NoError(t, r.Close())

		done, err := mcap.Recover(path, "")
		require.NoError(t, err, name)
		assert.Zero(t, done[0].LostBytes, name)
	}
}

// mixed writes a file whose messages are in chunks where order has a c, and outside of chunks where
// it has a dot. Their log times are their places. The file isn't finished.
func mixed(t testing.TB, order string) string {
	t.Helper()
	var buf bytes.Buffer
	plain, err := foxglove.NewWriter(&buf, &foxglove.WriterOptions{})
	require.NoError(t, err)
	chunked, err := foxglove.NewWriter(&buf, &foxglove.WriterOptions{Chunked: true, ChunkSize: 1, SkipMagic: true, Compression: foxglove.CompressionZSTD})
	require.NoError(t, err)
	require.NoError(t, plain.WriteHeader(&foxglove.Header{Profile: "ros2"}))
	for _, w := range []*foxglove.Writer{plain, chunked} {
		require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 3, Name: "std_msgs/msg/Float32", Encoding: "ros2msg", Data: []byte("float32 data\n")}))
		require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 9, SchemaID: 3, Topic: "/speed", MessageEncoding: "cdr"}))
	}
	for at, where := range order {
		w := plain
		if where == 'c' {
			w = chunked
		}
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 9, LogTime: uint64(at), PublishTime: uint64(at), Data: []byte{0, 1, 0, 0, 0, 0, 128, 63}}))
	}
	path := filepath.Join(t.TempDir(), "mixed.mcap")
	require.NoError(t, os.WriteFile(path, buf.Bytes(), 0o666))
	return path
}

// TestMessagesInAndOutsideOfChunks: all are read, in the file as it was written and in one that has
// a summary. The summary's chunk indexes tell of those in chunks alone.
func TestMessagesInAndOutsideOfChunks(t *testing.T) {
	for _, order := range []string{"c.c.c.c.c.", ".c.c.c.c.c", "ccccc.....", ".....ccccc", "cc..cc..cc", ".cccccccc.", "c........c", "cccccccccc", ".........."} {
		path := mixed(t, order)
		done, err := mcap.Recover(path, "")
		require.NoError(t, err)
		again, err := mcap.Recover(done[0].To, "")
		require.NoError(t, err)
		assert.Equal(t, []bool{false, true}, []bool{done[0].Complete, again[0].Complete})
		for kind, path := range map[string]string{"unfinished": path, "finished": done[0].To, "recovered again": again[0].To} {
			r, err := mcap.Open(path)
			require.NoError(t, err)
			assert.Equal(t, kind == "unfinished", len(r.Unfinished()) > 0, "%s, %s", order, kind)
			require.Len(t, r.Topics(), 1)
			assert.EqualValues(t, len(order), r.Topics()[0].Messages, "%s, %s", order, kind)
			var times []simtime.Stamp
			for _, m := range all(t, r) {
				times = append(times, m.Logged)
			}
			assert.Equal(t, []simtime.Stamp{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, times, "%s, %s", order, kind)
			r.Select(mcap.Selection{FromNs: 3, ToNs: 7})
			assert.Len(t, all(t, r), 4, "%s, %s", order, kind)
			assert.Empty(t, r.Damaged())
			require.NoError(t, r.Close())
		}
		data, err := os.ReadFile(again[0].To)
		require.NoError(t, err)
		assert.Len(t, linear(t, data), len(order), "as another reader has it")
	}
}

func TestAnotherVersionOfARos1TypeIsUnknown(t *testing.T) {
	path := foreignFile(t, &foxglove.WriterOptions{Chunked: true}, func(w *foxglove.Writer) {
		require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "sensor_msgs/Imu", Encoding: "ros1msg"}))
		require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/imu", MessageEncoding: "ros1", Metadata: map[string]string{"md5sum": "0123", "latching": "1"}}))
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, Data: []byte{1}}))
	})
	r, err := mcap.Open(path)
	require.NoError(t, err)
	defer r.Close()
	assert.Empty(t, all(t, r))
	assert.Equal(t, flow.StaticQoS, r.Topics()[0].QoS)
	assert.ErrorContains(t, r.Skipped()[0].Err, "md5 sum 0123, where 6a62c6daae103f4ff57a132d6f95cec2 is known")
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	_, err := mcap.Open(filepath.Join(dir, "no.mcap"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = mcap.Open(dir)
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
	assert.ErrorContains(t, err, "neither a metadata.yaml that lists files nor a file that ends in .mcap")
	text := filepath.Join(dir, "notes.txt")
	for content, want := range map[string]string{
		"dear diary": "notes.txt: not an MCAP file", "#ROSBAG V2.0\n": "but a bag of ROS 1: convert it with mcap convert",
	} {
		require.NoError(t, os.WriteFile(text, []byte(content), 0o666))
		_, err = mcap.Open(text)
		assert.ErrorIs(t, err, mcap.ErrNotMCAP)
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("rosbag2_bagfile_information: {storage_identifier: sqlite3, relative_file_paths: [a.db3]}"), 0o666))
	_, err = mcap.Open(dir)
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
}

// TestReindexedFolders: ros2 bag reindex leaves the storage empty where it wasn't told one. The files
// say what they are.
func TestReindexedFolders(t *testing.T) {
	for name, c := range map[string]struct{ metadata, file, want string }{
		"empty":           {"{storage_identifier: \"\", compression_format: \"\", relative_file_paths: [a.mcap]}", "a.mcap", ""},
		"null":            {"{storage_identifier: , relative_file_paths: [a.mcap]}", "a.mcap", ""},
		"absent":          {"{relative_file_paths: [/data/bags/trip/a.mcap]}", "a.mcap", ""},
		"no file listed":  {"{storage_identifier: mcap, relative_file_paths: []}", "a.mcap", ""},
		"nothing at all":  {"{}", "a.mcap", ""},
		"another storage": {"{storage_identifier: \"\", relative_file_paths: [a.db3]}", "a.db3", "a.db3: not an MCAP file, but one of rosbag2's sqlite3 storage: convert it with ros2 bag convert, storage_id: mcap"},
		"named so":        {"{storage_identifier: sqlite3, relative_file_paths: [a.db3]}", "a.db3", "sqlite3 storage: convert it with ros2 bag convert, storage_id: mcap"},
		"compressed":      {"{storage_identifier: \"\", compression_format: zstd, relative_file_paths: [a.mcap]}", "a.mcap", `are compressed by rosbag2 ("zstd"): convert it with ros2 bag convert`},
	} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "metadata.yaml"), []byte("rosbag2_bagfile_information: "+c.metadata), 0o666))
		data := []byte("SQLite format 3\x00 and more")
		if c.file == "a.mcap" {
			data = offered(t, "")
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, c.file), data, 0o666))
		r, err := mcap.Open(folder)
		if c.want != "" {
			require.ErrorIs(t, err, mcap.ErrNotMCAP, name)
			assert.ErrorContains(t, err, c.want, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, []string{filepath.Join(folder, "a.mcap")}, r.Files(), name)
		assert.NotEmpty(t, r.Topics(), name)
		require.NoError(t, r.Close())
	}
}

// TestNanosBeyondASecond: writers that round or add up have nanos of a second or more, or negative
// ones. They count on top of the seconds, in each encoding.
func TestNanosBeyondASecond(t *testing.T) {
	for _, c := range []struct {
		seconds int64
		nanos   int32
		want    simtime.Stamp
	}{{1, 1_000_000_000, 2e9}, {1, 2_100_000_000, 3_100_000_000}, {2, -500_000_000, 1_500_000_000}} {
		at := &timestamppb.Timestamp{Seconds: c.seconds, Nanos: c.nanos}
		messages := map[string]proto.Message{
			"foxglove.RawImage": &foxglovepb.RawImage{Timestamp: at},
			"foxglove.PointCloud": &foxglovepb.PointCloud{Timestamp: at, PointStride: 12, Data: make([]byte, 12), Fields: []*foxglovepb.PackedElementField{
				{Name: "x", Type: foxglovepb.PackedElementField_FLOAT32}, {Name: "y", Offset: 4, Type: foxglovepb.PackedElementField_FLOAT32}, {Name: "z", Offset: 8, Type: foxglovepb.PackedElementField_FLOAT32},
			}},
		}
		path := foreignFile(t, &foxglove.WriterOptions{}, func(w *foxglove.Writer) {
			id := uint16(0)
			for name, m := range messages {
				id++
				data, err := proto.Marshal(m)
				require.NoError(t, err)
				require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: id, Name: name, Encoding: "protobuf"}))
				require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: id, SchemaID: id, Topic: "/" + name, MessageEncoding: "protobuf"}))
				require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: id, Data: data}))
			}
			if c.nanos < 0 {
				return // ROS's are unsigned
			}
			header := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, uint32(c.seconds))
			header = binary.LittleEndian.AppendUint32(header, uint32(c.nanos))
			require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 9, Name: "sensor_msgs/msg/Imu", Encoding: "ros2msg"}))
			require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 9, SchemaID: 9, Topic: "/imu", MessageEncoding: "cdr"}))
			require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 9, Data: append(header, make([]byte, 4+4+37*8)...)}))
		})
		r, err := mcap.Open(path)
		require.NoError(t, err)
		list := all(t, r)
		assert.Empty(t, r.Skipped())
		assert.Len(t, list, len(r.Topics()))
		for _, m := range list {
			assert.Equal(t, c.want, m.Sample.Captured(), "%s: %d s and %d ns", m.Topic, c.seconds, c.nanos)
		}
		require.NoError(t, r.Close())
	}
}

// FuzzOpen reads and recovers bytes as a recording. What is recovered is a finished file.
func FuzzOpen(f *testing.F) {
	for _, connection := range []string{"a.mcap", "a.mcap?compression=lz4", "a.mcap?compression=none&chunk=500"} {
		dir := f.TempDir()
		registry := bridges.MustRegistry(mcap.Factory{})
		b, err := registry.Open("mcap:"+connection, bridges.Env{OutDir: dir})
		require.NoError(f, err)
		publish, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
		require.NoError(f, err)
		require.NoError(f, b.Connect(f.Context()))
		for seq := range 4 {
			require.NoError(f, publish(f.Context(), &sample.Imu{Header: headerAt(seq)}))
		}
		require.NoError(f, b.Close(f.Context()))
		data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
		require.NoError(f, err)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	done, err := mcap.Recover(mixed(f, "c.c..c"), "")
	require.NoError(f, err)
	data, err := os.ReadFile(done[0].To)
	require.NoError(f, err)
	f.Add(data)
	dir := f.TempDir()
	path, to := filepath.Join(dir, "fuzz.mcap"), filepath.Join(dir, "whole.mcap")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := mcap.Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		for range 1000 {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			}
		}
		_ = os.Remove(to)
		if _, err := mcap.Recover(path, to); err != nil {
			require.ErrorIs(t, err, mcap.ErrDamaged)
			return
		}
		whole, err := mcap.Open(to)
		require.NoError(t, err)
		defer whole.Close()
		require.Empty(t, whole.Unfinished())
	})
}

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

// sparse writes a finished recording of some kilobytes whose chunks unpack to a megabyte each,
// and returns its path. With all of one time, every chunk is due at once.
func sparse(t *testing.T, chunks int, step uint64) string {
	t.Helper()
	var file bytes.Buffer
	w, err := foxglove.NewWriter(&file, &foxglove.WriterOptions{Chunked: true, ChunkSize: 1, Compression: foxglove.CompressionZSTD})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, Topic: "/a", MessageEncoding: "json"}))
	for i := range chunks {
		require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: uint64(i) * step, Data: make([]byte, 1<<20)}))
	}
	require.NoError(t, w.Close())
	require.Less(t, file.Len(), 64<<10)
	path := filepath.Join(t.TempDir(), "a.mcap")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

// drain reads all messages.
func drain(r *mcap.Reader) error {
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestReadingTakesMemory: chunks are taken from the budget while their messages are due. A
// small file can't have a reader hold all that it unpacks to.
func TestReadingTakesMemory(t *testing.T) {
	t.Run("one after another", func(t *testing.T) {
		budget := memory.New(3 << 20)
		r, err := mcap.Reading{Memory: budget}.Open(sparse(t, 10, 1e9))
		require.NoError(t, err)
		require.NoError(t, drain(r))
		assert.EqualValues(t, 10, r.Skipped()[0].Messages)
		require.NoError(t, r.Close())
		assert.Zero(t, budget.Held())
	})
	t.Run("all at once", func(t *testing.T) {
		budget := memory.New(3 << 20)
		r, err := mcap.Reading{Memory: budget}.Open(sparse(t, 10, 0))
		require.NoError(t, err)
		err = drain(r)
		require.ErrorIs(t, err, memory.ErrExceeded)
		assert.NotErrorIs(t, err, mcap.ErrDamaged)
		require.NoError(t, r.Close())
		assert.Zero(t, budget.Held())

		r, err = mcap.Reading{Memory: memory.New(20 << 20)}.Open(sparse(t, 10, 0))
		require.NoError(t, err)
		require.NoError(t, drain(r))
		require.NoError(t, r.Close())
	})
	t.Run("recovery", func(t *testing.T) {
		path := sparse(t, 3, 1)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data[:len(data)-20], 0o600)) // not finished
		for limit, fits := range map[int64]bool{1 << 20: false, 2 << 20: true} {
			budget := memory.New(limit)
			done, err := mcap.Reading{Memory: budget}.Recover(path, filepath.Join(t.TempDir(), "b.mcap"))
			if assert.Zero(t, budget.Held()); !fits {
				require.ErrorIs(t, err, memory.ErrExceeded)
				continue
			}
			require.NoError(t, err)
			assert.EqualValues(t, 3, done[0].Messages)
		}
	})
	t.Run("a record's claim", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c.mcap")
		file := append(bytes.Clone(foxglove.Magic), byte(foxglove.OpMetadata), 0, 0, 16, 0, 0, 0, 0, 0)
		require.NoError(t, os.WriteFile(path, append(file, make([]byte, 1<<20)...), 0o600))
		_, err := mcap.Reading{Memory: memory.New(1 << 20)}.Open(path)
		require.ErrorIs(t, err, memory.ErrExceeded)
		_, err = mcap.Reading{Memory: memory.New(math.MaxInt64)}.Open(path)
		require.NoError(t, err)
	})
}

// TestAChunkUnpacksToWhatItSays: data that unpack to more than their chunk says, or that say
// so, cost no memory that the budget doesn't know of.
func TestAChunkUnpacksToWhatItSays(t *testing.T) {
	const unpacked = 64 << 20
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	told := encoder.EncodeAll(make([]byte, unpacked), nil)
	var untold bytes.Buffer
	encoder.Reset(&untold)
	_, err = io.Copy(encoder, bytes.NewReader(make([]byte, unpacked)))
	require.NoError(t, err)
	require.NoError(t, encoder.Close())
	for name, data := range map[string][]byte{
		"its size is told": told, "its size isn't told": untold.Bytes(),
		"the size is a lie": {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 0}, // RFC 8878: one segment of 256 MiB
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			file.Write(foxglove.Magic)
			for range 8 {
				content := append(binary.LittleEndian.AppendUint64(make([]byte, 16), 1000), 0, 0, 0, 0)
				content = append(append(content, 4, 0, 0, 0), "zstd"...)
				content = append(binary.LittleEndian.AppendUint64(content, uint64(len(data))), data...)
				file.Write(binary.LittleEndian.AppendUint64([]byte{byte(foxglove.OpChunk)}, uint64(len(content))))
				file.Write(content)
			}
			path := filepath.Join(t.TempDir(), "a.mcap")
			require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := mcap.Reading{Memory: memory.New(1 << 20)}.Open(path)
			runtime.ReadMemStats(&after)
			if err == nil {
				require.NoError(t, r.Close())
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(unpacked))
		})
	}
}
