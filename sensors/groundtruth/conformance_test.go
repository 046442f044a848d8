package groundtruth_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// TestConformance has a post that the ego touches, lines that it drifts over and a
// crossing that it stands before.
func TestConformance(t *testing.T) {
	touched := obstacles()
	ahead := scenetest.At(3.9, 0, 1, scene.TagPole)
	ahead.TypeID = "static.post"
	touched.Put("post", scenetest.Box(1, 1, 2), scenetest.Matte("post", 1, 1, 1), ahead)

	lines := road()
	for i := range lines.LaneMarks {
		lines.LaneMarks[i].Points = []mgl64.Vec3{{-1 + 3*float64(i), -9, 0}, {-1 + 3*float64(i), 9, 0}}
	}
	lines.LaneMarks = append(lines.LaneMarks, scene.LaneMark{ID: 3, Points: []mgl64.Vec3{{5.1, -9, 0}, {5.1, 9, 0}}})

	for d, suite := range map[*sensors.Definition]sensortest.Suite{
		groundtruth.CollisionDefinition:    {Options: sensortest.Options{Scene: touched.Scene}},
		groundtruth.LaneInvasionDefinition: {Options: sensortest.Options{Scene: lines}},
		groundtruth.LaneMarksDefinition:    {Options: sensortest.Options{Scene: lines}, Still: true},
		groundtruth.SignalsDefinition: {
			Options: sensortest.Options{Scene: crossing(), Ego: scenetest.Linear{Start: crossing().Ego}},
			Changed: map[string]any{"max_distance": 40.0},
		},
		groundtruth.LaneLinesDefinition: {
			Options: sensortest.Options{Scene: lanes(line(scene.LaneMarkSolid, -5, 60, func(x float64) float64 { return 2 + x*x/400 }))},
			Changed: map[string]any{"detection_range": 30.0, "sample_delta": 2.0, "fov": 60.0},
		},
		groundtruth.SnapshotDefinition: {Options: sensortest.Options{Scene: street()}},
		groundtruth.WeatherDefinition:  {Options: sensortest.Options{Scene: street()}, Still: true},
	} {
		t.Run(d.ID, func(t *testing.T) { sensortest.Run(t, d, suite) })
	}
}
