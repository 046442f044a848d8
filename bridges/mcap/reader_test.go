package mcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

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
	return sample.Header{StampNs: int64(seq)*bridgetest.Period + 123_456_789, Seq: uint64(seq), FrameID: "frame", Pose: spatial.Identity()}
}

// varied are the seq-th samples of topics whose message carries all that is set, in
// every profile.
func varied(seq int) map[string]bridges.Stamped {
	h := headerAt(seq)
	pose := spatial.Pose{Position: mgl64.Vec3{1, float64(seq), 3}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}}
	cloud := &sample.PointCloud{Header: h, Rings: 3, Layout: sample.LayoutXYZIRCAEDT}
	for i := range 3 {
		cloud.Points = append(cloud.Points, sample.Point{
			X: float32(seq), Y: float32(i), Z: 1, Intensity: float32(i), Distance: 2, Azimuth: 0.25, Elevation: 0.5,
			TimeNs: uint32(1000 * i), Ring: uint16(i), Return: 1, Ray: uint32(i),
		})
	}
	return map[string]bridges.Stamped{
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
		"/tf": &sample.Transforms{StampNs: h.StampNs, Transforms: []sample.Transform{
			{Header: sample.Header{StampNs: h.StampNs, FrameID: "map", Pose: spatial.Identity()}, ChildFrameID: "base_link", Relative: pose},
		}},
		"/boxes": &sample.Detections3D{Header: h, Boxes: []sample.Box3D{{ID: 7, Label: "Sedan", Score: 1, Pose: pose, Size: mgl64.Vec3{4, 2, 1.5}}}},
		"/radar": &sample.Radar{Header: h, Detections: []sample.RadarDetection{{Velocity: 3, Depth: 40, Azimuth: 0.5}}},
		"/dvs":   &sample.DvsEvents{Header: h, Events: []sample.DvsEvent{{X: 3, Y: 4, TimeNs: 5, Polarity: true}}},
		"/clock": &sample.Clock{StampNs: h.StampNs},
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
			c.now = s.Stamp() + 1_000_000
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
				assert.Equal(t, want.Stamp(), m.PublishNs)
				assert.Equal(t, want.Stamp()+1_000_000, m.LogNs)
				assert.GreaterOrEqual(t, m.LogNs, last)
				if profile != "ros1" {
					assert.Equal(t, flow.SensorDataQoS, m.QoS)
				}
				last = m.LogNs
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
				if last = m.LogNs; first == 0 {
					first = m.LogNs
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
			got = append(got, fmt.Sprintf("%s %d %d %v", m.Topic, m.LogNs, m.Sample.Stamp(), m.Sample.(*sample.Speed).MetresPerSecond))
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
	assert.ErrorContains(t, err, "neither metadata.yaml nor a file that ends in .mcap")
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("dear diary"), 0o666))
	_, err = mcap.Open(text)
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("rosbag2_bagfile_information: {storage_identifier: sqlite3, relative_file_paths: [a.db3]}"), 0o666))
	_, err = mcap.Open(dir)
	assert.ErrorIs(t, err, mcap.ErrNotMCAP)
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
