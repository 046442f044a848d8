//go:build cgo

package camera_test

import (
	"testing"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

func TestConformance(t *testing.T) {
	common := map[string]any{
		"image_size_x": 40, "image_size_y": 30, "fov": 70.0,
		"near_clip": 20.0, "far_clip": 8.0, "principal_point": "corner",
	}
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		changed    map[string]any
		unchanging map[string]string
	}{
		{camera.RGB, map[string]any{"compressed": "jpeg"}, map[string]any{
			"encoding": "bgr8", "exposure_compensation": 1.5, "tone_curve": "none", "compressed": "png",
			"jpeg_quality": 20, "publish_raw": false, "supersampling": 3,
		}, nil},
		{camera.Depth, nil, map[string]any{"min_depth": 5.0, "max_depth": 8.0}, nil},
		{camera.Semantic, map[string]any{"compressed": "png"}, map[string]any{
			"output": "palette", "compressed": "none", "publish_raw": false,
		}, nil},
		{camera.Instance, map[string]any{"compressed": "png"}, map[string]any{
			"compressed": "none", "publish_raw": false,
		}, map[string]string{"encoding": "32SC1 has no compressed form, which this suite asks for; TestEncodingsHoldTheSamePixels has it"}},
		{camera.Normals, nil, nil, nil},
		{camera.OpticalFlow, nil, nil, nil},
		{camera.DVS, nil, map[string]any{
			"exposure_compensation": 1.5, "tone_curve": "none", "supersampling": 3,
			"positive_threshold": 0.05, "negative_threshold": 0.05, "sigma_positive_threshold": 0.1, "sigma_negative_threshold": 0.1,
			"refractory_period_ns": 50_000_000, "use_log": false, "log_eps": 0.1,
		}, nil},
	} {
		t.Run(c.definition.ID, func(t *testing.T) {
			world := scenetest.MovingWall(15, 4)
			if c.definition == camera.DVS {
				world = passing() // some pixels get brighter, some darker
			}
			attributes := size(48, 36)
			for name, value := range c.attributes {
				attributes[name] = value
			}
			changed := map[string]any{}
			for name, value := range common {
				changed[name] = value
			}
			for name, value := range c.changed {
				changed[name] = value
			}
			sensortest.Run(t, c.definition, sensortest.Suite{
				Options: sensortest.Options{
					Attributes: attributes, Mount: forward(1.2), Scene: world, GL: gputest.Thread(t),
				},
				Changed: changed, Unchanging: c.unchanging,
			})
		})
	}
}
