package logging_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entry is one logged message.
type entry struct {
	typ, topic string
	line       string
}

// unpack reads a log with the standard library's gzip and JSON.
func unpack(t *testing.T, data []byte) []entry {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	assert.True(t, z.ModTime.IsZero(), "no time of its own")
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	if len(text) == 0 {
		return nil
	}
	require.True(t, bytes.HasSuffix(text, []byte("\n")))
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Zero(t, len(lines)%2, "two lines a message")
	var list []entry
	for i := 0; i < len(lines); i += 2 {
		typ, topic, ok := strings.Cut(lines[i], " ")
		require.True(t, ok, lines[i])
		require.True(t, json.Valid([]byte(lines[i+1])), lines[i+1])
		list = append(list, entry{typ, topic, lines[i+1]})
	}
	return list
}

func countBelow(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		require.True(t, strings.HasSuffix(path, ".txt.gz"), path)
		data, err := os.ReadFile(path)
		for _, e := range unpack(t, data) {
			counts[e.topic]++
		}
		return err
	}))
	return counts
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        logging.Factory{},
		Connection:     "sub/drive",
		BadConnections: []string{"", "sub/", ".", "..", ".txt.gz", "drive?level=9"},
		Count:          countBelow,
	})
}

// open returns a connected log below a new folder and a function that closes it
// and returns what it holds.
func open(t *testing.T) (*bridges.Bridge, func() []entry) {
	t.Helper()
	registry, err := bridges.NewRegistry(logging.Factory{})
	require.NoError(t, err)
	dir := t.TempDir()
	b, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	return b, func() []entry {
		require.NoError(t, b.Close(t.Context()))
		data, err := os.ReadFile(filepath.Join(dir, "drive.txt.gz"))
		require.NoError(t, err)
		return unpack(t, data)
	}
}

// TestALogsNameMayHaveItsEnding: in part or as a whole; it isn't doubled.
func TestALogsNameMayHaveItsEnding(t *testing.T) {
	registry, err := bridges.NewRegistry(logging.Factory{})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"drive": "drive.txt.gz", "drive.txt": "drive.txt.gz", "drive.txt.gz": "drive.txt.gz", "drive.gz": "drive.gz.txt.gz", "drive.v1": "drive.v1.txt.gz",
	} {
		dir := t.TempDir()
		b, err := registry.Open("logging:"+name, bridges.Env{OutDir: dir})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, b.Close(t.Context()))
		assert.FileExists(t, filepath.Join(dir, want), name)
	}
}

func TestNamesThatAreNoFile(t *testing.T) {
	registry := bridges.MustRegistry(logging.Factory{})
	for name, want := range map[string]string{
		"": `"" is not a file name; want NAME, for NAME.txt.gz`, "sub/": `"sub/" is not a file name`, "..": `".." is not a file name`,
		".txt.gz": `".txt.gz" is not a file name`, "drive?level=9": "level",
	} {
		err := registry.Check("logging:"+name, bridges.Env{OutDir: t.TempDir()})
		assert.ErrorIs(t, err, bridges.ErrConnectionString, name)
		assert.ErrorContains(t, err, want, name)
	}
}

// line logs one message and returns its two lines.
func line[T any](t *testing.T, msg T) entry {
	t.Helper()
	b, entries := open(t)
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: "/topic", Sensor: "Front \"main\""})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), msg))
	list := entries()
	require.Len(t, list, 1)
	assert.Equal(t, "/topic", list[0].topic)
	alone, err := logging.AppendJSON([]byte("before"), "Front \"main\"", msg)
	require.NoError(t, err)
	assert.Equal(t, "before"+list[0].line, string(alone))
	return list[0]
}

func TestAppendJSONOfOtherTypes(t *testing.T) {
	for _, msg := range []any{nil, 1, sample.Clock{}, &sample.Header{}} {
		out, err := logging.AppendJSON([]byte("before"), "", msg)
		require.ErrorIs(t, err, bridges.ErrNoConverter, "%T", msg)
		assert.Equal(t, "before", string(out))
	}
}

func ExampleAppendJSON() {
	object, err := logging.AppendJSON(nil, "speedometer", &sample.Speed{
		Header: sample.Header{Stamp: 1_500_000_000, Seq: 3, FrameID: "base_link"}, MetresPerSecond: 12.5,
	})
	fmt.Println(string(object), err)
	// Output: {"Name":"speedometer","Frame":"base_link","Time":1.500000000,"StampNs":1500000000,"Sequence":3,"Speed":12.5} <nil>
}

func header() sample.Header {
	return sample.Header{
		Stamp: 12_003_000_004, Seq: 9, FrameID: "frame",
		Pose: spatial.Pose{Position: mgl64.Vec3{1, 2, 3}, Orientation: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}},
	}
}

// headJSON is what header becomes.
const headJSON = `{"Name":"Front \"main\"","Frame":"frame","Time":12.003000004,"StampNs":12003000004,"Sequence":9,`

// lineCase is a logged message and what it should be.
type lineCase struct {
	got       entry
	typ, want string
}

func checkLines(t *testing.T, cases map[string]lineCase) {
	t.Helper()
	for name, c := range cases {
		assert.Equal(t, c.typ, c.got.typ, name)
		assert.Equal(t, c.want, c.got.line, name)
	}
}

func TestLinesOfCamerasAndLidars(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 5, 3))))
	withSize := line(t, &sample.CompressedImage{Header: header(), Format: "png", Data: picture.Bytes()})
	assert.Equal(t, "ImageData", withSize.typ)
	assert.True(t, strings.HasPrefix(withSize.line, headJSON+`"Width":5,"Height":3,"Bytes":"`), withSize.line)
	checkLines(t, map[string]lineCase{
		"image": {
			line(t, &sample.Image{Header: header(), Width: 2, Height: 1, Step: 2, Encoding: "mono8", Data: []byte{255, 0}}),
			"UncompressedImageData",
			headJSON + `"Width":2,"Height":1,"Length":2,"Encoding":"mono8","IsBigEndian":false,"Bytes":"/wA=","Step":2}`,
		},
		"unreadable picture": {
			line(t, &sample.CompressedImage{Header: header(), Format: "jpeg", Data: []byte{1, 2, 3}}),
			"ImageData", headJSON + `"Bytes":"AQID","Length":3,"Format":"jpeg"}`,
		},
		"camera info": {
			line(t, &sample.CameraInfo{
				Header: header(), Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{0.1, 0.2, 0.3, 0.4, 0.5},
				K: [9]float64{500, 0, 319.5, 0, 501, 239.5, 0, 0, 1}, R: [9]float64{1}, P: [12]float64{2},
			}), "CameraInfoData",
			headJSON + `"Width":640,"Height":480,"FocalLengthX":500,"FocalLengthY":501,"PrincipalPointX":319.5,"PrincipalPointY":239.5,` +
				`"DistortionParameters":[0.1,0.2,0.5,0],"DistortionModel":"plumb_bob","D":[0.1,0.2,0.3,0.4,0.5],` +
				`"K":[500,0,319.5,0,501,239.5,0,0,1],"R":[1,0,0,0,0,0,0,0,0],"P":[2,0,0,0,0,0,0,0,0,0,0,0]}`,
		},
		"camera info of a fisheye": {
			line(t, &sample.CameraInfo{Header: header(), DistortionModel: "equidistant", D: []float64{0.1, 0.2, 0.3, 0.4}}), "CameraInfoData",
			headJSON + `"Width":0,"Height":0,"FocalLengthX":0,"FocalLengthY":0,"PrincipalPointX":0,"PrincipalPointY":0,` +
				`"DistortionParameters":[0,0,0,0],"DistortionModel":"equidistant","D":[0.1,0.2,0.3,0.4],` +
				`"K":[0,0,0,0,0,0,0,0,0],"R":[0,0,0,0,0,0,0,0,0],"P":[0,0,0,0,0,0,0,0,0,0,0,0]}`,
		},
		"cloud": {
			line(t, &sample.PointCloud{
				Header: header(), Rings: 2, Columns: 1, Organized: true,
				Points: []sample.Point{
					{X: 0.1, Y: -2, Z: 3e-9, Intensity: 50, Ring: 1, Return: 2, TimeNs: 4294967295},
					{X: nan, Y: inf, Z: -inf, Ring: 0},
				},
			}), "PointCloudData",
			// The pose's axes: x to z, y to x, z to y, with signs; column by column.
			headJSON + `"LaserCount":2,"Transform":[0,0,1,0,-1,0,0,0,0,-1,0,0,1,2,3,1],` +
				`"Points":[[0.1,-2,3e-09,50],["NaN","Infinity","-Infinity",0]],"PointCount":2,` +
				`"Organized":true,"Columns":1,"Rings":[1,0],"Returns":[2,0],"TimesNs":[4294967295,0]}`,
		},
		"cloud of dual returns": {
			line(t, &sample.PointCloud{
				Header: header(), Rings: 2, Columns: 1, Returns: sample.DualReturns,
				Points: []sample.Point{{X: 1, Return: 3, Ray: 1}, {X: 2, Return: 6, Ray: 1}},
			}), "PointCloudData",
			headJSON + `"LaserCount":2,"Transform":[0,0,1,0,-1,0,0,0,0,-1,0,0,1,2,3,1],` +
				`"Points":[[1,0,0,0],[2,0,0,0]],"PointCount":2,"Organized":false,"Columns":1,"Rings":[0,0],"Returns":[3,6],"TimesNs":[0,0],` +
				`"ReturnMode":"dual","Rays":[1,1]}`,
		},
		"empty cloud": {
			line(t, &sample.PointCloud{Header: header()}), "PointCloudData",
			headJSON + `"LaserCount":0,"Transform":[0,0,1,0,-1,0,0,0,0,-1,0,0,1,2,3,1],` +
				`"Points":[],"PointCount":0,"Organized":false,"Columns":0,"Rings":[],"Returns":[],"TimesNs":[]}`,
		},
	})
}

func TestLinesOfMotion(t *testing.T) {
	checkLines(t, map[string]lineCase{
		"clock": {line(t, &sample.Clock{Stamp: 1_500_000_001}), "ClockData", `{"Clock":1.500000001,"StampNs":1500000001}`},
		"clock before zero": {
			line(t, &sample.Clock{Stamp: -1_000_000_002}), "ClockData", `{"Clock":-1.000000002,"StampNs":-1000000002}`,
		},
		"latest clock": {
			line(t, &sample.Clock{Stamp: math.MinInt64}), "ClockData",
			`{"Clock":-9223372036.854775808,"StampNs":-9223372036854775808}`,
		},
		"imu": {
			line(t, &sample.Imu{
				Header: header(), Orientation: mgl64.QuatIdent(), AngularVelocity: mgl64.Vec3{0.25, 0, -0.5},
				LinearAcceleration: mgl64.Vec3{0, math.Inf(-1), 9.80665}, OrientationCovariance: [9]float64{-1},
			}), "ImuData",
			headJSON + `"Position":{"x":1,"y":2,"z":3},"Orientation":{"x":0,"y":0,"z":0,"w":1},` +
				`"Acceleration":{"x":0,"y":"-Infinity","z":9.80665},"AngularVelocity":{"x":0.25,"y":0,"z":-0.5},` +
				`"OrientationCovariance":[-1,0,0,0,0,0,0,0,0],"AngularVelocityCovariance":[0,0,0,0,0,0,0,0,0],` +
				`"AccelerationCovariance":[0,0,0,0,0,0,0,0,0]}`,
		},
		"gnss": {
			line(t, &sample.GnssFix{
				Header: header(), Status: -1, Service: 1, Latitude: 48.137154, Longitude: -11.576124, Altitude: 519.25,
				PositionCovariance: [9]float64{4}, PositionCovarianceType: 2,
			}), "GpsData",
			headJSON + `"Latitude":48.137154,"Longitude":-11.576124,"Altitude":519.25,"PositionCovariance":[4,0,0,0,0,0,0,0,0],` +
				`"Orientation":{"x":0.5,"y":-0.5,"z":0.5,"w":0.5},"Status":-1,"Service":1,"PositionCovarianceType":2}`,
		},
		"odometry": {
			line(t, &sample.Odometry{
				Header: header(), ChildFrameID: "base_link", BodyPose: spatial.Identity(),
				Twist: spatial.Twist{Linear: mgl64.Vec3{10, 1, 0}, Angular: mgl64.Vec3{0, 0, 0.1}},
			}), "GpsOdometryData",
			headJSON + `"ChildFrame":"base_link","Orientation":{"x":0,"y":0,"z":0,"w":1},"ForwardSpeed":10,` +
				`"Velocity":{"x":10,"y":1,"z":0},"AngularVelocity":{"x":0,"y":0,"z":0.1},"Position":{"x":0,"y":0,"z":0},` +
				`"PoseCovariance":[` + strings.Repeat("0,", 35) + `0],"TwistCovariance":[` + strings.Repeat("0,", 35) + `0]}`,
		},
		"transforms": {
			line(t, &sample.Transforms{Stamp: 7, Static: true, Transforms: []sample.Transform{
				{Header: header(), ChildFrameID: "a", Relative: spatial.Identity()},
				{Header: header(), ChildFrameID: "b", Relative: spatial.Identity()},
			}}), "TransformsData",
			`{"Name":"Front \"main\"","Time":0.000000007,"StampNs":7,"Static":true,"Data":[` +
				`{"Frame":"frame","ChildFrame":"a","Time":12.003000004,"StampNs":12003000004,"Position":{"x":0,"y":0,"z":0},"Orientation":{"x":0,"y":0,"z":0,"w":1}},` +
				`{"Frame":"frame","ChildFrame":"b","Time":12.003000004,"StampNs":12003000004,"Position":{"x":0,"y":0,"z":0},"Orientation":{"x":0,"y":0,"z":0,"w":1}}]}`,
		},
	})
}

func TestAwkwardTextStaysOneLine(t *testing.T) {
	for _, frame := range []string{"a\nb", "tab\tquote\" back\\slash", "\x00\x1f", "umlaut ä €", "\u2028"} {
		m := &sample.Imu{}
		m.FrameID = frame
		var got struct{ Frame string }
		require.NoError(t, json.Unmarshal([]byte(line(t, m).line), &got))
		assert.Equal(t, frame, got.Frame)
	}
	m := &sample.Imu{}
	m.FrameID = "bad\xffutf8"
	assert.Contains(t, line(t, m).line, `"bad`+"\ufffd"+`utf8"`)
}

// fill logs n pictures of noise, or fewer until a publisher fails.
func fill(t *testing.T, b *bridges.Bridge, n int) error {
	t.Helper()
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	m := &sample.Image{Width: 40_000, Height: 1, Step: 40_000, Encoding: "mono8", Data: make([]byte, 40_000)}
	noise := rand.NewChaCha8([32]byte{1})
	for range n {
		if _, err := noise.Read(m.Data); err != nil {
			return err
		}
		if err := publish(t.Context(), m); err != nil {
			return err
		}
	}
	return nil
}

// onDisk returns a connected log on a disk of so many bytes.
func onDisk(t *testing.T, capacity int) (*bridges.Bridge, *bridgetest.FullDisk) {
	t.Helper()
	disk := &bridgetest.FullDisk{Capacity: capacity}
	registry, err := bridges.NewRegistry(logging.Factory{Open: func(string) (bridges.Target, error) { return disk, nil }})
	require.NoError(t, err)
	b, err := registry.Open("logging:a", bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	return b, disk
}

func TestFullDiskLeavesTheLogReadable(t *testing.T) {
	const messages = 60 // three members
	whole, disk := onDisk(t, 1<<30)
	require.NoError(t, fill(t, whole, messages))
	require.NoError(t, whole.Close(t.Context()))
	total := len(disk.Data)
	require.Len(t, unpack(t, disk.Data), messages)
	kept := map[int64]bool{}
	for capacity := 0; capacity < total; capacity += total/8 + 1 {
		b, disk := onDisk(t, capacity)
		err := fill(t, b, messages)
		closeErr := b.Close(t.Context())
		require.ErrorIs(t, closeErr, flow.ErrWriteFailed)
		require.ErrorIs(t, closeErr, syscall.ENOSPC)
		if err != nil {
			require.ErrorIs(t, err, flow.ErrWriteFailed)
		}
		assert.ErrorIs(t, b.Err(), flow.ErrWriteFailed)
		assert.Equal(t, flow.UnexpectedlyDisconnected, b.Status())
		assert.Equal(t, 1, disk.Closed)
		s := b.Statistics()
		assert.Positive(t, s.Drops[flow.CauseWriteFailed])
		kept[s.Messages] = true
		if s.Messages == 0 {
			assert.Empty(t, disk.Data)
			continue
		}
		require.Len(t, unpack(t, disk.Data), int(s.Messages), "counted as logged is what is readable")
	}
	assert.Greater(t, len(kept), 2, "one and two members are kept too")
}

func TestEqualRunsGiveEqualBytes(t *testing.T) { // law T5
	var files [2][]byte
	for i := range files {
		b, disk := onDisk(t, 1<<30)
		require.NoError(t, fill(t, b, 40))
		require.NoError(t, b.Close(t.Context()))
		files[i] = disk.Data
	}
	assert.True(t, bytes.Equal(files[0], files[1]))
}

// mood is a message type that raybridge knows nothing of.
type mood struct{ Word string }

func (*mood) Captured() simtime.Stamp { return 0 }

func TestTypesOfOnesOwn(t *testing.T) {
	registry, err := bridges.NewRegistry(logging.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("logging")
	require.NoError(t, err)
	encode := func(dst []byte, m *mood) ([]byte, error) { return fmt.Appendf(dst, `{"Word":"%s"}`, m.Word), nil }
	codec := bridges.Codec[*mood]{Schema: bridges.Schema{Name: "MoodData"}, Append: encode}
	require.NoError(t, codec.Register(plugin))
	require.ErrorIs(t, codec.Register(plugin), bridges.ErrDuplicate)
	dir := t.TempDir()
	b, err := registry.Open("logging:moods", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*mood](b, bridges.Topic{Name: "mood"})
	require.NoError(t, err)
	require.NoError(t, publish(t.Context(), &mood{"fine"}))
	assert.ErrorIs(t, publish(t.Context(), &mood{"two\nlines"}), bridges.ErrConvert)
	require.NoError(t, b.Close(t.Context()))
	data, err := os.ReadFile(filepath.Join(dir, "moods.txt.gz"))
	require.NoError(t, err)
	assert.Equal(t, []entry{{"MoodData", "mood", `{"Word":"fine"}`}}, unpack(t, data))
}

func TestPublishingAllocatesNothing(t *testing.T) {
	registry, err := bridges.NewRegistry(logging.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("logging")
	require.NoError(t, err)
	require.NoError(t, bridges.Codec[*mood]{
		Schema: bridges.Schema{Name: "MoodData"},
		Append: func(dst []byte, m *mood) ([]byte, error) { return append(dst, `{"Word":"fine"}`...), nil },
	}.Register(plugin))
	require.NoError(t, ros.Register(registry, ros.Publish(func(dst *ros.Clock, _ *gladness) error { return dst.Clock.Set(7) }), "logging"))
	b, err := registry.Open("logging:a", bridges.Env{OutDir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	allocatesNothing(t, b, bridgetest.PointCloud(0))
	allocatesNothing(t, b, &mood{})
	allocatesNothing(t, b, &gladness{})
	require.NoError(t, b.Close(t.Context()))
}

// gladness is another type that raybridge knows nothing of.
type gladness struct{ mood }

// allocatesNothing fails where publishing msg allocates.
func allocatesNothing[T any](t *testing.T, b *bridges.Bridge, msg T) {
	t.Helper()
	ctx := context.Background()
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: fmt.Sprintf("/%T", msg)})
	require.NoError(t, err)
	require.NoError(t, publish(ctx, msg))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := publish(ctx, msg); err != nil {
			t.Error(err)
		}
	}), "%T", msg)
}

func ExampleFactory() {
	dir, err := os.MkdirTemp("", "logging")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	b, err := bridges.MustRegistry(logging.Factory{}).Open("logging:drive", bridges.Env{OutDir: dir})
	if err != nil {
		panic(err)
	}
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock"})
	if err != nil {
		panic(err)
	}
	if err := b.Connect(ctx); err != nil {
		panic(err)
	}
	if err := publish(ctx, &sample.Clock{Stamp: 1_500_000_000}); err != nil {
		panic(err)
	}
	if err := b.Close(ctx); err != nil {
		panic(err)
	}
	file, err := os.Open(filepath.Join(dir, "drive.txt.gz"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(os.Stdout, text); err != nil {
		panic(err)
	}
	// Output:
	// ClockData /clock
	// {"Clock":1.500000000,"StampNs":1500000000}
}

// TestARemovedLogIsALoss: a log that is removed while it is written fails at the next member
// or at the end. All that it had is counted as lost.
func TestARemovedLogIsALoss(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove, "renamed": func(path string) error { return os.Rename(path, path+"1") },
		"truncated":       func(path string) error { return os.Truncate(path, 0) },
		"with its folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		for _, messages := range []int{1, 60} { // within a member, and three
			if name == "truncated" && messages == 1 {
				continue // the file has nothing yet, so nothing is lost
			}
			t.Run(fmt.Sprint(name, " ", messages), func(t *testing.T) {
				registry, err := bridges.NewRegistry(logging.Factory{})
				require.NoError(t, err)
				dir := filepath.Join(t.TempDir(), "out")
				b, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
				require.NoError(t, err)
				require.NoError(t, b.Connect(t.Context()))
				require.NoError(t, fill(t, b, messages))
				require.NoError(t, lose(filepath.Join(dir, "drive.txt.gz")))
				if err := fill(t, b, messages); err != nil {
					require.ErrorIs(t, err, flow.ErrWriteFailed)
				}
				err = b.Close(t.Context())
				require.ErrorIs(t, err, flow.ErrWriteFailed)
				assert.ErrorContains(t, err, "drive.txt.gz: the recording was removed, renamed, replaced or truncated")
				assert.ErrorIs(t, b.Err(), flow.ErrWriteFailed)
				assert.Zero(t, b.Statistics().Messages)
				assert.Positive(t, b.Statistics().Drops[flow.CauseWriteFailed])
			})
		}
	}
}

const (
	identityJSON = `{"x":0,"y":0,"z":0,"w":1}`
	zeroJSON     = `{"x":0,"y":0,"z":0}`
)

func TestLinesOfRanges(t *testing.T) {
	inf := float32(math.Inf(1))
	checkLines(t, map[string]lineCase{
		"laser scan": {
			line(t, &sample.LaserScan{
				Header: header(), AngleMin: -1.5, AngleMax: 1.5, AngleIncrement: 0.1, TimeIncrement: 0.001, ScanTime: 0.1,
				RangeMin: 0.25, RangeMax: 30, Ranges: []float32{1.1, inf, -inf}, Intensities: []float32{7},
			}), "LaserScanData",
			headJSON + `"MinAngle":-1.5,"MaxAngle":1.5,"AngleStep":0.1,"RangeMin":0.25,"RangeMax":30,"TimeIncrement":0.001,"ScanTime":0.1,` +
				`"Transform":[0,0,1,0,-1,0,0,0,0,-1,0,0,1,2,3,1],"Ranges":[1.1,"Infinity","-Infinity"],"Intensities":[7]}`,
		},
		"range": {
			line(t, &sample.Range{Header: header(), RadiationType: sample.RadiationInfrared, FieldOfView: 0.7, MinRange: 0.3, MaxRange: 2, Range: 1.25}),
			"UltrasonicData", headJSON + `"MinimumDistance":1.25,"Radiation":1,"FieldOfView":0.7,"RangeMin":0.3,"RangeMax":2}`,
		},
		"radar": {
			line(t, &sample.Radar{Header: header(), Detections: []sample.RadarDetection{{Velocity: -1.5, Azimuth: 0.1, Altitude: 0.2, Depth: 20, Instance: 9, Tag: 14}, {}}}),
			"RadarData", headJSON + `"Data":[{"Velocity":-1.5,"Azimuth":0.1,"Altitude":0.2,"Depth":20,"Instance":9,"Tag":14},` +
				`{"Velocity":0,"Azimuth":0,"Altitude":0,"Depth":0,"Instance":0,"Tag":0}]}`,
		},
		"radar objects": {
			line(t, &sample.RadarObjects{Header: header(), Objects: []sample.RadarObject{{ID: 7, Position: mgl64.Vec3{30, 0, 1}, Velocity: mgl64.Vec3{-4, 0, 0}, Size: mgl64.Vec3{4, 2, 1}, Moving: true, New: true}}}),
			"DetectedRadarObjectData", headJSON + `"Data":[{"Id":7,"RelativePosition":{"x":30,"y":0,"z":1},"RelativeVelocity":{"x":-4,"y":0,"z":0},` +
				`"ColliderSize":{"x":4,"y":2,"z":1},"State":0,"NewDetection":true}]}`,
		},
		"events": {
			line(t, &sample.DvsEvents{Header: header(), Width: 4, Height: 2, FovDeg: 90, Events: []sample.DvsEvent{{X: 3, Y: 1, TimeNs: 11, Polarity: true}, {TimeNs: 12}}}),
			"DvsEventsData", headJSON + `"Width":4,"Height":2,"FieldOfView":90,"Events":[[3,1,11,1],[0,0,12,0]]}`,
		},
	})
}

func TestLinesOfVehicles(t *testing.T) {
	checkLines(t, map[string]lineCase{
		"speed": {line(t, &sample.Speed{Header: header(), MetresPerSecond: -3.5}), "SpeedData", headJSON + `"Speed":-3.5}`},
		"can bus": {
			line(t, &sample.CanBus{
				Header: header(), Speed: 8.5, Throttle: 0.25, Braking: 0.5, Steering: -0.75, HighBeam: true, EngineOn: true, Reverse: true,
				Gear: sample.GearReverse, EngineRPM: 900, Latitude: 49.01, Longitude: 8.4, Altitude: 115, Orientation: mgl64.QuatIdent(),
			}), "CanBusData",
			headJSON + `"Speed":8.5,"Throttle":0.25,"Braking":0.5,"Steering":-0.75,"ParkingBrake":false,"HighBeamSignal":true,"LowBeamSignal":false,` +
				`"HazardLights":false,"FogLights":false,"LeftTurnSignal":false,"RightTurnSignal":false,"Wipers":false,"InReverse":true,"Gear":2,` +
				`"EngineOn":true,"EngineRPM":900,"Latitude":49.01,"Longitude":8.4,"Altitude":115,"Orientation":` + identityJSON + `,"Velocity":` + zeroJSON + `}`,
		},
		"vehicle odometry": {
			line(t, &sample.VehicleOdometry{Header: header(), Velocity: 8.5, FrontWheelAngle: 0.25}),
			"VehicleOdometryData", headJSON + `"Speed":8.5,"SteeringAngleFront":0.25,"SteeringAngleBack":0}`,
		},
		"gps odometry": {
			line(t, &sample.GpsOdometry{
				Header: header(), ChildFrameID: "base_link", Latitude: 49, Longitude: 8, Altitude: 115, Northing: 5428000.5, Easting: 426000.25,
				Orientation: mgl64.QuatIdent(), ForwardSpeed: 8.5, WheelAngle: 0.1,
			}), "GpsOdometryData",
			headJSON + `"ChildFrame":"base_link","Latitude":49,"Longitude":8,"Altitude":115,"Northing":5.4280005e+06,"Easting":426000.25,` +
				`"Orientation":` + identityJSON + `,"ForwardSpeed":8.5,"Velocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON + `,"WheelAngle":0.1}`,
		},
		"ins status": {
			line(t, &sample.InsStatus{Header: header(), Status: 3, PositionType: 56}), "GpsInsData", headJSON + `"Status":3,"PositionType":56}`,
		},
	})
}

func TestLinesOfActors(t *testing.T) {
	checkLines(t, map[string]lineCase{
		"boxes 2d": {
			line(t, &sample.Detections2D{Header: header(), Width: 640, Height: 480, Boxes: []sample.Box2D{
				{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1, CenterX: 320.5, CenterY: 240, Width: 100, Height: 60, Pixels: 900, Occlusion: 0.1, Truncation: 0.25},
			}}), "Detected2DObjectData",
			headJSON + `"Data":[{"Id":7,"Label":"Sedan","Score":1,"Position":{"x":320.5,"y":240},"Scale":{"x":100,"y":60},"LinearVelocity":` + zeroJSON +
				`,"AngularVelocity":` + zeroJSON + `,"TypeId":"vehicle.sedan","Tag":14,"Pixels":900,"Occlusion":0.1,"Truncation":0.25}],"Width":640,"Height":480}`,
		},
		"boxes 3d": {
			line(t, &sample.Detections3D{Header: header(), Boxes: []sample.Box3D{
				{ID: 7, TypeID: "vehicle.sedan", Label: "Sedan", Tag: 14, Score: 1, Pose: spatial.Identity(), Size: mgl64.Vec3{4, 2, 1}, Occlusion: 0.5},
			}}), "Detected3DObjectData",
			headJSON + `"Data":[{"Id":7,"Label":"Sedan","Score":1,"Position":` + zeroJSON + `,"Rotation":` + identityJSON + `,"Scale":{"x":4,"y":2,"z":1},` +
				`"LinearVelocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON + `,"Acceleration":` + zeroJSON + `,"TypeId":"vehicle.sedan","Tag":14,"Occlusion":0.5}]}`,
		},
		"signals": {
			line(t, &sample.Signals{Header: header(), Signals: []sample.Signal{{ID: 3, Label: "red", Score: 1, Pose: spatial.Identity(), Size: mgl64.Vec3{1, 2, 3}}}}),
			"SignalDataArray",
			headJSON + `"Data":[{"Id":3,"Label":"red","Score":1,"Position":` + zeroJSON + `,"Rotation":` + identityJSON + `,"Scale":{"x":1,"y":2,"z":3}}]}`,
		},
		"collision": {
			line(t, &sample.Collision{Header: header(), Actor: 1, ActorType: "vehicle.ego", Other: 2, OtherType: "walker", NormalImpulse: mgl64.Vec3{1, 0, 0}}),
			"CollisionData", headJSON + `"Actor":1,"ActorType":"vehicle.ego","Other":2,"OtherType":"walker","NormalImpulse":{"x":1,"y":0,"z":0}}`,
		},
		"obstacle": {
			line(t, &sample.Obstacle{Header: header(), Actor: 1, ActorType: "vehicle.ego", Other: 2, OtherType: "walker", Distance: 4.5}),
			"ObstacleData", headJSON + `"Actor":1,"ActorType":"vehicle.ego","Other":2,"OtherType":"walker","Distance":4.5}`,
		},
		"lane invasion": {
			line(t, &sample.LaneInvasion{Header: header(), Actor: 1, Marks: []sample.CrossedMark{{ID: 5, Type: sample.LaneMarkSolid, Color: sample.LaneMarkYellow}}}),
			"LaneInvasionData", headJSON + `"Actor":1,"Marks":[{"Id":5,"Type":2,"Color":4}]}`,
		},
		"lane marks": {
			line(t, &sample.LaneMarks{Header: header(), Marks: []sample.LaneMark{
				{ID: 5, Type: sample.LaneMarkSolid, Color: sample.LaneMarkYellow, Points: []mgl64.Vec3{{1, 2, 3}, {4, 5, 6}}}, {ID: 6},
			}}),
			"LaneMarksData", headJSON + `"Marks":[{"Id":5,"Type":2,"Color":4,"Points":[{"x":1,"y":2,"z":3},{"x":4,"y":5,"z":6}]},{"Id":6,"Type":0,"Color":0,"Points":[]}]}`,
		},
		"lane lines": {
			line(t, &sample.LaneLines{Header: header(), Lines: []sample.LaneLine{
				{Width: 0.12, Type: sample.LaneLineWhiteSolid, Place: sample.LaneLineEgoLeft, MinX: 1, MaxX: 40, C: [4]float64{1.75, 0.5, 0.25, 0.125}},
			}}),
			"LaneLinesData", headJSON + `"Lines":[{"LineWidth":0.12,"Type":1,"PositionType":-1,"Curve":{"MinX":1,"MaxX":40,"C0":1.75,"C1":0.5,"C2":0.25,"C3":0.125}}]}`,
		},
		"snapshot": {
			line(t, &sample.Snapshot{Header: header(), DeltaNs: 10_000_000, Actors: []sample.ActorState{
				{TypeID: "vehicle.ego", Kind: sample.KindVehicle, Pose: spatial.Identity(), Throttle: 0.5, Steering: -0.25, Gear: -1, Reverse: true},
				{ID: 1, TypeID: "traffic.light", Kind: sample.KindTrafficLight, Pose: spatial.Identity(), Signal: world.SignalGreen, SignalElapsed: 1.5, Red: 5, Yellow: 1, Green: 4},
				{ID: 2, TypeID: "walker", Kind: sample.KindWalker, Pose: spatial.Identity()},
			}}), "SnapshotData",
			headJSON + `"FrameNumber":0,"DeltaNs":10000000,"Actors":[` +
				`{"Id":0,"TypeId":"vehicle.ego",` + placeJSON + `,"Throttle":0.5,"Braking":0,"Steering":-0.25,"Gear":-1,"InReverse":true},` +
				`{"Id":1,"TypeId":"traffic.light",` + placeJSON + `,"Signal":2,"SignalElapsed":1.5,"Red":5,"Yellow":1,"Green":4},` +
				`{"Id":2,"TypeId":"walker",` + placeJSON + `}]}`,
		},
	})
}

// placeJSON is where an actor of zeros is.
const placeJSON = `"Position":` + zeroJSON + `,"Orientation":` + identityJSON + `,"LinearVelocity":` + zeroJSON + `,"AngularVelocity":` + zeroJSON +
	`,"Acceleration":` + zeroJSON + `,"BoxCenter":` + zeroJSON + `,"BoxHalf":` + zeroJSON
