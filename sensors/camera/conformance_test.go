//go:build cgo

package camera_test

import (
	"maps"
	"testing"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// changedCommon has another value of each attribute that all cameras have.
var changedCommon = map[string]any{
	"image_size_x": 40, "image_size_y": 30, "fov": 70.0,
	"near_clip": 20.0, "far_clip": 8.0, "principal_point": "corner", "lens": "svl_fisheye",
	// Inert ones, which must change nothing:
	"lens_circle_falloff": 3.0, "lens_circle_multiplier": 3.0, "lens_k": 0.5, "lens_kcube": 0.5, "lens_x_size": 0.2, "lens_y_size": 0.2,
}

// changedLight has one of each that decides how light is shown.
var changedLight = map[string]any{
	"exposure_compensation": 1.5, "tone_curve": "none", "supersampling": 3, "enable_postprocess_effects": false,
	"exposure_mode": "histogram", "iso": 500.0, "fstop": 2.8, "shutter_speed": 60.0, "calibration_constant": 12.0,
	"gamma": 2.6, "temp": 4500.0, "tint": 0.5, "slope": 0.7, "toe": 0.3, "shoulder": 0.5, "black_clip": 0.2, "white_clip": 0.3,
	// Inert ones:
	"exposure_min_bright": 1.0, "exposure_max_bright": 2.0, "exposure_speed_up": 9.0, "exposure_speed_down": 9.0,
	"bloom_intensity": 5.0, "lens_flare_intensity": 5.0, "min_fstop": 5.0, "focal_distance": 3.0, "blade_count": 8,
	"blur_amount": 5.0, "blur_radius": 5.0, "motion_blur_intensity": 1.0, "motion_blur_max_distortion": 1.0,
	"motion_blur_min_object_screen_size": 1.0, "chromatic_aberration_intensity": 5.0, "chromatic_aberration_offset": 50.0,
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	manual := map[string]any{"exposure_mode": "manual", "iso": 150.0}
	pinhole := map[string]string{
		"distortion": "a pinhole has none; TestLensesShowAGridWhereTheyProjectIt has those that do",
		"xi":         "of a fisheye alone; as distortion",
	}
	without := func(more map[string]string) map[string]string {
		m := maps.Clone(pinhole)
		maps.Copy(m, more)
		return m
	}
	both := func(a, b map[string]any) map[string]any {
		m := maps.Clone(a)
		maps.Copy(m, b)
		return m
	}
	quality := map[string]string{"jpeg_quality": "PNG has none; TestJPEGIsClose has it"}
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		changed    map[string]any
		unchanging map[string]string
	}{
		{camera.RGB, both(manual, map[string]any{"compressed": "jpeg"}), both(changedLight, map[string]any{
			"encoding": "bgr8", "compressed": "png", "jpeg_quality": 20, "publish_raw": false,
		}), pinhole},
		{camera.Depth, map[string]any{"output": "svl", "compressed": "png"}, map[string]any{
			"output": "carla", "min_depth": 5.0, "max_depth": 8.0, "compressed": "none", "publish_raw": false,
		}, without(quality)},
		{camera.Semantic, map[string]any{"compressed": "png"}, map[string]any{
			"output": "palette", "compressed": "none", "publish_raw": false,
		}, without(quality)},
		{camera.Instance, map[string]any{"compressed": "png"}, map[string]any{
			"output": "carla", "compressed": "none", "publish_raw": false,
		}, without(map[string]string{
			"encoding":     "32SC1 has no compressed form, which this suite asks for; TestEncodingsHoldTheSamePixels has it",
			"jpeg_quality": quality["jpeg_quality"],
		})},
		{camera.Normals, nil, nil, pinhole},
		{camera.OpticalFlow, nil, nil, pinhole},
		{camera.DVS, manual, both(changedLight, map[string]any{
			"positive_threshold": 0.05, "negative_threshold": 0.05, "sigma_positive_threshold": 0.1, "sigma_negative_threshold": 0.1,
			"refractory_period_ns": 50_000_000, "use_log": false, "log_eps": 0.1,
		}), pinhole},
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
			for name, value := range changedCommon {
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
