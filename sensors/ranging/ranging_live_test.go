//go:build cgo

package ranging_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// TestConformance has the sensors of the GPU, and Obstacle; SafeDistance has its own.
func TestConformance(t *testing.T) {
	edged := scenetest.NewBuilder("ball and edge")
	edged.Put("ball", scenetest.Sphere(0.2, 48), scenetest.Matte("ball", 1, 1, 1), scenetest.At(1.6, 0.02, 0, scene.TagStatic))
	edged.Put("edge", scenetest.Box(0.1, 0.1, 0.1), scenetest.Matte("edge", 1, 1, 1), scenetest.At(0.5, 0.8, 0.5, scene.TagStatic))
	for d, suite := range map[*sensors.Definition]sensortest.Suite{
		ranging.RadarDefinition: {
			Options: sensortest.Options{
				Scene: target(30, mgl64.Vec3{1, 0, 0}, 0.1), Seed: 3, Attributes: map[string]any{"points_per_second": 5000},
			},
			Changed: map[string]any{
				"horizontal_fov": 50.0, "vertical_fov": 50.0, "range": 10.0, "points_per_second": 10_000, "noise_seed": 9,
			},
			Unchanging: map[string]string{"frequency": "only in rain: TestRadarInRain"},
			Unfelt:     map[string]string{"rain": "the target is near: TestRadarInRain"},
		},
		ranging.UltrasonicDefinition: {
			Options: sensortest.Options{Scene: edged.Scene},
			Changed: map[string]any{
				"image_size_x": 1700, "image_size_y": 16, "vertical_fov": 80.0, "range_min": 1.9, "range": 1.0,
			},
		},
		ranging.ObstacleDefinition: {
			Options: sensortest.Options{
				Scene: cubes(thing{"static.post", scene.TagPole, 5, 0.3, 0}, thing{"vehicle.car", scene.TagCar, 5.3, -0.6, 0}),
			},
			Changed:    map[string]any{"distance": 1.0, "hit_radius": 1.5, "only_dynamics": true},
			Unchanging: map[string]string{"debug_linetrace": "inert"},
		},
	} {
		suite.GL = gputest.Thread(t)
		t.Run(d.ID, func(t *testing.T) { sensortest.Run(t, d, suite) })
	}
}

// TestAtTheOriginTheRoadIsNotSeen: a sensor that lies on the road, as at a vehicle's origin, sees what
// stands on it, and not the road at no distance.
func TestAtTheOriginTheRoadIsNotSeen(t *testing.T) {
	s := target(10, mgl64.Vec3{}, 0)
	b := scenetest.Builder{Scene: s}
	b.Put("road", scenetest.Plane(400, 40), scenetest.Matte("road", 1, 1, 1), scenetest.At(0, 0, 0, scene.TagRoads))
	sonar := measure(t, s, map[string]any{"range": 20.0})
	assert.InDelta(t, 10, sonar.Range, 0.01)
	radar, objects := sweep(t, sensortest.Options{Scene: s})
	require.NotEmpty(t, radar.Detections)
	for _, d := range radar.Detections {
		assert.Greater(t, d.Depth, float32(9.9))
	}
	assert.Len(t, objects.Objects, 1)
}

func TestBeginThatFailsLeavesNothing(t *testing.T) {
	for _, d := range []*sensors.Definition{ranging.RadarDefinition, ranging.UltrasonicDefinition} {
		t.Run(d.ID, func(t *testing.T) {
			sensortest.BeginFails(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1)})
		})
	}
}
