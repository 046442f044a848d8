//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// startServing begins a run of the small rig that serves streams, until it is
// interrupted.
func startServing(t *testing.T, dir string, args ...string) *calling {
	t.Helper()
	return begin(t, append([]string{
		"run", "--headless", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig),
		"--out", filepath.Join(dir, "out"), "--summary", filepath.Join(dir, "summary.json"),
	}, args...)...)
}

// endpoints are the rows of a run's table of where receivers connect to, by topic; one
// for all topics is that of "all".
func endpoints(text, bridge string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if words := strings.Fields(line); len(words) >= 4 && words[1] == bridge {
			at := slices.IndexFunc(words, func(w string) bool { return w == "all" || strings.HasPrefix(w, "/") })
			rows[words[at]] = words
		}
	}
	return rows
}

// TestRunServesAndListenSaves: a run says where its topics are, and a receiver saves
// what it sees there: the wall.
func TestRunServesAndListenSaves(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for mode, bridge := range map[string]string{"realtime": "stream:127.0.0.1:0", "step": "stream:127.0.0.1:0?policy=block"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := startServing(t, dir, "--"+mode, "--bridge", bridge, "--bridge", "carla:127.0.0.1:0")
			for topic, row := range receiveAll(t, run, dir) {
				if mode == "step" {
					assert.Zero(t, row.Missed, "%s: policy block loses nothing", topic)
				}
			}
		})
	}
}

// receiveAll saves two messages of each stream of a run with two bridges, whose files
// are below dir, checks them, and ends the run. It returns what listen says of each topic.
func receiveAll(t *testing.T, run *calling, dir string) map[string]streamSummary {
	t.Helper()
	run.errOut.await(t, "carla   ")
	said := run.errOut.await(t, "/odom")
	served := endpoints(said, "stream")["all"]
	require.NotEmpty(t, served, said)
	address := served[0]

	saved := filepath.Join(dir, "saved")
	c := begin(t, "listen", address, "--save", saved, "--count", "2", "--json")
	rows := map[string]streamSummary{}
	for _, row := range c.summary(t).Streams {
		rows[row.Topic] = row
		want := int64(2)
		if row.Latched {
			want = 1 // it comes once
		}
		assert.Equal(t, want, row.Messages, row.Topic)
		assert.EqualValues(t, want, row.Saved, row.Topic)
	}
	assert.Contains(t, served, strconv.Itoa(len(rows)))
	assert.Contains(t, rows, "/snapshot", "the world's state is served")
	assert.True(t, rows["/tf_static"].Latched)
	for _, pattern := range []string{"eye/image_raw/*.png", "eye/image_raw/compressed/*.png", "film/image_raw/compressed/*.jpg"} {
		checkWallPicture(t, newest(t, saved, pattern))
	}
	for _, topic := range []string{"depth", "tags"} {
		decoded, err := decodeFile(newest(t, saved, topic+"/image_raw/*.png"))
		require.NoError(t, err)
		assert.Equal(t, image.Rect(0, 0, 64, 48), decoded.Bounds())
	}
	checkWallCloud(t, newest(t, saved, "roof/points/*.pcd"))

	run.interrupt()
	o := run.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	checkServingSummary(t, filepath.Join(dir, "summary.json"), address)
	return rows
}

// TestRunServesAProgramInPython: the example that receives without any library sees the
// pictures of a run, and ends with it.
func TestRunServesAProgramInPython(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	run := startServing(t, t.TempDir(), "--realtime", "--bridge", "stream:127.0.0.1:0", "--bridge", "carla:127.0.0.1:0")
	run.errOut.await(t, "carla   ") // stream's lines stand before
	served := endpoints(run.errOut.await(t, "/odom"), "stream")["all"]
	require.NotEmpty(t, served)
	receiver := exec.CommandContext(t.Context(), python, "../../docs/examples/pictures.py", "/eye/image_raw", served[0])
	out, err := receiver.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, receiver.Start())
	lines := bufio.NewScanner(out)
	for range 3 {
		require.True(t, lines.Scan())
		assert.Regexp(t, `^\d+: \d+\.\d{9} s, 64 x 48$`, lines.Text())
	}
	run.interrupt()
	for lines.Scan() {
		continue
	}
	assert.NoError(t, receiver.Wait())
	o := run.end(t)
	assert.Equal(t, exitDone, o.code, o.err)
}

// lanesRun drives the ego to and fro over the line between two lanes of the town.
const lanesRun = `ego: {speed: 8, waypoints: [{x: -110, y: -41}, {x: -84, y: -41}, {x: -84, y: -37}, {x: -110, y: -37}]}
sensors:
  - {id: sensor.other.lane_marks, name: lane_marks, topic: /lane_marks}
  - {id: sensor.other.lane_invasion, name: lane_invasion, topic: /lane_invasion}
`

// TestAProgramInPythonTellsCrossedMarks: a client that has snapshots and lane marks finds the
// crossings that sensor.other.lane_invasion finds in the run.
func TestAProgramInPythonTellsCrossedMarks(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	dir := t.TempDir()
	run := begin(t, "run", "--headless", "--step", "--duration", "4s", "--config", write(t, dir, "run.yaml", lanesRun), "--out", dir,
		"--bridge", "stream:127.0.0.1:0?policy=block", "--bridge", "logging:truth", "--wait-for", "stream")
	served := endpoints(run.errOut.await(t, "waiting for 1 receiver"), "stream")["all"]
	require.NotEmpty(t, served)
	said, err := exec.CommandContext(t.Context(), python, "../../docs/examples/lane_invasion.py", served[0]).CombinedOutput()
	require.NoError(t, err, "%s", said)
	o := run.end(t)
	require.Equal(t, exitDone, o.code, o.err)

	assert.Equal(t, crossings(t, dir), string(said))
}

// crossings are the lines that lane_invasion.py has for what sensor.other.lane_invasion found in
// a run of lanesRun, of which the log is in the folder.
func crossings(t *testing.T, dir string) string {
	t.Helper()
	log, err := logging.Open(filepath.Join(dir, "truth.txt.gz"))
	require.NoError(t, err)
	defer log.Close()
	var lines strings.Builder
	for {
		m, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if m.Type != "LaneInvasionData" {
			continue
		}
		var event struct {
			Time  float64
			Marks []struct{ ID int }
		}
		require.NoError(t, json.Unmarshal(m.JSON, &event))
		for _, mark := range event.Marks {
			fmt.Fprintf(&lines, "%.3f s: over mark %d\n", event.Time, mark.ID)
		}
	}
	assert.Greater(t, strings.Count(lines.String(), "\n"), 4, "it crosses and comes back")
	return lines.String()
}

// TestCARLAsClientsTellCrossedMarks: a client of CARLA's streams that knows the ego's box finds
// the same of snapshots and lane marks. The axes are CARLA's: y to the right, yaw clockwise.
func TestCARLAsClientsTellCrossedMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	run := begin(t, "run", "--headless", "--step", "--duration", "4s", "--config", write(t, dir, "run.yaml", lanesRun), "--out", dir,
		"--bridge", "carla:127.0.0.1:0?policy=block", "--bridge", "logging:truth", "--wait-for", "/snapshot")
	rows := endpoints(run.errOut.await(t, "waiting for 1 receiver"), "carla")
	require.Contains(t, rows, "/lane_marks")
	follow := func(topic string) *bufio.Reader {
		number, err := strconv.ParseUint(rows[topic][2], 10, 32)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", rows[topic][0])
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		require.NoError(t, binary.Write(conn, binary.LittleEndian, uint32(number)))
		return bufio.NewReader(conn)
	}
	snapshots, marks := follow("/snapshot"), follow("/lane_marks") // the run begins with the first
	watch := groundtruth.NewLaneWatch(scene.EgoID, carlaMarks(t, marks))
	var found strings.Builder
	for m := carlaEgo(t, snapshots); m != nil; m = carlaEgo(t, snapshots) {
		for _, mark := range watch.Next(m) {
			fmt.Fprintf(&found, "%.3f s: over mark %d\n", float64(m.Stamp)/1e9, mark.ID)
		}
	}
	o := run.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, crossings(t, dir), found.String())
}

// TestCARLAsInstancesHaveTheirTags: red is what a camera of tags sees at the same pixel, and green and
// blue are the id. So it is without a word of the rig; one that asks for ids alone has no tags.
func TestCARLAsInstancesHaveTheirTags(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	camera := func(kind, name, more string) string {
		return "  - {id: sensor.camera." + kind + "_segmentation, name: " + name + ", image_size_x: 64, image_size_y: 48, pose: {z: 2}" + more + "}\n"
	}
	rig := write(t, dir, "rig.yaml", "sensors:\n"+camera("semantic", "tags", "")+camera("instance", "ids", "")+camera("instance", "bare", ", encoding: 16UC1"))
	run := begin(t, "run", "--headless", "--scene", sceneFile(t, dir), "--rig", rig, "--step", "--duration", "100ms", "--out", dir,
		"--bridge", "carla:127.0.0.1:0?policy=block", "--wait-for", "/tags/image_raw", "--wait-for", "/ids/image_raw", "--wait-for", "/bare/image_raw")
	rows := endpoints(run.errOut.await(t, "waiting for 1 receiver of"), "carla")
	picture := map[string][]byte{}
	var followed sync.WaitGroup
	var mu sync.Mutex
	for _, name := range []string{"tags", "ids", "bare"} {
		topic := "/" + name + "/image_raw"
		require.Contains(t, rows, topic)
		conn, err := net.Dial("tcp", rows[topic][0])
		require.NoError(t, err)
		defer conn.Close()
		number, err := strconv.ParseUint(rows[topic][2], 10, 32)
		require.NoError(t, err)
		require.NoError(t, binary.Write(conn, binary.LittleEndian, uint32(number)))
		followed.Go(func() {
			_, body := carlaFrame(t, conn)
			pixels, _ := io.ReadAll(body)
			mu.Lock()
			defer mu.Unlock()
			picture[name] = pixels[12:]
		})
	}
	followed.Wait()
	o := run.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	seen := map[[2]byte]bool{}
	for i := 0; i < 4*64*48; i += 4 {
		require.Equal(t, picture["tags"][i+2], picture["ids"][i+2], "the tag of pixel %d", i/4)
		require.Equal(t, picture["bare"][i:i+2], picture["ids"][i:i+2], "the id of pixel %d", i/4)
		require.Zero(t, picture["bare"][i+2])
		seen[[2]byte{picture["ids"][i+1], picture["ids"][i+2]}] = true
	}
	assert.Greater(t, len(seen), 2, "the wall, the floor and the sky: %v", seen)
}

// carlaFrame is one frame of CARLA's streams behind its header, nil at the end.
func carlaFrame(t *testing.T, r io.Reader) (number uint64, body *bytes.Reader) {
	t.Helper()
	var length uint32
	if err := binary.Read(r, binary.LittleEndian, &length); errors.Is(err, io.EOF) {
		return 0, nil
	}
	data := make([]byte, length)
	_, err := io.ReadFull(r, data)
	require.NoError(t, err)
	return binary.LittleEndian.Uint64(data[8:]), bytes.NewReader(data[48:])
}

// carlaMarks reads lane marks in the map's axes.
func carlaMarks(t *testing.T, r io.Reader) []sample.LaneMark {
	t.Helper()
	_, body := carlaFrame(t, r)
	read := func(v any) { require.NoError(t, binary.Read(body, binary.LittleEndian, v)) }
	var count uint32
	read(&count)
	marks := make([]sample.LaneMark, count)
	for i := range marks {
		var head struct {
			ID          uint32
			Type, Color uint8
			Points      uint32
		}
		read(&head)
		points := make([][3]float32, head.Points)
		read(points)
		marks[i] = sample.LaneMark{ID: head.ID, Type: sample.LaneMarkType(head.Type)}
		for _, p := range points {
			marks[i].Points = append(marks[i].Points, mgl64.Vec3{float64(p[0]), -float64(p[1]), float64(p[2])})
		}
	}
	assert.Zero(t, body.Len())
	return marks
}

// carlaEgo reads a snapshot and keeps the ego of it, in the map's axes; nil at the end.
func carlaEgo(t *testing.T, r io.Reader) *sample.Snapshot {
	t.Helper()
	frame, body := carlaFrame(t, r)
	if body == nil {
		return nil
	}
	var head struct {
		Episode uint64
		Seconds float64
		Delta   float32
		_       [16]byte
	}
	require.NoError(t, binary.Read(body, binary.LittleEndian, &head))
	m := &sample.Snapshot{DeltaNs: int64(math.Round(float64(head.Delta) * 1e9))}
	m.Frame, m.Stamp = frame, simtime.Stamp(math.Round(head.Seconds*1e9))
	for body.Len() > 0 {
		var actor struct {
			ID       uint32
			_        uint8
			Location [3]float32
			Rotation [3]float32
			_        [90]byte
		}
		require.NoError(t, binary.Read(body, binary.LittleEndian, &actor))
		if actor.ID != 65536 {
			continue
		}
		at := mgl64.Vec3{float64(actor.Location[0]), -float64(actor.Location[1]), float64(actor.Location[2])}
		m.Actors = append(m.Actors, sample.ActorState{
			ID: scene.EgoID, Pose: spatial.FromRPY(at, 0, 0, -float64(actor.Rotation[1])),
			BoxCenter: mgl64.Vec3{1.35, 0, 0.75}, BoxHalf: mgl64.Vec3{2.45, 0.95, 0.75}, // as docs/carla-streams.md has it
		})
	}
	return m
}

// newest returns the last of the files that a pattern below a folder names.
func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	return found[len(found)-1]
}

func decodeFile(path string) (image.Image, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	return decoded, err
}

// checkWallPicture: the picture's middle shows the wall's glow.
func checkWallPicture(t *testing.T, path string) {
	t.Helper()
	decoded, err := decodeFile(path)
	require.NoError(t, err, path)
	require.Equal(t, image.Rect(0, 0, 64, 48), decoded.Bounds())
	r, g, b, _ := decoded.At(32, 20).RGBA()
	for i, got := range []uint32{r, g, b} {
		linear := wallColor[i]
		want := 12.92 * linear
		if linear > 0.0031308 {
			want = 1.055*math.Pow(linear, 1/2.4) - 0.055
		}
		assert.InDelta(t, 255*want, float64(got>>8), 6, "%s: channel %d", path, i)
	}
}

// checkWallCloud: the points straight ahead lie on the wall, in a PCD file's first
// three fields.
func checkWallCloud(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	head, points, ok := bytes.Cut(data, []byte("DATA binary\n"))
	require.True(t, ok)
	require.Contains(t, string(head), "FIELDS x y z intensity ring time tag instance\nSIZE 4 4 4 4 2 4 1 4\n")
	const step = 27
	require.Zero(t, len(points)%step)
	ahead := 0
	for ; len(points) > 0; points = points[step:] {
		var p [3]float32
		require.NoError(t, binary.Read(bytes.NewReader(points), binary.LittleEndian, &p))
		if math.Abs(float64(p[1])) < 2 && p[0] > 0 && p[2] > -1 {
			assert.InDelta(t, wallDistance, p[0], 0.1, "noise has a deviation of 0.01 m")
			ahead++
		}
	}
	assert.Greater(t, ahead, 20)
}

// checkServingSummary: machines find there where the topics of both bridges were.
func checkServingSummary(t *testing.T, path, address string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var s pipeline.Summary
	require.NoError(t, json.Unmarshal(data, &s))
	require.Len(t, s.Bridges, 2)
	assert.Positive(t, s.Bridges[0].Sent)
	topics := map[string]bridges.Endpoint{}
	for _, e := range s.Bridges[0].Endpoints {
		topics[e.Topic] = e
	}
	assert.Equal(t, bridges.Endpoint{Topic: "/eye/image_raw", Sensor: "eye", Address: address}, topics["/eye/image_raw"])
	require.NotEmpty(t, s.Bridges[1].Endpoints)
	world := s.Bridges[1].Endpoints[0]
	assert.Equal(t, bridges.Endpoint{Topic: "/snapshot", Sensor: "snapshot", Address: world.Address, Stream: 1, Token: world.Token}, world)
	assert.NotEmpty(t, world.Address)
	assert.Len(t, world.Token, 48)
}

// TestListenOutlivesARun: the receiver continues with the next run at the address.
func TestListenOutlivesARun(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	address := freeAddress(t)
	c := begin(t, "listen", address, "imu", "--json")
	for k := range 2 {
		run := startServing(t, t.TempDir(), "--realtime", "--bridge", "stream:"+address, "--quiet")
		c.errOut.await(t, []string{"connected to ", "the server was restarted"}[k])
		run.interrupt()
		o := run.end(t)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Empty(t, o.out)
		assert.NotContains(t, o.err, "receivers connect to")
	}
	c.interrupt()
	s := c.summary(t)
	assert.Equal(t, []int{2, 1}, []int{s.Connections, s.Restarts})
	require.Len(t, s.Streams, 1)
	assert.Equal(t, "/imu/data", s.Streams[0].Topic)
}

// TestRunNamesCARLAsStreams: with the numbers and tokens that CARLA's clients need.
func TestRunNamesCARLAsStreams(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	run := startServing(t, t.TempDir(), "--step", "--bridge", "carla:127.0.0.1:0", "--duration", "20ms")
	o := run.end(t)
	require.Equal(t, exitDone, o.code, o.err)
	rows := endpoints(o.err, "carla")
	for topic, number := range map[string]string{"/snapshot": "1", "/eye/image_raw": "2", "/roof/points": "6"} {
		require.Contains(t, rows, topic, o.err)
		assert.Equal(t, number, rows[topic][2], topic)
		assert.Regexp(t, regexp.MustCompile("^0"+number+"[0-9a-f]{46}$"), rows[topic][4], "24 bytes that begin with the stream's number")
	}
}
