//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/simtime"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// drive is one recorded run of the small rig before the wall, for all tests of
// what a run leaves.
type drive struct {
	dir string
	outcome
	messages []recorded
	topics   map[string][]recorded
}

// record runs the small rig for a second of simulated time.
func record(t *testing.T) *drive {
	t.Helper()
	needsOpenGL(t)
	d := &drive{dir: t.TempDir()}
	d.outcome = call(t, "run", "--headless", "--scene", sceneFile(t, d.dir), "--rig", write(t, d.dir, "small.yaml", smallRig),
		"--duration", "1s", "--bridge", "mcap:drive.mcap", "--bridge", "mcap:bag", "--bridge", "logging:log",
		"--out", filepath.Join(d.dir, "out"), "--summary", filepath.Join(d.dir, "summary.json"), "--report")
	require.Equal(t, exitDone, d.code, d.err)
	d.messages = readRecording(t, d.file("drive.mcap"))
	d.topics = byTopic(d.messages)
	return d
}

func (d *drive) file(name string) string { return filepath.Join(d.dir, "out", name) }

// wantedCounts are the messages of each topic in a second: the rate times the time.
var wantedCounts = map[string]int{
	"/clock": 100 + 13, "/eye/image_raw": 10, "/eye/image_raw/compressed": 10, "/eye/camera_info": 10,
	"/film/image_raw": 10, "/film/image_raw/compressed": 10, "/film/camera_info": 10,
	"/depth/image_raw": 10, "/depth/camera_info": 10, "/tags/image_raw": 10, "/tags/camera_info": 10,
	"/roof/points": 10, "/imu/data": 100, "/gnss/fix": 13, "/odom": 50, "/tf": 50, "/tf_static": 1,
}

func TestRun(t *testing.T) {
	t.Parallel()
	d := record(t)
	t.Run("topics", d.testTopics)
	t.Run("times", d.testTimes)
	t.Run("camera info", d.testCameraInfo)
	t.Run("pixels", d.testPixels)
	t.Run("compressed", d.testCompressed)
	t.Run("rosbag2", d.testRosbag2)
	t.Run("log", d.testLog)
	t.Run("summary", d.testSummary)
	t.Run("table", d.testTable)
	t.Run("report", d.testReport)
}

func (d *drive) testTopics(t *testing.T) {
	counts := map[string]int{}
	for topic, list := range d.topics {
		counts[topic] = len(list)
		for i, m := range list {
			assert.EqualValues(t, i+1, m.sequence, topic)
			assert.Equal(t, "ros2msg", m.schemaEncoding)
		}
	}
	assert.Equal(t, wantedCounts, counts)
	for topic, want := range map[string]string{
		"/clock": "rosgraph_msgs/msg/Clock", "/eye/image_raw": "sensor_msgs/msg/Image", "/roof/points": "sensor_msgs/msg/PointCloud2",
		"/eye/image_raw/compressed": "sensor_msgs/msg/CompressedImage", "/eye/camera_info": "sensor_msgs/msg/CameraInfo",
		"/imu/data": "sensor_msgs/msg/Imu", "/gnss/fix": "sensor_msgs/msg/NavSatFix", "/odom": "nav_msgs/msg/Odometry",
		"/tf": "tf2_msgs/msg/TFMessage", "/tf_static": "tf2_msgs/msg/TFMessage",
	} {
		assert.Equal(t, want, d.topics[topic][0].schema, topic)
	}
}

// testTimes: log times never go back, /clock comes before what belongs to its instant, and
// stamps lie on each sensor's grid. A scan's stamp is its begin (laws T3, T4).
func (d *drive) testTimes(t *testing.T) {
	clock := int64(-1)
	last := int64(-1)
	for _, m := range d.messages {
		require.GreaterOrEqual(t, m.logTime, last, "%s goes back in time", m.topic)
		last = m.logTime
		assert.Equal(t, m.stamp, simtime.Stamp(m.publishTime), m.topic)
		if m.topic == "/clock" {
			clock = int64(m.stamp)
			assert.Equal(t, m.stamp, simtime.Stamp(m.logTime))
			continue
		}
		assert.LessOrEqual(t, m.stamp, simtime.Stamp(clock), "%s is ahead of the clock", m.topic)
		assert.Equal(t, clock, m.logTime, "%s comes before the clock of its instant", m.topic)
	}
	assert.Equal(t, "/clock", d.messages[0].topic)
	for topic, stampOf := range map[string]func(k int64) int64{
		"/eye/image_raw":  func(k int64) int64 { return (k + 1) * 100_000_000 },
		"/tags/image_raw": func(k int64) int64 { return (k + 1) * 100_000_000 },
		"/roof/points":    func(k int64) int64 { return k * 100_000_000 },
		"/imu/data":       func(k int64) int64 { return (k + 1) * 10_000_000 },
		"/gnss/fix":       func(k int64) int64 { return (k + 1) * 5_000_000_000 / 67 },
	} {
		for k, m := range d.topics[topic] {
			assert.Equal(t, simtime.Stamp(stampOf(int64(k))), m.stamp, topic)
		}
	}
	clocks := map[simtime.Stamp]int{} // each of its own rate, and one ahead of each reading of the satellites
	for _, m := range d.topics["/clock"] {
		clocks[m.stamp]++
	}
	want := map[simtime.Stamp]int{}
	for k := range simtime.Stamp(100) {
		want[(k+1)*10_000_000] = 1
	}
	for _, m := range d.topics["/gnss/fix"] {
		want[m.stamp] = 1
	}
	assert.Equal(t, want, clocks)
}

func (d *drive) testCameraInfo(t *testing.T) {
	for _, camera := range []string{"/eye", "/film", "/depth", "/tags"} {
		for k, info := range d.topics[camera+"/camera_info"] {
			picture := &d.topics[camera+"/image_raw"][k]
			assert.Equal(t, picture.stamp, info.stamp)
			assert.Equal(t, picture.frame, info.frame)
			assert.Equal(t, "eye_optical", info.frame)
			c := info.body
			assert.Equal(t, []uint32{48, 64}, []uint32{c.u32(), c.u32()})
		}
	}
}

// testPixels: the picture's centre sees the wall, whose distance, label and colour
// are known.
func (d *drive) testPixels(t *testing.T) {
	for k := range 10 {
		depth := d.topics["/depth/image_raw"][k].image()
		require.Equal(t, "32FC1", depth.encoding)
		got := math.Float32frombits(binary.LittleEndian.Uint32(depth.pixel(32, 24, 4)))
		assert.InDelta(t, wallDistance, got, 1e-3)

		tags := d.topics["/tags/image_raw"][k].image()
		require.Equal(t, "mono8", tags.encoding)
		assert.Equal(t, []byte{3}, tags.pixel(32, 24, 1), "CARLA's tag of buildings")

		color := d.topics["/eye/image_raw"][k].image()
		require.Equal(t, "rgb8", color.encoding)
		for i, c := range color.pixel(32, 24, 3) {
			assert.InDelta(t, sRGB(wallColor[i]), float64(c), 1.5, "channel %d", i)
		}
	}
}

// sRGB encodes a linear value (IEC 61966-2-1) to 0..255.
func sRGB(v float64) float64 {
	if v <= 0.0031308 {
		return 255 * 12.92 * v
	}
	return 255 * (1.055*math.Pow(v, 1/2.4) - 0.055)
}

// testCompressed decodes PNG and JPEG with the standard library: one is equal to
// the plain picture, the other close.
func (d *drive) testCompressed(t *testing.T) {
	for topic, limit := range map[string]float64{"/eye/image_raw": 0, "/film/image_raw": 3} {
		for k := range d.topics[topic] {
			plain := d.topics[topic][k].image()
			m := &d.topics[topic+"/compressed"][k]
			assert.Equal(t, d.topics[topic][k].stamp, m.stamp)
			format, data := m.compressedImage()
			decoded, kind, err := image.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			assert.Contains(t, format, kind)
			assert.LessOrEqual(t, difference(decoded, &plain), limit, "%s as %s", topic, kind)
		}
	}
}

// difference is the mean difference of all channels, in levels.
func difference(decoded image.Image, plain *rawImage) float64 {
	sum := 0.0
	for v := range plain.height {
		for u := range plain.width {
			r, g, b, _ := decoded.At(u, v).RGBA()
			p := plain.pixel(u, v, 3)
			for i, c := range []uint32{r, g, b} {
				sum += math.Abs(float64(c>>8) - float64(p[i]))
			}
		}
	}
	return sum / float64(3*plain.width*plain.height)
}

// testRosbag2: the folder has the same messages, and a metadata.yaml that lists them.
func (d *drive) testRosbag2(t *testing.T) {
	files, err := filepath.Glob(d.file("bag/*.mcap"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Equal(t, len(d.messages), len(readRecording(t, files[0])))
	text, err := os.ReadFile(d.file("bag/metadata.yaml"))
	require.NoError(t, err)
	var bag struct {
		Info struct {
			Version  int      `yaml:"version"`
			Storage  string   `yaml:"storage_identifier"`
			Messages int      `yaml:"message_count"`
			Files    []string `yaml:"relative_file_paths"`
			Topics   []struct {
				Meta struct {
					Name string `yaml:"name"`
				} `yaml:"topic_metadata"`
				Messages int `yaml:"message_count"`
			} `yaml:"topics_with_message_count"`
		} `yaml:"rosbag2_bagfile_information"`
	}
	require.NoError(t, yaml.Unmarshal(text, &bag))
	assert.Equal(t, 5, bag.Info.Version)
	assert.Equal(t, "mcap", bag.Info.Storage)
	assert.Equal(t, []string{filepath.Base(files[0])}, bag.Info.Files)
	assert.Equal(t, len(d.messages), bag.Info.Messages)
	counts := map[string]int{}
	for _, topic := range bag.Info.Topics {
		counts[topic.Meta.Name] = topic.Messages
	}
	assert.Equal(t, wantedCounts, counts)
}

// testLog: two lines a message, the topic and one line of JSON.
func (d *drive) testLog(t *testing.T) {
	f, err := os.Open(d.file("log.txt.gz"))
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<24)
	counts := map[string]int{}
	for n := 0; lines.Scan(); n++ {
		line := lines.Text()
		if n%2 == 1 {
			assert.True(t, json.Valid(lines.Bytes()), "%.80s", line)
			continue
		}
		for topic := range wantedCounts {
			if slices.Contains(strings.Fields(line), topic) {
				counts[topic]++
			}
		}
	}
	require.NoError(t, lines.Err())
	assert.Equal(t, wantedCounts, counts)
}

// testSummary compares the keys of the JSON form with those promised.
func (d *drive) testSummary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(d.dir, "summary.json"))
	require.NoError(t, err)
	var s map[string]any
	require.NoError(t, json.Unmarshal(text, &s))
	keys := func(m any) []string {
		var list []string
		for k := range m.(map[string]any) {
			list = append(list, k)
		}
		slices.Sort(list)
		return list
	}
	assert.Equal(t, []string{"bridges", "gpu", "lost", "metrics", "real_time_factor", "schema", "seed", "sensors", "sim_s", "startup_s", "version", "wall_s"}, keys(s))
	assert.EqualValues(t, 1, s["schema"])
	assert.EqualValues(t, 1, s["seed"])
	assert.EqualValues(t, 1, s["sim_s"])
	assert.InEpsilon(t, s["sim_s"].(float64)/s["wall_s"].(float64), s["real_time_factor"], 1e-9)
	assert.NotEmpty(t, s["gpu"].(map[string]any)["renderer"])

	counts := map[string]int{}
	for _, x := range s["sensors"].([]any) {
		row := x.(map[string]any)
		assert.Equal(t, []string{"drops", "latency_p50_ms", "latency_p99_ms", "messages", "name", "rate_hz", "rate_wanted_hz", "topic", "type"}, keys(row))
		counts[row["topic"].(string)] = int(row["messages"].(float64))
		assert.Empty(t, row["drops"])
		assert.LessOrEqual(t, row["latency_p50_ms"], row["latency_p99_ms"])
		assert.Positive(t, row["latency_p50_ms"])
		if row["topic"] == "/roof/points" {
			assert.Equal(t, "sensor.lidar.ray_cast", row["type"])
			assert.EqualValues(t, 10, row["rate_wanted_hz"])
			assert.EqualValues(t, 10, row["rate_hz"])
		}
	}
	assert.Equal(t, wantedCounts, counts)
	require.Len(t, s["bridges"], 3)
	for i, want := range [][2]string{{"mcap", "drive.mcap"}, {"mcap", "bag"}, {"logging", "log"}} {
		row := s["bridges"].([]any)[i].(map[string]any)
		assert.Subset(t, keys(row), []string{"bytes", "connection", "drops", "name", "sent", "status", "type"})
		assert.Equal(t, want, [2]string{row["name"].(string), row["connection"].(string)})
		assert.EqualValues(t, len(d.messages), row["sent"])
		assert.Positive(t, row["bytes"])
		assert.Equal(t, "disconnected", row["status"])
		assert.Empty(t, row["drops"])
	}
}

func (d *drive) testTable(t *testing.T) {
	for topic := range wantedCounts {
		assert.Contains(t, d.out, topic)
	}
	assert.Contains(t, d.out, "mcap:drive.mcap")
	assert.Contains(t, d.out, "1.00 s simulated")
	assert.Contains(t, d.err, "scene wall.gltf")
}

// outside finds what a page would load from elsewhere.
var outside = regexp.MustCompile(`(?i)(\b(src|href|action|data|poster)\s*=\s*["']?|url\(\s*["']?|@import\s+["']?)(?:https?:)?//`)

func (d *drive) testReport(t *testing.T) {
	data, err := os.ReadFile(d.file("report.html"))
	require.NoError(t, err)
	page := string(data)
	assert.Empty(t, outside.FindString(page))
	assert.GreaterOrEqual(t, strings.Count(page, "data:image/png;base64,"), 6, "four cameras, a lidar from above and as ranges")
	for _, name := range []string{"eye", "film", "depth", "tags", "roof", "/imu/data", "<td>fence</td>", "<td>copy</td>", "<td>send</td>"} {
		assert.True(t, strings.Contains(page, name), "the report lacks %s", name)
	}
	assert.Contains(t, d.err, d.file("report.html"))
}

// TestTheReportTestSeesReferences holds the pattern beside pages that load.
func TestTheReportTestSeesReferences(t *testing.T) {
	for _, page := range []string{`<img src="https://a/b.png">`, `<link href='//a/b.css'>`, `url(http://a)`, `@import "https://a"`} {
		assert.Regexp(t, outside, page)
	}
	assert.NotRegexp(t, outside, `<svg xmlns="http://www.w3.org/2000/svg"><img src="data:image/png;base64,//8=">`)
}

// devices are those that the tests of equal bytes run on.
var devices = []string{"software", "host"}

// TestSameSeedSameBytes runs the city (law T5).
func TestSameSeedSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	needsOpenGL(t)
	for _, device := range devices {
		t.Run(device, func(t *testing.T) { sameSeedSameBytes(t, device) })
	}
}

func sameSeedSameBytes(t *testing.T, device string) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "run.yaml", "scene: {triangles: 40000}\n"+smallRig)
	run := func(name, seed string) (mcap, log []byte) {
		out := filepath.Join(dir, name)
		o := call(t, "run", "--step", "--quiet", "--gpu", device, "--config", file, "--seed", seed, "--duration", "300ms",
			"--bridge", "mcap:a.mcap", "--bridge", "logging:a", "--out", out)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Empty(t, o.out+o.err, "--quiet")
		mcap, err := os.ReadFile(filepath.Join(out, "a.mcap"))
		require.NoError(t, err)
		log, err = os.ReadFile(filepath.Join(out, "a.txt.gz"))
		require.NoError(t, err)
		return mcap, log
	}
	mcap, log := run("first", "3")
	again, logAgain := run("second", "3")
	assert.True(t, bytes.Equal(mcap, again), "the recordings differ")
	assert.True(t, bytes.Equal(log, logAgain), "the logs differ")
	other, otherLog := run("third", "4")
	assert.False(t, bytes.Equal(mcap, other))
	assert.False(t, bytes.Equal(log, otherLog))
}

// TestEmptyScene: what only the scene's builder can judge is wrong use as well.
func TestEmptyScene(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	empty := write(t, dir, "empty.gltf", `{"asset": {"version": "2.0"}}`)
	o := call(t, "run", "--headless", "--scene", empty, "--bridge", "mcap:a", "--duration", "100ms", "--out", filepath.Join(dir, "out"))
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, lastLine(o.err), "scene has no triangles")
}

// TestARunOfHugeCamerasIsRefused: before their pictures are made, with what one of them needs.
func TestARunOfHugeCamerasIsRefused(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	huge := "sensors:\n"
	for _, kind := range []string{"rgb", "depth", "semantic_segmentation", "instance_segmentation", "normals"} {
		huge += "  - {id: sensor.camera." + kind + ", name: " + kind + ", image_size_x: 16384, image_size_y: 16384}\n"
	}
	o := call(t, "run", "--headless", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "huge.yaml", huge), "--duration", "1s",
		"--bridge", "mcap:drive.mcap", "--out", filepath.Join(dir, "out"), "--max-memory", "1GiB")
	assert.Equal(t, exitUsage, o.code, o.err)
	assert.Regexp(t, `begin sensor rgb: .*not enough memory: texture "camera ids" of 16384x16384 pixels needs 2.0 GiB`, o.err)
	assert.Regexp(t, `2.0 GiB beside [0-9.]+ .iB that are held, the limit is 1.0 GiB: --max-memory raises it`, o.err)
}

// TestARunOfManyPointsIsRefused: the error says how many points a scan has, and what the ring of scans needs.
func TestARunOfManyPointsIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig := "sensors: [{id: sensor.lidar.ray_cast, name: roof, channels: 128, columns: 20000, pose: {z: 2}}]\n"
	o := call(t, "run", "--gpu", "host", "--headless", "--scene", "plane", "--rig", write(t, dir, "rig.yaml", rig), "--duration", "100ms",
		"--bridge", "mcap:drive.mcap", "--out", filepath.Join(dir, "out"), "--max-memory", "200MiB")
	assert.Equal(t, exitUsage, o.code, o.err)
	assert.Regexp(t, `begin roof: prepare readback "roof", 2560000 elements of 48 bytes in each of [0-9] slots: .*needs 117.2 MiB beside [0-9.]+ MiB that are held, the limit is 200.0 MiB: --max-memory raises it`, o.err)
}

// small keeps the sensors of everySensor quick, by id; the others have their defaults.
var small = map[string]string{
	"sensor.other.comfort":           "every: true",
	"sensor.other.destination":       "destination: [10, 0, 0]",
	"sensor.lidar.ray_cast":          "preset: VelodyneVLP16, columns: 90, noise_stddev: 0.02, dropoff_general_rate: 0.3",
	"sensor.lidar.ray_cast_semantic": "range: 60, points_per_second: 20000",
	"sensor.lidar.laser_scan":        "measurements_per_rotation: 180",
	"sensor.other.ultrasonic":        "image_size_x: 40, image_size_y: 16",
	"sensor.other.imu":               "noise_accel_stddev_x: 0.1, noise_gyro_bias_z: 0.01, noise_gyro_bias_walk: 0.001",
	"sensor.other.gnss":              "noise_alt_stddev: 1",
	"sensor.ground_truth.boxes_2d":   "image_size_x: 160, image_size_y: 90",
	"sensor.camera.dvs":              "sigma_positive_threshold: 0.1",
	"sensor.other.safe_distance":     "safe_distance_front: 60, safe_distance_lateral: 60, safe_distance_back: 60",
	"sensor.other.obstacle":          "distance: 100, hit_radius: 3",
	"sensor.other.signals":           "max_distance: 300",
	"sensor.ground_truth.boxes_3d":   "max_distance: 200",
	"sensor.other.radar":             "points_per_second: 20000",
}

// everySensor is a configuration with one sensor of each type in the city.
func everySensor() string {
	var b strings.Builder
	b.WriteString("seed: 5\nscene: {city: true, triangles: 40000}\nsensors:\n")
	for _, id := range sensorsall.Registry().IDs() {
		d, _ := sensorsall.Registry().Get(id)
		if len(d.Outputs) == 0 {
			continue // it takes commands
		}
		name := "my_" + id[strings.LastIndexByte(id, '.')+1:] // /clock is the run's own
		attributes := small[id]
		if strings.HasPrefix(id, "sensor.camera.") {
			attributes = strings.TrimPrefix(attributes+", image_size_x: 64, image_size_y: 48", ", ")
		}
		if !d.EachFrame {
			attributes = strings.TrimPrefix(attributes+", rate: 10", ", ")
		}
		fmt.Fprintf(&b, "  - {%s}\n", strings.TrimPrefix(attributes+fmt.Sprintf(", id: %s, name: %s, pose: {x: 1, z: 1.7}", id, name), ", "))
	}
	return b.String()
}

// TestEverySensorGivesTheSameBytesOnAnyNumberOfWorkers records one sensor of each type
// with one processor and with several (law T5).
func TestEverySensorGivesTheSameBytesOnAnyNumberOfWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	needsOpenGL(t)
	for _, device := range devices {
		t.Run(device, func(t *testing.T) { everySensorOnWorkers(t, device) })
	}
}

func everySensorOnWorkers(t *testing.T, device string) {
	config := filepath.Join(t.TempDir(), "every.yaml")
	require.NoError(t, os.WriteFile(config, []byte(everySensor()), 0o600))
	recorded := map[int]map[string][]byte{}
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		dir := t.TempDir()
		summary := filepath.Join(dir, "summary.json")
		o := call(t, "run", "--gpu", device, "--config", config, "--duration", "400ms", "--step", "--seed", "9",
			"--bridge", "mcap:drive.mcap", "--bridge", "logging:drive", "--out", dir, "--summary", summary)
		runtime.GOMAXPROCS(before)
		require.Equal(t, exitDone, o.code, "%s", o.err)
		recorded[processors] = map[string][]byte{}
		for _, pattern := range []string{"drive.mcap", "drive*.gz"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, files, pattern)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				recorded[processors][filepath.Base(file)] = data
			}
		}
		sent := messagesByTopic(t, summary)
		for topic, n := range sent {
			switch topic {
			case "/my_collision", "/my_lane_invasion": // the ego keeps its lane
			default:
				assert.Positive(t, n, "messages of %s", topic)
			}
		}
		assert.GreaterOrEqual(t, len(sent), len(sensorsall.Registry().IDs()))
	}
	for name, data := range recorded[1] {
		assert.True(t, string(data) == string(recorded[4][name]), "%s differs", name)
	}
}

// TestForeignRigsRun runs every rig of another simulator as it is, and finds its
// topics under the names that it gives them.
func TestForeignRigsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	wanted := map[string][]string{
		"svl_vehicle.json": {
			"/points_raw", "/front/points", "/scan", "/camera/compressed", "/camera/info", "/depth/compressed", "/labels/compressed",
			"/instances/compressed", "/ultrasonic", "/gps", "/imu", "/imu_corrected", "/radar", "/boxes_2d", "/boxes_3d", "/can", "/odom", "/vehicle_odometry",
		},
		"carla_objects.json": {
			"/carla/ego_vehicle/front/image", "/carla/ego_vehicle/front/camera_info", "/carla/ego_vehicle/front/imu",
			"/carla/ego_vehicle/semantic/image", "/carla/ego_vehicle/instance/image", "/carla/ego_vehicle/depth/image",
			"/carla/ego_vehicle/lidar", "/carla/ego_vehicle/semantic_lidar", "/carla/ego_vehicle/gnss",
			"/carla/ego_vehicle/odometry", "/carla/ego_vehicle/speedometer", "/carla/ego_vehicle/objects", "/carla/objects",
		},
		"svl_lidar.json":         {"/points_raw"},
		"autoware_auto.json":     {"/test_velodyne_node_cloud_front", "/test_velodyne_node_cloud_rear", "/simulator/camera_node/image/compressed", "/imu_raw", "/nmea_sentence"},
		"objects.json":           {"/carla/ego_vehicle/rgb_front/image", "/carla/ego_vehicle/rgb_view/camera_info", "/carla/ego_vehicle/lidar", "/carla/ego_vehicle/imu"},
		"default.lidar.json":     {"/points_raw"},
		"VLS-128_FS1.lidar.json": {"/points_raw"},
	}
	scene := sceneFile(t, t.TempDir())
	for _, file := range foreignRigs(t) {
		dir := t.TempDir()
		summary := filepath.Join(dir, "summary.json")
		o := call(t, "run", "--headless", "--scene", scene, "--rig", file, "--duration", "250ms",
			"--bridge", "mcap:drive.mcap", "--out", dir, "--summary", summary)
		require.Equal(t, exitDone, o.code, "%s: %s", file, o.err)
		messages := messagesByTopic(t, summary)
		for _, topic := range append(wanted[filepath.Base(file)], "/tf", "/tf_static") {
			assert.Positive(t, messages[topic], "%s of %s", topic, file)
		}
	}
}

// messagesByTopic reads how many messages of each topic a run published.
func messagesByTopic(t *testing.T, summary string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(summary)
	require.NoError(t, err)
	var run struct {
		Sensors []struct {
			Topic    string `json:"topic"`
			Messages int    `json:"messages"`
		} `json:"sensors"`
	}
	require.NoError(t, json.Unmarshal(data, &run))
	messages := map[string]int{}
	for _, s := range run.Sensors {
		messages[s.Topic] = s.Messages
	}
	return messages
}

// losing is a driver whose context is lost after some polls of fences.
type losing struct {
	gpu.Driver
	left atomic.Int32
}

func (d *losing) Reset() error {
	if d.left.Load() <= 0 {
		return gpu.ErrContextLost
	}
	return d.Driver.Reset()
}

func (d *losing) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.left.Add(-1) <= 0 {
		return gpu.FenceFailed
	}
	return d.Driver.PollFence(h)
}

// liveRun reads the flags of a run, beside those of a small scene and rig, whose device is to be opened by the opener.
func liveRun(t *testing.T, dir string, args ...string) (pl *plan, cmd *cobra.Command, open gpu.Opener, out *bytes.Buffer) {
	t.Helper()
	var f runFlags
	out = &bytes.Buffer{}
	cmd = &cobra.Command{Use: "run"}
	f.register(cmd)
	cmd.SetOut(out)
	cmd.SetErr(new(bytes.Buffer))
	cmd.SetContext(t.Context())
	require.NoError(t, cmd.ParseFlags(append([]string{
		"--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--bridge", "mcap:a.mcap", "--out", dir,
	}, args...)))
	pl, err := newPlan(cmd, &f)
	require.NoError(t, err)
	open, err = f.device.opener()
	require.NoError(t, err)
	return pl, cmd, open, out
}

// TestLostFiringsEndARunWithFour: the device doesn't answer within --device-timeout, in steps and in real time.
func TestLostFiringsEndARunWithFour(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for _, mode := range []string{"--step", "--realtime"} {
		pl, cmd, open, out := liveRun(t, t.TempDir(), mode, "--device-timeout", "1ns", "--duration", "300ms", "--max-drops", "readback_failed=0")
		err := pl.execute(t.Context(), cmd, gputest.Delay(open, 3), nil)
		require.ErrorContains(t, err, "finished, but not everything was delivered: ", mode)
		require.ErrorContains(t, err, "roof lost ")
		require.ErrorContains(t, err, "the run falls short: drops by readback_failed: ")
		assert.Equal(t, exitIncomplete, exitCode(err))
		assert.Regexp(t, `drops by readback_failed +at most 0 +\d+ +falls short`, out.String())
	}
}

// TestALostContextEndsTheProgram: exit code 1, and the recording is complete up to
// the loss.
func TestALostContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	pl, cmd, open, out := liveRun(t, dir, "--report", "--summary", filepath.Join(dir, "summary.json"))
	err := pl.execute(t.Context(), cmd, func() (*gpu.Context, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		d := &losing{Driver: c.Driver}
		d.left.Store(60)
		return &gpu.Context{Driver: d, Close: c.Close}, nil
	}, nil)
	require.ErrorIs(t, err, gpu.ErrContextLost)
	assert.Equal(t, exitFailed, exitCode(err))
	counts := byTopic(readRecording(t, filepath.Join(dir, "a.mcap")))
	assert.NotEmpty(t, counts["/roof/points"])
	assert.NotEmpty(t, counts["/eye/image_raw"])
	assert.Contains(t, out.String(), "/roof/points", "the table is printed")
	for _, name := range []string{"report.html", "summary.json"} {
		_, err := os.Stat(filepath.Join(dir, name))
		assert.NoError(t, err)
	}
}

// TestCtrlCBeforeTheStart: nothing has begun, so nothing is wrong.
func TestCtrlCBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	args := []string{"run", "--headless", "--scene", sceneFile(t, dir), "--bridge", "mcap:a.mcap", "--out", dir}
	code := program(ctx, args, &out, &errOut)
	assert.Equal(t, exitDone, code, errOut.String())
	assert.Empty(t, out.String()+errOut.String())
	assert.NoFileExists(t, filepath.Join(dir, "a.mcap"))
	args = append(args, "--max-drops", "0")
	assert.Equal(t, exitIncomplete, program(ctx, args, &out, &errOut))
	assert.Contains(t, errOut.String(), "ended before it began, so that it kept no limit")
}
