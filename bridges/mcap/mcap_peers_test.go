//go:build peers

package mcap_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decoded is a message as the official JavaScript reader and the decoders of others see it.
type decoded struct {
	Topic, Schema, Encoding string
	Sequence                int
	LogTime, PublishTime    string
	Value                   map[string]any
}

// javascript reads a file with check.mjs.
func javascript(t *testing.T, path string) []decoded {
	t.Helper()
	out := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/check.mjs", path)).Wait(t)
	require.True(t, strings.HasSuffix(out, "VALID\n"), out)
	var list []decoded
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, `{"topic"`) {
			var d decoded
			require.NoError(t, json.Unmarshal([]byte(line), &d))
			list = append(list, d)
		}
	}
	return list
}

// at follows a path of fields and indexes.
func at(t *testing.T, value any, path string) any {
	t.Helper()
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[name]
			require.True(t, ok, "%s: no %s in %v", path, name, v)
			value = next
		case []any:
			i, err := strconv.Atoi(name)
			require.NoError(t, err)
			require.Less(t, i, len(v), path)
			value = v[i]
		default:
			require.Fail(t, "no such field", "%s in %v", path, value)
		}
	}
	return value
}

// stampOf returns the message's own time, by any of the names it has.
func stampOf(t *testing.T, d decoded) int64 {
	t.Helper()
	number := func(v any) int64 {
		switch v := v.(type) {
		case string:
			n, err := strconv.ParseInt(v, 10, 64)
			require.NoError(t, err)
			return n
		case float64:
			return int64(v)
		}
		require.Fail(t, "no number", "%v", v)
		return 0
	}
	var stamp any
	switch {
	case d.Topic == "/clock":
		stamp = at(t, d.Value, "clock")
	case d.Topic == "/tf" && d.Encoding == "protobuf":
		stamp = at(t, d.Value, "transforms.0.timestamp")
	case d.Topic == "/tf":
		stamp = at(t, d.Value, "transforms.0.header.stamp")
	case d.Topic == "/boxes" && d.Encoding == "protobuf":
		stamp = at(t, d.Value, "entities.0.timestamp")
	case d.Encoding == "protobuf":
		stamp = at(t, d.Value, "timestamp")
	default:
		stamp = at(t, d.Value, "header.stamp")
	}
	fields := stamp.(map[string]any)
	for _, names := range [][2]string{{"sec", "nsec"}, {"sec", "nanosec"}, {"seconds", "nanos"}} {
		if fields[names[0]] != nil && fields[names[1]] != nil {
			return number(fields[names[0]])*1e9 + number(fields[names[1]])
		}
	}
	require.Fail(t, "no stamp", "%v", stamp)
	return 0
}

// blob is what check.mjs prints of bytes.
func blob(data []byte) map[string]any {
	sum := sha256.Sum256(data)
	return map[string]any{"n": float64(len(data)), "sha256": hex.EncodeToString(sum[:])}
}

// TestJavaScriptReadsEveryProfile: every message, decoded by the schema that is in the
// file, has the value that was recorded.
func TestJavaScriptReadsEveryProfile(t *testing.T) {
	for _, profile := range []string{"ros2", "ros1", "foxglove"} {
		for _, more := range []string{"", "&compression=lz4&chunk=300", "&compression=none"} {
			dir := recordVaried(t, "a.mcap?profile="+profile+more)
			counts := map[string]int{}
			for _, d := range javascript(t, filepath.Join(dir, "a.mcap")) {
				seq := counts[d.Topic]
				counts[d.Topic]++
				want := varied(seq)[d.Topic]
				assert.Equal(t, want.Captured(), simtime.Stamp(stampOf(t, d)), "%s %s", profile, d.Topic)
				assert.Equal(t, strconv.FormatInt(int64(want.Captured()), 10), d.PublishTime)
				assert.Equal(t, strconv.FormatInt(int64(want.Captured()+1_000_000), 10), d.LogTime)
				assert.Equal(t, seq+1, d.Sequence)
				checkValue(t, d, want)
			}
			for topic := range varied(0) {
				assert.Equal(t, variedMessages, counts[topic], "%s: %s", profile, topic)
			}
		}
	}
}

// checkValue compares what distinguishes a topic's messages.
func checkValue(t *testing.T, d decoded, want simtime.Stamped) {
	t.Helper()
	same := func(path string, value any) {
		t.Helper()
		assert.Equal(t, value, at(t, d.Value, path), "%s: %s", d.Topic, path)
	}
	frame, proto := "header.frame_id", d.Encoding == "protobuf"
	if proto {
		frame = "frame_id"
	}
	switch s := want.(type) {
	case *sample.Image:
		same(frame, "frame")
		same("width", float64(s.Width))
		same("step", float64(s.Step))
		same("encoding", s.Encoding)
		same("data", blob(s.Data))
	case *sample.CompressedImage:
		same(frame, "frame")
		same("format", s.Format)
		same("data", blob(s.Data))
	case *sample.PointCloud:
		same(frame, "frame")
		same("fields.4.name", "return_type")
		same("fields.9.offset", 28.0)
		if proto {
			same("point_stride", 32.0)
		} else {
			same("point_step", 32.0)
			same("width", 3.0)
		}
		same("data", blob(bridgetest.FoxglovePoints(s)))
	case *sample.Imu:
		same("linear_acceleration.z", s.LinearAcceleration[2])
		same("orientation.w", 0.5)
	case *sample.GnssFix:
		same("latitude", s.Latitude)
		same("altitude", s.Altitude)
	case *sample.Odometry:
		path := "pose.pose.position.y"
		if proto {
			path = "pose.position.y"
		}
		same(path, s.BodyPose.Position[1])
	case *sample.Transforms:
		if proto {
			same("transforms.0.parent_frame_id", "map")
			same("transforms.0.translation.y", s.Transforms[0].Relative.Position[1])
		} else {
			same("transforms.0.header.frame_id", "map")
			same("transforms.0.transform.translation.y", s.Transforms[0].Relative.Position[1])
		}
	case *sample.Detections3D:
		switch {
		case proto:
			same("entities.0.cubes.0.size.x", s.Boxes[0].Size[0])
		case d.Encoding == "ros1":
			same("detections.0.label", "Sedan")
			same("detections.0.bbox.size.x", s.Boxes[0].Size[0])
		default:
			same("detections.0.results.0.hypothesis.class_id", "Sedan")
			same("detections.0.bbox.size.x", s.Boxes[0].Size[0])
		}
	case *sample.Radar:
		same("point_step", 28.0)
	case *sample.DvsEvents:
		same("point_step", 13.0)
	}
}

// TestJavaScriptReadsSplitsAndRecoveries: each file of a split recording stands alone, and
// so does one that a killed process left and Recover finished.
func TestJavaScriptReadsSplitsAndRecoveries(t *testing.T) {
	dir := t.TempDir()
	split(t, dir, "bag?split_time=3s&split=30KB&chunk=5000")
	files, err := filepath.Glob(filepath.Join(dir, "bag", "*.mcap"))
	require.NoError(t, err)
	require.Greater(t, len(files), 3)
	for _, path := range files {
		static := 0
		for _, d := range javascript(t, path) {
			if d.Topic == "/tf_static" {
				assert.Equal(t, "5", d.PublishTime, "its own stamp")
				static++
			}
		}
		assert.Equal(t, 1, static, path)
	}

	path := filepath.Join(t.TempDir(), "a.mcap")
	killed(t, path+"?chunk=20000")
	done, err := mcap.Recover(path, "")
	require.NoError(t, err)
	assert.Len(t, javascript(t, done[0].To), int(done[0].Messages))
}

// TestJavaScriptReadsEveryField: a message of each type that goes into a recording has
// something in every field. It is decoded to all the values that it was made of and to no
// others.
func TestJavaScriptReadsEveryField(t *testing.T) {
	for profile, publications := range map[string][]ros.Publication{"ros2": rossample.Standard(), "ros1": inROS1(), "foxglove": rossample.Standard()} {
		t.Run(profile, func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
			want := map[string]map[string]any{}
			publications = append(publications, ros.PublishMirror[*sample.Snapshot](), ros.PublishMirror[*sample.Obstacle](),
				ros.PublishMirror[*sample.InsStatus](), ros.PublishMirror[*sample.LaneMarks](), ros.PublishMirror[*sample.LaneLines]())
			for _, pub := range publications {
				topic, s := "/filled/"+pub.Sample.Elem().Name(), bridgetest.FoxgloveSample(pub.Sample)
				publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topic})
				require.NoError(t, err)
				if b.Status() != flow.Connected {
					require.NoError(t, b.Connect(t.Context()))
				}
				require.NoError(t, publish(t.Context(), s))
				if profile == "foxglove" {
					want[topic] = bridgetest.FoxgloveTree(s, func(data []byte) any { return blob(data) })
				}
				if want[topic] == nil {
					m, err := pub.Converter()(s)
					require.NoError(t, err)
					want[topic] = formOf(profile).Tree(m)
				}
			}
			require.NoError(t, b.Close(t.Context()))
			got := map[string]map[string]any{}
			for _, d := range javascript(t, filepath.Join(dir, "a.mcap")) {
				got[d.Topic] = d.Value
			}
			require.Len(t, got, len(publications))
			for topic := range want {
				assert.Equal(t, want[topic], got[topic], topic)
			}
		})
	}
}

// inROS1 are the messages of profile ros1: boxes are lgsvl_msgs', all others those of ROS 2.
func inROS1() []ros.Publication {
	list := rossample.Standard()
	for i, pub := range list {
		for _, other := range rossample.SVL() {
			if pub.Sample == other.Sample && strings.HasPrefix(pub.Type, "vision_msgs/") {
				list[i] = other
			}
		}
	}
	return list
}

// formOf is how check.mjs shows the ROS messages of a profile. Its decoder of ROS 1 has
// other names for the parts of a time than rospy.
func formOf(profile string) bridgetest.Form {
	return bridgetest.Form{
		ROS1: profile == "ros1", Rename: map[string]string{"secs": "sec", "nsecs": "nsec"},
		Bytes: func(data []byte) any { return blob(data) },
		Int64: func(v int64) any { return strconv.FormatInt(v, 10) }, // JavaScript's numbers have 53 bits
		Array: func(v ros.Array) any {
			b := blob(v.AppendBinary(nil))
			b["n"] = float64(v.Len())
			return b
		},
	}
}
