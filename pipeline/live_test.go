//go:build cgo

package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func registry() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(motion.IMUDefinition, motion.GNSSDefinition, motion.OdometryDefinition, motion.TransformDefinition, lidar.RayCastDefinition))
}

func opener(t testing.TB) gpu.Opener {
	t.Helper()
	return func() (*gpu.Context, error) {
		c, err := gputest.Opener()()
		if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
			return nil, errSkip
		}
		return c, err
	}
}

var errSkip = errors.New("no live OpenGL")

// newPipeline makes a pipeline in front of a moving wall; it is closed with the test.
func newPipeline(t testing.TB, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	return newPipelineIn(t, scenetest.MovingWall(30, 5), c)
}

// newPipelineIn is newPipeline in a scene.
func newPipelineIn(t testing.TB, in *scene.Scene, c pipeline.Config) *pipeline.Pipeline {
	t.Helper()
	c.Scene, c.Open = in, opener(t)
	if c.ClockRate.IsZero() {
		c.ClockRate = simtime.Hz(100)
	}
	if c.Sensors == nil {
		c.Sensors = registry()
	}
	p, err := pipeline.New(t.Context(), c)
	if errors.Is(err, errSkip) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	return p
}

func add(t testing.TB, p *pipeline.Pipeline, c sensors.Config) *pipeline.Sensor {
	t.Helper()
	s, err := p.AddSensor(c)
	require.NoError(t, err)
	return s
}

func listen[M any](t testing.TB, s *pipeline.Sensor, output string, call func(sensors.Tick, M)) {
	t.Helper()
	_, err := pipeline.Listen(s, output, call)
	require.NoError(t, err)
}

func TestStepsPublishOnTheGrid(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	scanner := add(t, p, sensors.Config{ID: lidar.ID, Name: "lidar", Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16"}})
	inertial := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.MustRate("13.4")})
	unheard := add(t, p, sensors.Config{ID: "sensor.other.gnss", Name: "gnss"})
	var stamps, scans []int64
	listen(t, inertial, "imu", func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	listen(t, scanner, "points", func(at sensors.Tick, m *sample.PointCloud) {
		scans = append(scans, int64(m.Stamp))
		assert.NotEmpty(t, m.Points)
		assert.Equal(t, m.Stamp+100_000_000, at.Due)
	})
	require.NoError(t, p.Run(t.Context(), time.Second))

	require.Len(t, scans, 10)
	for i, s := range scans {
		assert.EqualValues(t, i*100_000_000, s)
	}
	require.Len(t, stamps, 13)
	for k, s := range stamps {
		assert.EqualValues(t, int64(k+1)*5_000_000_000/67, s)
	}
	summary := p.Summary()
	assert.Equal(t, 1.0, summary.SimS)
	assert.Positive(t, summary.RealTimeFactor)
	byTopic := map[string]carry.SensorSummary{}
	for _, row := range summary.Sensors {
		byTopic[row.Topic] = row
	}
	assert.EqualValues(t, 10, byTopic["/lidar/points"].Messages)
	assert.Positive(t, byTopic["/lidar/points"].LatencyP50Ms)
	assert.True(t, byTopic[unheard.Topics()[0]].Idle)
}

func TestStepAdvancesBySteps(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Step: 20 * time.Millisecond})
	s := add(t, p, sensors.Config{ID: "sensor.other.odometry", Name: "odom", Rate: simtime.Hz(50)})
	n := 0
	listen(t, s, "odometry", func(sensors.Tick, *sample.Odometry) { n++ })
	require.NoError(t, p.Step(t.Context(), 3))
	assert.Equal(t, 3, n)
	require.NoError(t, p.Step(t.Context(), 2))
	assert.Equal(t, 5, n)
}

func TestRealtimeFollowsTheClock(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Mode: pipeline.Realtime, Scale: 2})
	scanner := add(t, p, sensors.Config{ID: lidar.ID, Name: "lidar", Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 180}})
	inertial := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(20)})
	var stamps []int64
	scans := 0
	listen(t, inertial, "imu", func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	listen(t, scanner, "points", func(sensors.Tick, *sample.PointCloud) { scans++ })
	begun := time.Now()
	require.NoError(t, p.Run(t.Context(), time.Second))
	assert.GreaterOrEqual(t, time.Since(begun), 500*time.Millisecond)
	assert.NotEmpty(t, stamps)
	for _, s := range stamps {
		assert.Zero(t, s%50_000_000, "stamp %d is off the grid", s)
	}
	assert.Positive(t, scans)
}

func TestTheCallersEndIsNoError(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	s := add(t, p, sensors.Config{ID: lidar.ID, Name: "lidar", Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16"}})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	listen(t, s, "points", func(sensors.Tick, *sample.PointCloud) {
		if n++; n == 3 {
			cancel()
		}
	})
	require.NoError(t, p.Run(ctx, 0))
	assert.GreaterOrEqual(t, n, 3)
}

func TestWrongUse(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	s := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "imu"})
	_, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu"})
	require.ErrorIs(t, err, rig.ErrName)
	_, err = p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu2", Topic: "/imu"})
	require.ErrorIs(t, err, pipeline.ErrTopic)
	_, err = pipeline.Listen(s, "imu", func(sensors.Tick, *sample.Image) {})
	require.ErrorIs(t, err, pipeline.ErrOutput)
	require.NoError(t, p.Step(t.Context(), 1))
	require.NoError(t, p.Close(t.Context()))
	_, err = p.AddSensor(sensors.Config{ID: "sensor.other.gnss", Name: "late"})
	require.ErrorIs(t, err, pipeline.ErrClosed)
}

// recordingRig is one of each kind of sensor: cameras that share a pass, a lidar,
// and one that needs no GPU.
const recordingRig = `sensors:
  - {id: sensor.camera.rgb, name: cam, image_size_x: 48, image_size_y: 32, compressed: jpeg, pose: {z: 1.5}}
  - {id: sensor.camera.depth, name: depth, frame: cam, image_size_x: 48, image_size_y: 32, pose: {z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: lidar, preset: VelodyneVLP16, columns: 90, noise_stddev: 0.02, pose: {z: 2}}
  - {id: sensor.other.imu, name: imu, rate: 13.4}
`

// recorder makes a pipeline that records the rig into a folder. The caller closes it.
func recorder(t *testing.T, open gpu.Opener, seed uint64, dir string) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: open, Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(),
		Seed: seed, OutDir: dir, ClockRate: simtime.Hz(100),
	})
	if errors.Is(err, errSkip) {
		t.Skip(err)
	}
	require.NoError(t, err)
	r, err := rig.Parse("r.yaml", []byte(recordingRig))
	require.NoError(t, err)
	_, err = p.AddRig(r)
	require.NoError(t, err)
	require.NoError(t, p.AddTransforms())
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:a.mcap?chunk=20000"}))
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "logging:a"}))
	return p
}

// record runs the rig for a second and returns the two recordings.
func record(t *testing.T, open gpu.Opener, seed uint64) (mcap, log []byte) {
	t.Helper()
	dir := t.TempDir()
	p := recorder(t, open, seed, dir)
	require.NoError(t, p.Run(t.Context(), time.Second))
	require.NoError(t, p.Close(t.Context()))
	var err error
	mcap, err = os.ReadFile(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	log, err = os.ReadFile(filepath.Join(dir, "a.txt.gz"))
	require.NoError(t, err)
	return mcap, log
}

// topicCounts reads a recording with the official reader.
func topicCounts(t *testing.T, data []byte) map[string]int {
	t.Helper()
	reader, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer reader.Close()
	messages, err := reader.Messages(foxglove.UsingIndex(true))
	require.NoError(t, err)
	counts := map[string]int{}
	require.NoError(t, foxglove.Range(messages, func(_ *foxglove.Schema, c *foxglove.Channel, _ *foxglove.Message) error {
		counts[c.Topic]++
		return nil
	}))
	return counts
}

// TestSlowFencesGiveTheSameBytes runs the pipeline on a GPU whose fences signal several polls
// later than software OpenGL's. Nothing of the data may depend on when it came back (law T5).
func TestSlowFencesGiveTheSameBytes(t *testing.T) {
	mcap, log := record(t, opener(t), 7)
	assert.Equal(t, 10, topicCounts(t, mcap)["/lidar/points"])
	for _, polls := range []int{1, 5} {
		slowMcap, slowLog := record(t, gputest.Delay(opener(t), polls), 7)
		assert.True(t, bytes.Equal(mcap, slowMcap), "%d polls: the MCAP differs", polls)
		assert.True(t, bytes.Equal(log, slowLog), "%d polls: the log differs", polls)
	}
	other, _ := record(t, opener(t), 8)
	assert.False(t, bytes.Equal(mcap, other), "the seed changes nothing")
}

// losing wraps an opener whose context is lost as soon as lost is set.
func losing(open gpu.Opener, lost *atomic.Bool) gpu.Opener {
	return func() (*gpu.Context, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		wrapped := *c
		wrapped.Driver = &losingDriver{Driver: c.Driver, lost: lost}
		return &wrapped, nil
	}
}

type losingDriver struct {
	gpu.Driver
	lost *atomic.Bool
}

func (d *losingDriver) Reset() error {
	if d.lost.Load() {
		return gpu.ErrContextLost
	}
	return d.Driver.Reset()
}

// PollFence fails like a driver's whose context is gone.
func (d *losingDriver) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.lost.Load() {
		return gpu.FenceFailed
	}
	return d.Driver.PollFence(h)
}

func TestALostContextEndsTheRunAndKeepsTheRecording(t *testing.T) {
	for _, mode := range []string{"stepped", "realtime"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			lost := new(atomic.Bool)
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: scenetest.MovingWall(30, 5), Open: losing(opener(t), lost),
				Sensors: sensorsall.Registry(), Bridges: bridgesall.Registry(), OutDir: dir, ClockRate: simtime.Hz(100),
				Mode: map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime}[mode],
			})
			if errors.Is(err, errSkip) {
				t.Skip(err)
			}
			require.NoError(t, err)
			scanner := add(t, p, sensors.Config{ID: "sensor.lidar.ray_cast", Name: "lidar", Rate: simtime.Hz(20), Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 90}})
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:a.mcap"}))
			scans := 0
			listen(t, scanner, "points", func(sensors.Tick, *sample.PointCloud) {
				if scans++; scans == 5 {
					lost.Store(true)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.ErrorIs(t, p.Run(ctx, 0), gpu.ErrContextLost)
			require.NoError(t, ctx.Err(), "the run did not end by itself")
			require.ErrorIs(t, p.Run(ctx, time.Second), gpu.ErrContextLost, "and can't go on")
			_ = p.Close(ctx) // says again that the context is lost, or not
			data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
			require.NoError(t, err)
			counts := topicCounts(t, data)
			assert.GreaterOrEqual(t, counts["/lidar/points"], 5)
			assert.GreaterOrEqual(t, counts["/clock"], 20)
		})
	}
}

func TestRowsAreIdleOnlyWhereNobodyListened(t *testing.T) {
	p := recorder(t, opener(t), 1, t.TempDir())
	require.NoError(t, p.Run(t.Context(), 80*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	for _, row := range p.Summary().Sensors {
		assert.False(t, row.Idle, "%s was recorded, though it sent %d messages", row.Topic, row.Messages)
	}

	unheard := newPipeline(t, pipeline.Config{})
	add(t, unheard, sensors.Config{ID: "sensor.other.imu", Name: "imu"})
	require.NoError(t, unheard.Run(t.Context(), 80*time.Millisecond))
	summary := unheard.Summary()
	require.Len(t, summary.Sensors, 2)
	for _, row := range summary.Sensors {
		assert.True(t, row.Idle, row.Topic)
	}
	assert.NotNil(t, summary.Bridges, "an empty list, not null")
}

func TestQualityOfServiceNamesATopicThatIsThere(t *testing.T) {
	p := recorder(t, opener(t), 1, t.TempDir())
	defer func() { assert.NoError(t, p.Close(context.Background())) }()
	err := p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:b.mcap", QoS: map[string]flow.QoS{"/nope": {}}})
	require.ErrorIs(t, err, carry.ErrNoTopic)
}

func TestAddTransformsFindsAFreeName(t *testing.T) {
	p := newPipeline(t, pipeline.Config{})
	add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "tf", Topic: "/imu"})
	require.NoError(t, p.AddTransforms())
	assert.Equal(t, []string{"/tf", "/tf_static"}, p.Sensors()[1].Topics())
	require.NoError(t, p.AddTransforms(), "once is enough")
	assert.Len(t, p.Sensors(), 2)
}

// TestARecordingTakesSensorsThatComeAndGo: their channels are added to a file that is being
// written, and the fixed frames are recorded again.
func TestARecordingTakesSensorsThatComeAndGo(t *testing.T) {
	dir := t.TempDir()
	p := recorder(t, opener(t), 1, dir)
	require.NoError(t, p.Step(t.Context(), 20))
	late, err := p.AddSensor(sensors.Config{
		ID: "sensor.camera.depth", Name: "late", Rate: simtime.Hz(100), Attributes: map[string]any{"image_size_x": 16, "image_size_y": 8},
	})
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 10))
	destroy(t, late)
	require.NoError(t, p.Step(t.Context(), 20))
	again, err := p.AddSensor(sensors.Config{ID: "sensor.camera.depth", Name: "late", Rate: simtime.Hz(50), Attributes: map[string]any{"image_size_x": 16, "image_size_y": 8}})
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Equal(t, simtime.Hz(50), again.Rate())
	require.NoError(t, p.Close(t.Context()))
	data, err := os.ReadFile(filepath.Join(dir, "a.mcap"))
	require.NoError(t, err)
	counts := topicCounts(t, data)
	assert.Equal(t, 9+4, counts["/late/image_raw"])
	assert.Equal(t, 9+4, counts["/late/camera_info"])
	assert.Equal(t, 6, counts["/lidar/points"], "others go on")
	assert.Equal(t, 4, counts["/tf_static"], "with it, without, and with it again")
}

func onTheGPU() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(camera.DepthDefinition, camera.RGBDefinition, lidar.RayCastDefinition))
}

// small is a sensor with little to compute. A lidar's type is that of its options, and
// what is named besides them goes before them.
func small(id, name string) sensors.Config {
	c := sensors.Config{ID: id, Name: name, Rate: simtime.Hz(50), Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"image_size_x": 32, "image_size_y": 16}}
	if id == lidar.ID {
		c.ID, c.Attributes, c.Options = "", map[string]any{"columns": 60}, lidar.RayCast{Preset: "VelodyneVLP16", Columns: 9}
	}
	return c
}

// TestNobodyListensNothingIsDispatched counts the compute shaders' dispatches, and the
// draws, of a GPU that is Go memory.
func TestNobodyListensNothingIsDispatched(t *testing.T) {
	fake := gputest.NewFake()
	p, err := pipeline.New(t.Context(), pipeline.Config{Scene: scenetest.MovingWall(30, 5), Open: fake.Open, Sensors: onTheGPU()})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close(context.Background())) }()
	eye, scanner := add(t, p, small(camera.DepthDefinition.ID, "eye")), add(t, p, small(lidar.ID, "scanner"))
	work := func() (n int) {
		fake.ClearLog()
		require.NoError(t, p.Step(t.Context(), 20))
		for _, call := range fake.Log() {
			if strings.HasPrefix(call, "Dispatch") || strings.HasPrefix(call, "Draw") {
				n++
			}
		}
		return n
	}
	work() // they begin, and may make tables
	assert.Zero(t, work(), "nobody came")
	seen, err := pipeline.Listen(eye, camera.OutputImage, func(sensors.Tick, *sample.Image) {})
	require.NoError(t, err)
	one := work()
	assert.GreaterOrEqual(t, one, 10, "ten pictures")
	scanned, err := pipeline.Listen(scanner, "points", func(sensors.Tick, *sample.PointCloud) {})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, work(), one+10, "and ten scans")
	seen.Stop()
	scanned.Stop()
	assert.Zero(t, work(), "they went")
}

// TestDestroyGivesTheGPUBack: a sensor that comes and goes leaves nothing there.
func TestDestroyGivesTheGPUBack(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: onTheGPU()})
	live := func() []string {
		require.NoError(t, p.GL().Do(t.Context(), func(*gpu.Ctx) error { return nil })) // where deletions are made
		list := p.GL().Live()
		slices.Sort(list)
		return list
	}
	comeAndGo := func() {
		for _, id := range []string{camera.DepthDefinition.ID, camera.RGBDefinition.ID, lidar.ID} {
			s := add(t, p, small(id, "passing"))
			list, err := p.StepSensors(t.Context(), 10)
			require.NoError(t, err)
			require.NotEmpty(t, list)
			output := camera.OutputImage
			if id == lidar.ID {
				output = "points"
				listen(t, s, output, func(sensors.Tick, *sample.PointCloud) {})
			} else {
				listen(t, s, output, func(sensors.Tick, *sample.Image) {})
			}
			list, err = p.StepSensors(t.Context(), 4)
			require.NoError(t, err)
			require.NotEmpty(t, list)
			assert.True(t, list[0].Delivered(), "%+v", list[0])
			assert.NotEmpty(t, live())
			destroy(t, s)
		}
	}
	stays := add(t, p, small(camera.DepthDefinition.ID, "stays"))
	listen(t, stays, camera.OutputImage, func(sensors.Tick, *sample.Image) {})
	comeAndGo() // and what sensors share is made
	before := live()
	comeAndGo()
	assert.Equal(t, before, live())
	destroy(t, stays)
	assert.Less(t, len(live()), len(before))
}

// TestACameraSeesFromItsActor: as one on the ego does that is mounted there.
func TestACameraSeesFromItsActor(t *testing.T) {
	s := scenetest.MovingWall(30, 5)
	wall := s.ActorsOf("vehicle.wall")[0]
	pictures := map[string]*sample.Image{}
	p := newPipelineIn(t, s, pipeline.Config{Sensors: onTheGPU()})
	mount := sensors.Pose{X: -10, Y: 1, Yaw: 30}
	there := wall.Motion.PoseAt(simtime.Stamp(100 * time.Millisecond)).Compose(mount.Spatial())
	onWall, onEgo := small(camera.DepthDefinition.ID, "on_wall"), small(camera.DepthDefinition.ID, "on_ego")
	onWall.AttachTo, onWall.Pose = wall.ID, mount
	onEgo.Pose = sensors.Pose{X: there.Position.X(), Y: there.Position.Y(), Z: there.Position.Z(), Yaw: 30}
	same := small(camera.DepthDefinition.ID, "same_mount")
	same.Pose = mount
	for _, c := range []sensors.Config{onWall, onEgo, same} {
		c.Rate = simtime.Hz(10)
		name := c.Name
		listen(t, add(t, p, c), camera.OutputImage, func(_ sensors.Tick, m *sample.Image) {
			pictures[name] = &sample.Image{}
			sample.Copy(pictures[name], m)
		})
	}
	require.NoError(t, p.Step(t.Context(), 10))
	require.Len(t, pictures, 3)
	assert.Equal(t, pictures["on_ego"].Data, pictures["on_wall"].Data)
	assert.NotEqual(t, pictures["same_mount"].Data, pictures["on_wall"].Data, "each from its own actor")
	at := pictures["on_wall"].Pose.Position
	assert.InDeltaSlice(t, there.Position[:], at[:], 1e-9)
	assert.NotEqual(t, spatial.Identity().Position, at)
	assert.NotEqual(t, mgl64.Vec3{}, at)
}

// TestFramesSwitchTheLampsOfTheCity steps the city before one of its lights. A camera sees each of its
// lamps while a frame has switched it on, and what tells of lights has the same. So has a second run.
func TestFramesSwitchTheLampsOfTheCity(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a city twice")
	}
	run := func() (recording []byte) {
		s, err := city.Generate(city.Options{Cars: -1, Walkers: -1, Triangles: city.MinTriangles})
		require.NoError(t, err)
		light := &s.Signals[0]
		s.Ego, s.Route = light.Pose.Compose(spatial.FromRPY(mgl64.Vec3{3, 0, 0}, 0, 0, 180)), nil
		dir, registry := t.TempDir(), sensorsall.Registry()
		p := newPipelineIn(t, s, pipeline.Config{Sensors: registry, Bridges: bridgesall.Registry(), OutDir: dir})
		var colors []string
		var told []world.SignalState
		picture := small(camera.RGBDefinition.ID, "front")
		picture.Pose, picture.Rate = sensors.Pose{}, simtime.Hz(10)
		picture.Attributes = map[string]any{"image_size_x": 40, "image_size_y": 40, "fov": 20.0}
		listen(t, add(t, p, picture), camera.OutputImage, func(_ sensors.Tick, m *sample.Image) { colors = append(colors, shining(m)) })
		ahead := sensors.Config{ID: "sensor.other.signals", Name: "signals", Rate: simtime.Hz(10)}
		listen(t, add(t, p, ahead), "signals", func(_ sensors.Tick, m *sample.Signals) {
			require.NotEmpty(t, m.Signals)
			assert.Equal(t, light.ID, m.Signals[0].ID)
			told = append(told, m.Signals[0].State)
		})
		listen(t, add(t, p, sensors.Config{ID: "sensor.other.snapshot", Name: "all"}), "snapshot", func(at sensors.Tick, m *sample.Snapshot) {
			for _, a := range m.Actors {
				if state, _ := p.History().Signal(0, at.Due); a.ID == light.Actor {
					assert.Equal(t, state, a.Signal)
				}
			}
		})
		require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:a.mcap"}))
		for k, state := range []world.SignalState{world.SignalRed, world.SignalYellow, world.SignalGreen, world.SignalOff, world.SignalRed} {
			_, err := p.StepTo(t.Context(), &world.Frame{
				Until: simtime.Stamp(k+1) * 100e6, Signals: []world.Signal{{Ref: world.Ref{Name: light.Name}, State: state}},
			})
			require.NoError(t, err)
		}
		assert.Equal(t, []string{"red above", "yellow amid", "green below", "dark", "red above"}, colors)
		assert.Equal(t, []world.SignalState{world.SignalRed, world.SignalYellow, world.SignalGreen, world.SignalOff, world.SignalRed}, told)
		require.NoError(t, p.Close(t.Context()))
		recording, err = os.ReadFile(filepath.Join(dir, "a.mcap"))
		require.NoError(t, err)
		return recording
	}
	assert.True(t, bytes.Equal(run(), run()), "the same bytes")
}

// shining tells which of a light's lamps shines in a picture, by its colour and its place.
func shining(m *sample.Image) string {
	lamp := "dark"
	for row, place := range map[int]string{7: "above", 20: "amid", 33: "below"} {
		pixel := m.Data[row*m.Step+3*20:]
		r, g, b := int(pixel[0]), int(pixel[1]), int(pixel[2])
		if max(r, g) < 180 {
			continue
		}
		switch {
		case r > 2*g:
			lamp = "red " + place
		case r > g && g > 2*b:
			lamp = "yellow " + place
		case g > r && g > b:
			lamp = "green " + place
		}
	}
	return lamp
}

// TestACalibrationKeepsItsTurn: a camera of which nothing else is listened to
// publishes between the sensors beside it, in the order of the rig (law T5).
func TestACalibrationKeepsItsTurn(t *testing.T) {
	p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry()})
	before := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "before"})
	camera := add(t, p, sensors.Config{ID: "sensor.camera.rgb", Name: "camera", Rate: simtime.Hz(100), Attributes: map[string]any{"image_size_x": 16, "image_size_y": 16}})
	after := add(t, p, sensors.Config{ID: "sensor.other.imu", Name: "after"})
	var order []string // callbacks of a stepped run come one at a time
	listen(t, before, "imu", func(sensors.Tick, *sample.Imu) { order = append(order, "before") })
	listen(t, camera, "camera_info", func(sensors.Tick, *sample.CameraInfo) { order = append(order, "camera") })
	listen(t, after, "imu", func(sensors.Tick, *sample.Imu) { order = append(order, "after") })
	require.NoError(t, p.Run(context.Background(), time.Second))
	require.Len(t, order, 300)
	for i, name := range order {
		require.Equal(t, []string{"before", "camera", "after"}[i%3], name, "message %d", i)
	}
	assert.EqualValues(t, 100, p.Summary().Sensors[2].Messages+p.Summary().Sensors[3].Messages)
}

// TestSoak runs the whole pipeline for the wall time that the variable SOAK names, one half of
// it stepped, the other in real time. It watches memory, goroutines and rates. Without SOAK it
// runs two seconds, too short to judge memory.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	duration, judge := 2*time.Second, false
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
		judge = duration >= 30*time.Second
	}
	t.Run("stepped", func(t *testing.T) { soakStepped(t, &soak{judge: judge}, duration/2) })
	t.Run("realtime", func(t *testing.T) { soakRealtime(t, &soak{judge: judge}, duration/2) })
}

// fileSeconds is how much simulated time goes into one of the soak's recordings. An MCAP file's
// index stays in memory until the file is closed, some 4 kB for each simulated second. What a
// file may keep is far below what memory may vary.
const fileSeconds = 50

// soakStepped records one file after the other through one pipeline, as fast as
// the machine can.
func soakStepped(t *testing.T, s *soak, duration time.Duration) {
	recorder := &rotating{dir: t.TempDir()}
	p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry(), Bridges: bridges.MustRegistry(recorder)})
	addSoaked(t, p)
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "mcap:" + recorder.next()}))
	begun := time.Now()
	for second := 1; time.Since(begun) < duration; second++ {
		require.NoError(t, p.Run(t.Context(), time.Second))
		warming := time.Since(begun) < duration/5
		// Early in a file, so that what it comes to keep until its end shows.
		if warming && second%fileSeconds == fileSeconds/5 || !warming && !s.isWarm {
			s.warmUp(t)
		}
		if second%fileSeconds == 0 {
			if !warming {
				s.look(t)
			}
			recorder.rotate(t)
		}
	}
	s.look(t)
	summary := p.Summary()
	t.Logf("%v simulated s in %.3g s: %v", summary.SimS, summary.WallS, s)
	for _, row := range summary.Sensors {
		if row.Topic == "/tf_static" || row.Idle {
			continue
		}
		assert.InDelta(t, row.RateWantedHz*summary.SimS, float64(row.Messages), 1, "%s drifts", row.Topic)
		assert.Empty(t, row.Drops, row.Topic)
	}
}

// soakRealtime follows the host's clock in one long run after a short one, into a log that
// keeps nothing. It compares the published clock with its rate.
func soakRealtime(t *testing.T, s *soak, duration time.Duration) {
	dir, watch := t.TempDir(), &clockWatch{period: 10 * time.Millisecond}
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(dir, "soak.txt.gz")))
	p := newPipeline(t, pipeline.Config{
		Sensors: sensorsall.Registry(), Bridges: bridges.MustRegistry(logging.Factory{}, watch), OutDir: dir, Mode: pipeline.Realtime,
	})
	addSoaked(t, p)
	for _, spec := range []string{"logging:soak", "watch:clock"} {
		require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: spec}))
	}
	require.NoError(t, p.Run(t.Context(), duration/5))
	s.warmUp(t)
	watch.reset()
	length, begun := duration-duration/5, time.Now()
	require.NoError(t, p.Run(t.Context(), length))
	took := time.Since(begun)
	s.look(t)
	count, moved := watch.seen()
	t.Logf("%v: %d clocks, whose deadlines moved by %v; %v", length, count, moved, s)
	// One each period, one at the beginning and one that ends the run, which a busy
	// machine may end late. One that stands still misses some, but their grid stays
	// where it is.
	wanted := int(length / watch.period)
	assert.LessOrEqual(t, count, int(took/watch.period)+2, "the clock is published too often")
	if s.judge { // a second on a busy machine tells nothing
		assert.GreaterOrEqual(t, count, wanted*98/100-1, "the clock is published too seldom")
	}
	assert.Positive(t, count)
	assert.Less(t, moved.Abs(), watch.period/4, "the clock's deadlines drift")
	for _, row := range p.Summary().Sensors {
		if row.Topic != "/tf_static" && row.Topic != "/clock" && !row.Idle {
			assert.Positive(t, row.Messages, row.Topic)
			assert.LessOrEqual(t, float64(row.Messages), row.RateWantedHz*duration.Seconds()+3, "%s comes too often", row.Topic)
		}
	}
}

// addSoaked adds the sensors; their messages are small beside what memory may
// vary, since how many wait for a bridge depends on the machine's mood.
func addSoaked(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	small := map[string]any{"image_size_x": 160, "image_size_y": 120}
	for _, c := range []sensors.Config{
		{ID: "sensor.camera.rgb", Name: "rgb", Attributes: small},
		{ID: "sensor.camera.depth", Name: "depth", Attributes: small},
		{ID: "sensor.lidar.ray_cast", Name: "lidar", Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 90}},
		{ID: "sensor.other.imu", Name: "imu"},
		{ID: "sensor.other.gnss", Name: "gnss"},
		{ID: "sensor.other.odometry", Name: "odom"},
	} {
		add(t, p, c)
	}
	require.NoError(t, p.AddTransforms())
}

// soak compares what the process uses with what it used when it was warm.
type soak struct {
	judge      bool
	isWarm     bool
	warm, most usage
}

// usage is the process's own figures.
type usage struct {
	resident   int64 // bytes
	heap       int64 // bytes of live Go objects, written or not
	goroutines int
}

// warmUp measures what later looks are compared with. The last of several calls
// counts: drivers give memory of their beginning back after a while.
func (s *soak) warmUp(t *testing.T) {
	t.Helper()
	s.warm, s.isWarm = measure(t), true
	s.most = s.warm
}

// look measures and requires that memory is within 2 % of what it was. What leaks
// without being written is not resident, but on the heap: it has the same room.
func (s *soak) look(t *testing.T) {
	t.Helper()
	now := measure(t)
	s.most = usage{max(s.most.resident, now.resident), max(s.most.heap, now.heap), max(s.most.goroutines, now.goroutines)}
	if !s.judge {
		return
	}
	room := s.warm.resident / 50
	require.LessOrEqual(t, now.resident-s.warm.resident, room, "resident memory grows: %v", s)
	require.LessOrEqual(t, now.heap-s.warm.heap, room, "the heap grows: %v", s)
	// The dispatcher's workers come and go.
	require.LessOrEqual(t, now.goroutines, s.warm.goroutines+runtime.GOMAXPROCS(0), "goroutines grow: %v", s)
}

func (s *soak) String() string {
	return fmt.Sprintf("resident %.1f MB when warm, at most %.1f MB then; heap %.1f, %.1f MB; goroutines %d, %d",
		float64(s.warm.resident)/1e6, float64(s.most.resident)/1e6, float64(s.warm.heap)/1e6, float64(s.most.heap)/1e6,
		s.warm.goroutines, s.most.goroutines)
}

// measure reads the figures after collections that give back what is free. How much the runtime
// and its pools keep in reserve varies more than what leaks.
func measure(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	require.NoError(t, err)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{resident: pages * int64(os.Getpagesize()), heap: int64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
}

// rotating is the bridge "mcap" whose recording goes on in another file.
type rotating struct {
	mcap.Factory
	dir      string
	files    int
	instance bridges.Instance
}

// NewInstance makes the only instance.
func (r *rotating) NewInstance(env bridges.Env) (i bridges.Instance, err error) {
	r.instance, err = r.Factory.NewInstance(env)
	return r.instance, err
}

// next names a file.
func (r *rotating) next() string {
	r.files++
	return filepath.Join(r.dir, fmt.Sprintf("soak%d.mcap", r.files))
}

// rotate goes on in the next file, while no run is under way, and removes the
// last one, which is complete.
func (r *rotating) rotate(t *testing.T) {
	t.Helper()
	last := filepath.Join(r.dir, fmt.Sprintf("soak%d.mcap", r.files))
	require.NoError(t, r.instance.Connect(t.Context(), r.next()))
	info, err := os.Stat(last)
	require.NoError(t, err)
	require.Positive(t, info.Size())
	require.NoError(t, os.Remove(last))
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		p := newPipeline(t, pipeline.Config{Sensors: sensorsall.Registry()})
		s := add(t, p, sensors.Config{ID: "sensor.lidar.ray_cast", Name: "lidar", Always: true})
		require.NotNil(t, s)
		require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
		require.NoError(t, p.Close(context.Background()))
	}
	// Eventually asks on a goroutine of its own.
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 10*time.Millisecond)
}
