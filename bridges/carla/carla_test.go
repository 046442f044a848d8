package carla_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// header is that of all golden vectors: vectors.c has it in Unreal Engine's axes.
func header() sample.Header {
	return sample.Header{
		Frame: 1234567890123, Stamp: 12_500_000_000, Seq: 3,
		Pose: spatial.FromRPY(mgl64.Vec3{1.5, 2.25, 0.75}, 20, 10, 30),
	}
}

func floats(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func image(encoding string, width, height, step int, fov float64, data []byte) *sample.Image {
	return &sample.Image{Header: header(), Width: width, Height: height, Step: step, Encoding: encoding, FovDeg: fov, Data: data}
}

func cloud(unit bool) *sample.PointCloud {
	point := func(ray uint32, x, y, z, intensity, cosine float32, instance uint32, tag uint8) sample.Point {
		return sample.Point{X: x, Y: y, Z: z, Intensity: intensity, CosIncidence: cosine, Instance: instance, Tag: tag, Ray: ray, Return: sample.ReturnStrongest}
	}
	m := &sample.PointCloud{Header: header(), Organized: true, Rings: 2, Columns: 2, HorizontalAngle: 1.25, UnitIntensity: unit, Points: []sample.Point{
		point(0, 1, 2, 3, 0.5, 0.5, 70000, 14),
		point(1, 4, -5, 6, 1, 1, 0, 1),
		point(2, 7, 8, 9, 0.25, 0.25, 3, 7),
		{Ray: 3, X: float32(math.NaN()), Distance: float32(math.Inf(1))}, // a miss
	}}
	if !unit {
		for i := range m.Points {
			m.Points[i].Intensity *= 255
		}
	}
	return m
}

func imu() *sample.Imu {
	h := header()
	h.Pose = spatial.FromRPY(h.Pose.Position, 20, 10, 30)
	return &sample.Imu{Header: h, Orientation: h.Pose.Orientation, LinearAcceleration: mgl64.Vec3{1, 2, 3}, AngularVelocity: mgl64.Vec3{4, 5, 6}}
}

func snapshot() *sample.Snapshot {
	ego := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 90)
	return &sample.Snapshot{Header: header(), DeltaNs: 62_500_000, Actors: []sample.ActorState{
		{
			Kind: sample.KindVehicle, Pose: ego, Twist: spatial.Twist{Linear: mgl64.Vec3{4, 5, 6}, Angular: mgl64.Vec3{0, 0, math.Pi}},
			Acceleration: mgl64.Vec3{0, 0.5, 0}, Throttle: 0.25, Steering: -0.5, Braking: 0.75, Reverse: true, Gear: -1,
		},
		{ID: 12, Kind: sample.KindWalker, Pose: spatial.Identity(), Twist: spatial.Twist{Linear: mgl64.Vec3{3, 4, 0}}},
		{
			ID: 13, Kind: sample.KindTrafficLight, Pose: spatial.Identity(), Signal: world.SignalGreen, SignalElapsed: 1.5,
			Green: 10, Yellow: 3, Red: 12,
		},
	}}
}

// TestFramesAreCARLAs holds what a client receives against what vectors.c wrote from
// CARLA's packed structs.
func TestFramesAreCARLAs(t *testing.T) {
	for name, c := range map[string]struct {
		sensor  string
		publish func(testing.TB, *bridges.Bridge, bridges.Topic) func() error
	}{
		"rgb":      {"sensor.camera.rgb", publish(image("rgb8", 3, 2, 12, 90, []byte{10, 20, 30, 40, 50, 60, 70, 80, 90, 0, 0, 0, 100, 110, 120, 130, 140, 150, 160, 170, 180, 0, 0, 0}))},
		"depth":    {"sensor.camera.depth", publish(image("32FC1", 3, 1, 12, 60, floats(0, float32(math.Inf(1)), 250)))},
		"semantic": {"sensor.camera.semantic_segmentation", publish(image("mono8", 3, 1, 4, 60, []byte{1, 14, 11, 0}))},
		"instance": {"sensor.camera.instance_segmentation", publish(image("16UC1", 2, 1, 4, 60, []byte{0x34, 0x12, 7, 0}))},
		"flow":     {"sensor.camera.optical_flow", publish(image("32FC2", 2, 1, 16, 60, floats(0.5, -0.25, 0, 2)))},
		"dvs": {"sensor.camera.dvs", publish(&sample.DvsEvents{Header: header(), Width: 400, Height: 70, FovDeg: 90, Events: []sample.DvsEvent{
			{X: 399, Y: 69, TimeNs: 1_000_000_001, Polarity: true}, {X: 0, Y: 3, TimeNs: -5},
		}})},
		"lidar":          {"sensor.lidar.ray_cast", publish(cloud(true))},
		"semantic_lidar": {"sensor.lidar.ray_cast_semantic", publish(cloud(false))},
		"radar": {"sensor.other.radar", publish(&sample.Radar{Header: header(), Detections: []sample.RadarDetection{
			{Velocity: -3.5, Azimuth: -0.125, Altitude: -0.0625, Depth: 42}, {Velocity: 2, Azimuth: 0.25, Altitude: 0.5, Depth: 7.5},
		}})},
		"world": {"sensor.other.snapshot", publish(snapshot())},
		"gnss":  {"sensor.other.gnss", publish(&sample.GnssFix{Header: header(), Latitude: 48.5, Longitude: -122.25, Altitude: 100.125})},
		"obstacle": {"sensor.other.obstacle", publish(&sample.Obstacle{
			Header: header(), Actor: 7, ActorType: "vehicle.van", Other: 0, OtherType: "vehicle.ego", Distance: 4.5,
		})},
		"collision": {"sensor.other.collision", publish(&sample.Collision{
			Header: header(), Actor: 0, ActorType: "vehicle.ego", Other: 300, OtherType: "static.wall", NormalImpulse: mgl64.Vec3{8, 16, 0},
		})},
		"lidar of dual returns": {"sensor.lidar.ray_cast", publish(bridgetest.Dual(cloud(true)))},
	} {
		t.Run(name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, " ")
			want, err := os.ReadFile(filepath.Join("testdata", "wire", file+".bin"))
			require.NoError(t, err)
			name := strings.ReplaceAll(name, " ", "_")
			b, addr := open(t)
			send := c.publish(t, b, bridges.Topic{Name: "/" + name, SensorType: c.sensor})
			assert.Equal(t, want, receive(t, b, addr, stream(name), "/"+name, send, len(want)))
		})
	}
}

// stream is the id that a bridge with one topic gives it.
func stream(name string) uint32 {
	if name == "world" {
		return 1
	}
	return 2
}

// TestCompassPointsNorth: the vector has the sensor look east. It counts from true north, which the
// IMU reports, and which isn't the map's on UTM's grid; where the IMU reports none, from the map's.
func TestCompassPointsNorth(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "wire", "imu.bin"))
	require.NoError(t, err)
	b, addr := open(t)
	m := imu()
	m.Orientation = mgl64.QuatIdent() // the pose has another; only the body is compared
	send := publish(m)(t, b, bridges.Topic{Name: "/imu", SensorType: "sensor.other.imu"})
	got := receive(t, b, addr, 2, "/imu", send, len(want))
	assert.Equal(t, want[52:], got[52:])

	m.Orientation, m.OrientationCovariance[0], m.Pose = mgl64.QuatRotate(1, mgl64.Vec3{0, 0, 1}), -1, spatial.Identity()
	send = publish(m)(t, b, bridges.Topic{Name: "/bare", SensorType: "sensor.other.imu"})
	got = receive(t, b, addr, 3, "/bare", send, len(want))
	assert.Equal(t, want[52:], got[52:])
}

// TestCoarsePlacesAreTold: at UTM's coordinates CARLA's float32 are half a metre apart, which the
// log says once; of a snapshot by its actors.
func TestCoarsePlacesAreTold(t *testing.T) {
	far := mgl64.Vec3{450_000, 5_400_000, 100}
	onTheSpot, farAway, crowd := imu(), imu(), snapshot()
	farAway.Pose.Position, crowd.Actors[0].Pose.Position = far, far
	for name, c := range map[string]struct {
		publish func(testing.TB, *bridges.Bridge, bridges.Topic) func() error
		want    int
	}{
		"near": {publish(onTheSpot), 0}, "sensor": {publish(farAway), 1}, "snapshot": {publish(crowd), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			r, err := bridges.NewRegistry(carla.Factory{})
			require.NoError(t, err)
			b, err := r.Open("carla:127.0.0.1:0", bridges.Env{Log: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			require.NoError(t, b.Connect(t.Context()))
			send := c.publish(t, b, bridges.Topic{Name: "/any"})
			for range 3 {
				_ = send() // nobody listens
			}
			require.NoError(t, b.Close(context.Background()))
			assert.Equal(t, c.want, strings.Count(log.String(), "at (450000, 5400000) they are only exact to 0.5 m"), log.String())
		})
	}
}

// TestNormalsAreInTheWorldsAxes: the vector has a camera that looks along the map's x
// axis; its optical frame is x right, y down, z ahead.
func TestNormalsAreInTheWorldsAxes(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "wire", "normals.bin"))
	require.NoError(t, err)
	b, addr := open(t)
	nan := float32(math.NaN())
	m := image("32FC3", 4, 1, 48, 60, floats(0, -1, 0, 0, 0, 1, -1, 0, 0, nan, nan, nan))
	m.Pose = spatial.Identity() // only the body is compared
	send := publish(m)(t, b, bridges.Topic{Name: "/normals", SensorType: "sensor.camera.normals"})
	got := receive(t, b, addr, 2, "/normals", send, len(want))
	assert.Equal(t, want[:12], got[:12], "length and type")
	assert.Equal(t, want[52:], got[52:])
}

// publish returns what publishes m on a topic.
func publish[T any](m T) func(testing.TB, *bridges.Bridge, bridges.Topic) func() error {
	return func(t testing.TB, b *bridges.Bridge, topic bridges.Topic) func() error {
		send, err := bridges.AddPublisher[T](b, topic)
		require.NoError(t, err)
		return func() error { return send(context.Background(), m) }
	}
}

// open returns a bridge that listens, and its address.
func open(t testing.TB) (*bridges.Bridge, string) {
	t.Helper()
	return openWith(t, "")
}

// openWith returns one with options.
func openWith(t testing.TB, options string) (*bridges.Bridge, string) {
	t.Helper()
	r, err := bridges.NewRegistry(carla.Factory{})
	require.NoError(t, err)
	b, err := r.Open("carla:127.0.0.1:0?"+options, bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b, b.Endpoints()[0].Address
}

// dial subscribes to a stream as CARLA's client does.
func dial(t testing.TB, addr string, id uint32) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write(binary.LittleEndian.AppendUint32(nil, id))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	return conn
}

// receive subscribes to a stream, sends one message and returns what comes.
func receive(t *testing.T, b *bridges.Bridge, addr string, id uint32, topic string, send func() error, n int) []byte {
	t.Helper()
	conn := dial(t, addr, id)
	require.Eventually(t, func() bool { return b.Listening(topic) }, 10*time.Second, time.Millisecond)
	require.NoError(t, send())
	got := make([]byte, n)
	_, err := io.ReadFull(conn, got)
	require.NoError(t, err)
	return got
}

// TestVectorsAreFresh makes the vectors again where there is a C compiler.
func TestVectorsAreFresh(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "vectors")
	out, err := exec.Command(cc, "-o", program, filepath.Join("testdata", "vectors.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	entries, err := os.ReadDir(filepath.Join("testdata", "wire"))
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("testdata", "wire", e.Name()))
		require.NoError(t, err)
		assert.Equal(t, want, got, e.Name())
	}
}

func TestTokens(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "wire", "tokens.bin"))
	require.NoError(t, err)
	tokens := []carla.Token{
		{Stream: 2, Address: netip.MustParseAddrPort("127.0.0.1:2001")},
		{Stream: 3, Address: netip.MustParseAddrPort("[2001:db8::9]:7000")},
		{Stream: 1, Address: netip.AddrPortFrom(netip.Addr{}, 2001)},
	}
	var got []byte
	for _, token := range tokens {
		got, err = token.AppendBinary(got)
		require.NoError(t, err)
	}
	assert.Equal(t, want, got)
}

// registry is CARLA 0.9.15's list of sensors in its order: a place is a type id. Those
// that have no counterpart or send nothing are in brackets.
var registry = []string{
	"sensor.other.collision", "sensor.camera.depth", "sensor.camera.normals", "sensor.camera.dvs", "sensor.other.gnss",
	"sensor.other.imu", "(lane invasion)", "sensor.other.obstacle", "sensor.camera.optical_flow", "sensor.other.radar",
	"sensor.lidar.ray_cast_semantic", "sensor.lidar.ray_cast", "(RSS)", "sensor.camera.rgb",
	"sensor.camera.semantic_segmentation", "sensor.camera.instance_segmentation", "sensor.other.snapshot",
}

func TestTypeIDsAreCARLAs(t *testing.T) {
	want := map[string]uint64{}
	for id, sensor := range registry {
		if sensor[0] != '(' {
			want[sensor] = uint64(id)
		}
	}
	assert.Equal(t, want, maps.Clone(carla.TypeIDs))
}
