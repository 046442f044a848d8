//go:build cgo

package pipeline_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func onTheGPU() *sensors.Registry {
	return sensors.Must(sensors.NewRegistry(camera.Depth, camera.RGB, lidar.RayCast))
}

// small is a sensor with little to compute.
func small(id, name string) pipeline.SensorConfig {
	c := pipeline.SensorConfig{ID: id, Name: name, Rate: "50", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"image_size_x": 32, "image_size_y": 16}}
	if id == lidar.ID {
		c.Attributes = map[string]any{"preset": "VelodyneVLP16", "columns": 60}
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
	eye, scanner := add(t, p, small(camera.Depth.ID, "eye")), add(t, p, small(lidar.ID, "scanner"))
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
	stopEye, err := pipeline.Listen(eye, camera.OutputImage, func(sensors.Tick, *sample.Image) {})
	require.NoError(t, err)
	one := work()
	assert.GreaterOrEqual(t, one, 10, "ten pictures")
	stopScanner, err := pipeline.Listen(scanner, "points", func(sensors.Tick, *sample.PointCloud) {})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, work(), one+10, "and ten scans")
	stopEye()
	stopScanner()
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
		for _, id := range []string{camera.Depth.ID, camera.RGB.ID, lidar.ID} {
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
			require.NoError(t, s.Destroy(t.Context()))
		}
	}
	stays := add(t, p, small(camera.Depth.ID, "stays"))
	listen(t, stays, camera.OutputImage, func(sensors.Tick, *sample.Image) {})
	comeAndGo() // and what sensors share is made
	before := live()
	comeAndGo()
	assert.Equal(t, before, live())
	require.NoError(t, stays.Destroy(t.Context()))
	assert.Less(t, len(live()), len(before))
}

// TestACameraSeesFromItsActor: as one on the ego does that is mounted there.
func TestACameraSeesFromItsActor(t *testing.T) {
	s := scenetest.MovingWall(30, 5)
	wall := s.ActorsOf("vehicle.wall")[0]
	pictures := map[string]*sample.Image{}
	p := newPipelineIn(t, s, pipeline.Config{Sensors: onTheGPU()})
	mount := rig.Pose{X: -10, Y: 1, Yaw: 30}
	there := wall.Motion.PoseAt(int64(100 * time.Millisecond)).Compose(mount.Spatial())
	onWall, onEgo := small(camera.Depth.ID, "on_wall"), small(camera.Depth.ID, "on_ego")
	onWall.AttachTo, onWall.Pose = wall.ID, mount
	onEgo.Pose = rig.Pose{X: there.Position.X(), Y: there.Position.Y(), Z: there.Position.Z(), Yaw: 30}
	same := small(camera.Depth.ID, "same_mount")
	same.Pose = mount
	for _, c := range []pipeline.SensorConfig{onWall, onEgo, same} {
		c.Rate = "10"
		name := c.Name
		listen(t, add(t, p, c), camera.OutputImage, func(_ sensors.Tick, m *sample.Image) {
			pictures[name] = &sample.Image{}
			m.CopyToCache(pictures[name])
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
