//go:build cgo

package lidar_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// A rolling scan from a car that drives sideways past the ego, towards a wall: each ray
// is fired from where the car is at its own time.
func TestALidarRidesOnAnotherActor(t *testing.T) {
	const start, speed = 30.0, 20.0 // metres before the wall, m/s
	b := scenetest.NewBuilder("ride")
	b.Put("wall", scenetest.Box(60, 1, 40), scenetest.Matte("white", 0.8, 0.8, 0.8), scenetest.At(0, start+0.5, 0, scene.TagWall))
	car := b.Put("car", scenetest.Box(4, 2, 1), scenetest.Matte("black", 0.1, 0.1, 0.1), scene.Placement{
		TypeID: "vehicle.car", Tag: scene.TagCar,
		Motion: scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{3, 0, 0}, 0, 0, 90), Velocity: mgl64.Vec3{0, speed, 0}},
	})
	h := sensortest.New(t, lidar.RayCastSemantic, sensortest.Options{
		Scene: b.Scene, GL: gputest.Thread(t), Owner: car.ID, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 0, 0), Attributes: map[string]any{"range": 100},
	})
	h.Fire(2 * scanPeriod)
	m := sensortest.Last[*sample.PointCloud](h, "points")
	stamp := float64(m.StampNs) / 1e9
	assert.InDelta(t, speed*stamp, m.Pose.Position[1], 1e-9)
	walls := 0
	for i := range m.Points {
		p := &m.Points[i]
		if scene.Tag(p.Tag) != scene.TagWall {
			continue
		}
		walls++
		before := start - speed*(stamp+float64(p.TimeNs)/1e9)
		require.InDelta(t, before, p.X, 1e-3, "point %d", i)
		require.InDelta(t, before/math.Hypot(float64(p.X), math.Hypot(float64(p.Y), float64(p.Z))), p.CosIncidence, 1e-4)
	}
	assert.Greater(t, walls, 500)
}
