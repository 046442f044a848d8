//go:build cgo

package camera_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// TestACameraRidesOnAnotherActor has one look ahead from a car that drives sideways past
// the ego, towards a wall: drawn and traced.
func TestACameraRidesOnAnotherActor(t *testing.T) {
	const start, speed = 20.0, 10.0 // metres before the wall, m/s
	b := scenetest.NewBuilder("ride")
	b.Put("wall", scenetest.Box(60, 1, 40), scenetest.Matte("white", 0.8, 0.8, 0.8), scenetest.At(0, start+0.5, 0, scene.TagWall))
	left := spatial.FromRPY(mgl64.Vec3{3, 0, 0}, 0, 0, 90)
	car := b.Put("car", scenetest.Box(4, 2, 1), scenetest.Matte("black", 0.1, 0.1, 0.1), scene.Placement{
		TypeID: "vehicle.car", Tag: scene.TagCar, Motion: scenetest.Linear{Start: left, Velocity: mgl64.Vec3{0, speed, 0}},
	})
	for _, lens := range []string{"pinhole", "svl_fisheye"} {
		h := sensortest.New(t, camera.Depth, sensortest.Options{
			Scene: b.Scene, GL: gputest.Thread(t), Owner: car.ID, Mount: spatial.FromRPY(mgl64.Vec3{2.5, 0, 0}, 0, 0, 0), Attributes: size(33, 25, "lens", lens),
		})
		for k := range int64(4) {
			h.Fire(k * period)
			m := sensortest.Last[*sample.Image](h, camera.OutputImage)
			along := speed * float64(k*period) / 1e9
			assert.InDelta(t, start-2.5-along, depthAt(m, 16, 12), 1e-3, lens)
			assert.InDelta(t, 3, m.Pose.Position[0], 1e-9)
			assert.InDelta(t, 2.5+along, m.Pose.Position[1], 1e-9)
		}
	}
}
