//go:build cgo

package raybridge_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestThePlaneAgreesWithTheTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	d := newDrive(t, read(t, `
scene: {plane: true, offset: {x: 300000.3, y: 4000000.7, z: 50.2}}
ego: {waypoints: [{x: 300000, y: 4000000, z: 50.2}, {x: 300040, y: 4000000, z: 50.2}, {x: 300040, y: 4000040, z: 50.2}]}`))
	d.agrees(t)
	assert.GreaterOrEqual(t, d.hits(), 0.4, "eight of 16 lasers look down, the last one by 1 degree")
	assert.Positive(t, d.tags()[scene.TagRoads])
}

// plane is what sensors measure of a plane with things on it: numbers, by sensor.
type plane map[string][]float64

// add appends numbers to a sensor's.
func (p plane) add(sensor string, numbers ...float64) { p[sensor] = append(p[sensor], numbers...) }

// driveOnAPlane drives past what stands and moves around the middle of a plane.
func driveOnAPlane(t *testing.T, at mgl64.Vec3) plane {
	t.Helper()
	c := read(t, fmt.Sprintf(`
scene: {plane: true, offset: {x: %[1]v, y: %[2]v, z: %[3]v}}
ego: {waypoints: [{x: %[1]v, y: %[2]v, z: %[3]v}, {x: %[4]v, y: %[2]v, z: %[3]v}, {x: %[4]v, y: %[5]v, z: %[3]v}]}
sensors:
  - {id: sensor.camera.rgb, name: color, image_size_x: 160, image_size_y: 120, pose: {x: 1, z: 1.5}}
  - {id: sensor.camera.depth, name: depth, image_size_x: 160, image_size_y: 120, pose: {x: 1, z: 1.5}}
  - {id: sensor.camera.optical_flow, name: flow, image_size_x: 160, image_size_y: 120, pose: {x: 1, z: 1.5}}
  - {id: sensor.camera.semantic_segmentation, name: label, image_size_x: 160, image_size_y: 120, pose: {x: 1, z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: lidar, preset: VelodyneVLP16, organized: true, pose: {z: 2}}
  - {id: sensor.other.radar, name: radar, pose: {x: 2, z: 1}}
  - {id: sensor.ground_truth.boxes_3d, name: boxes, pose: {z: 1.5}}
  - {id: sensor.other.imu, name: imu}
  - {id: sensor.other.odometry, name: odometry}
`, at[0], at[1], at[2], at[0]+40, at[1]+40))
	s, _, err := raybridge.SceneOf(t.Context(), c, nil)
	require.NoError(t, err)
	b := scenetest.Builder{Scene: s}
	place := func(x, y, z float64, tag scene.Tag) scene.Placement {
		return scenetest.At(at[0]+x, at[1]+y, at[2]+z, tag)
	}
	b.Put("tower", scenetest.Box(4, 4, 20), scenetest.Matte("red", 0.6, 0.2, 0.1), place(18, 6, 10, scene.TagBuilding))
	b.Put("ball", scenetest.Sphere(1.5, 24), scenetest.Matte("blue", 0.1, 0.2, 0.6), place(12, -4, 1.5, scene.TagStatic))
	car := place(25, -8, 0.75, scene.TagCar)
	car.Motion, car.TypeID = scenetest.Linear{Start: car.Pose, Velocity: mgl64.Vec3{-9, 3, 0}, YawRate: 0.3}, "vehicle.box"
	b.Put("car", scenetest.Box(4.5, 1.8, 1.5), scenetest.Matte("white", 0.8, 0.8, 0.8), car)
	sim, err := raybridge.Open(t.Context(), raybridge.Config{
		Run: c, Scene: s, Open: gputest.Opener(),
	})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	got := plane{}
	hear(t, sim, "lidar", func(m *sample.PointCloud) {
		for _, p := range m.Points {
			got.add("lidar", float64(p.Distance))
		}
	})
	hear(t, sim, "radar", func(m *sample.Radar) {
		for _, d := range m.Detections {
			got.add("radar", float64(d.Depth), float64(d.Velocity))
		}
	})
	hear(t, sim, "boxes", func(m *sample.Detections3D) {
		for _, box := range m.Boxes {
			got.add("boxes", box.Pose.Position[:]...)
		}
	})
	hear(t, sim, "imu", func(m *sample.Imu) { got.add("imu", m.LinearAcceleration[:]...) })
	hear(t, sim, "odometry", func(m *sample.Odometry) { got.add("odometry", m.Twist.Linear[:]...) })
	for _, name := range []string{"color", "label"} {
		hear(t, sim, name, func(m *sample.Image) {
			for _, x := range m.Data {
				got.add(name, float64(x))
			}
		})
	}
	for _, name := range []string{"depth", "flow"} {
		hear(t, sim, name, func(m *sample.Image) {
			for i := 0; i < len(m.Data); i += 4 {
				got.add(name, float64(math.Float32frombits(binary.LittleEndian.Uint32(m.Data[i:]))))
			}
		})
	}
	require.NoError(t, sim.Run(t.Context(), runTime))
	require.NoError(t, sim.Close(context.Background()))
	return got
}

// hear listens to a sensor of a run's file.
func hear[M any](t *testing.T, sim *raybridge.Sim, name string, call func(*M)) {
	t.Helper()
	s, err := sim.Sensor(name)
	require.NoError(t, err)
	_, err = raybridge.Listen(s, call)
	require.NoError(t, err)
}

// TestThePlaneIsTheSameAnywhere: sensors far from the map's origin measure what they measure at
// it, also where the anchor isn't the plane's middle.
func TestThePlaneIsTheSameAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	want := driveOnAPlane(t, mgl64.Vec3{})
	for _, at := range []mgl64.Vec3{{450_000, 5_400_000, 100}, {300_000.37, 4_000_000.81, 50.43}} {
		got := driveOnAPlane(t, at)
		for sensor, limit := range map[string]struct {
			off   float64 // so far may a number be off
			share float64 // and so many of them further
		}{
			"lidar": {1e-3, 0}, "radar": {1e-3, 0}, "boxes": {1e-3, 0}, "imu": {1e-3, 0}, "odometry": {1e-6, 0},
			"depth": {1e-2, 1e-3}, "flow": {1e-5, 1e-3}, "label": {0, 1e-3}, "color": {2, 3e-3},
		} {
			require.NotEmpty(t, want[sensor], sensor)
			require.Len(t, got[sensor], len(want[sensor]), sensor)
			further := 0
			for i, w := range want[sensor] {
				if g := got[sensor][i]; g != w && !(math.Abs(g-w) <= limit.off) { // both may be infinite
					further++
				}
			}
			assert.LessOrEqual(t, float64(further), limit.share*float64(len(want[sensor])), "%s at %v", sensor, at)
		}
	}
}
