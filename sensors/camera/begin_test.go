package camera_test

import (
	"testing"

	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// TestACameraThatCannotBeginLeavesNothing runs out of each GPU object in turn, with a
// view that is rasterised and one that is traced.
func TestACameraThatCannotBeginLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		definition *sensors.Definition
		attributes map[string]any
	}{
		"pinhole": {camera.RGB, size(16, 12, "compressed", "jpeg")},
		"fisheye": {camera.DVS, size(16, 12, "lens", "svl_fisheye", "xi", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			sensortest.BeginFails(t, c.definition, sensortest.Options{Scene: scenetest.MovingWall(20, 1), Attributes: c.attributes})
		})
	}
}
