package camera_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// definitions are all cameras.
var definitions = []*sensors.Definition{
	camera.RGBDefinition, camera.DepthDefinition, camera.SemanticDefinition, camera.InstanceDefinition, camera.NormalsDefinition, camera.OpticalFlowDefinition, camera.DVSDefinition,
}

// TestDefaultsAreCARLAs asserts the tables of CARLA 0.9.15's camera attributes.
func TestDefaultsAreCARLAs(t *testing.T) {
	common := map[string]any{
		"image_size_x": int64(800), "image_size_y": int64(600), "fov": 90.0,
		"lens_circle_falloff": 5.0, "lens_circle_multiplier": 0.0, "lens_k": -1.0, "lens_kcube": 0.0,
		"lens_x_size": 0.08, "lens_y_size": 0.08,
	}
	ranges := map[string][2]float64{
		"lens_circle_falloff": {0, 10}, "lens_circle_multiplier": {0, 10}, "lens_x_size": {0, 1}, "lens_y_size": {0, 1},
	}
	light := map[string]any{
		"bloom_intensity": 0.675, "lens_flare_intensity": 0.1, "enable_postprocess_effects": true, "gamma": 2.2,
		"exposure_mode": "histogram", "exposure_compensation": 0.0,
		"exposure_min_bright": 10.0, "exposure_max_bright": 12.0, "exposure_speed_up": 3.0, "exposure_speed_down": 1.0,
		"calibration_constant": 16.0, "iso": 100.0, "fstop": 1.4, "min_fstop": 1.2, "shutter_speed": 200.0,
		"focal_distance": 1000.0, "blade_count": int64(5), "blur_amount": 1.0, "blur_radius": 0.0,
		"motion_blur_intensity": 0.45, "motion_blur_max_distortion": 0.35, "motion_blur_min_object_screen_size": 0.1,
		"slope": 0.88, "toe": 0.55, "shoulder": 0.26, "black_clip": 0.0, "white_clip": 0.04,
		"temp": 6500.0, "tint": 0.0, "chromatic_aberration_intensity": 0.0, "chromatic_aberration_offset": 0.0,
	}
	for _, d := range definitions {
		s := d.NewSettings()
		for name, want := range common {
			assert.Equal(t, want, s.Value(name), "%s %s", d.ID, name)
		}
		found := 0
		for _, a := range d.Attributes {
			if r, ok := ranges[a.Name]; ok {
				assert.Equal(t, r, [2]float64{a.Min, a.Max}, "%s %s", d.ID, a.Name)
			}
			if _, ok := light[a.Name]; ok {
				found++
			}
			if a.Name == "exposure_mode" {
				assert.Equal(t, []string{"histogram", "manual"}, a.Recommended)
				assert.True(t, a.Restricted)
			}
		}
		assert.True(t, strings.HasPrefix(d.ID, "sensor.camera."))
		if d != camera.RGBDefinition && d != camera.DVSDefinition {
			assert.Zero(t, found, "%s sees no light", d.ID)
			continue
		}
		for name, want := range light {
			assert.Equal(t, want, s.Value(name), "%s %s", d.ID, name)
		}
	}
	_, err := sensors.NewRegistry(definitions...)
	require.NoError(t, err)
}

func TestOutputsFollowROSNames(t *testing.T) {
	var names []string
	for i := range camera.RGBDefinition.Outputs {
		names = append(names, camera.RGBDefinition.Outputs[i].Name+" "+camera.RGBDefinition.Outputs[i].Suffix)
	}
	assert.Equal(t, []string{"image /image_raw", "compressed /image_raw/compressed", "camera_info /camera_info"}, names)
	assert.IsType(t, &sample.CameraInfo{}, camera.NormalsDefinition.Outputs[1].New())
	assert.Len(t, camera.NormalsDefinition.Outputs, 2, "numbers have no compressed form")
}

func TestSettingsThatContradictAreRefused(t *testing.T) {
	for _, c := range []struct {
		definition *sensors.Definition
		values     map[string]any
		names      string
	}{
		{camera.RGBDefinition, map[string]any{"near_clip": 5, "far_clip": 2}, "far_clip"},
		{camera.DepthDefinition, map[string]any{"min_depth": 5, "max_depth": 2}, "max_depth"},
		{camera.RGBDefinition, map[string]any{"publish_raw": false}, "compressed"},
		{camera.InstanceDefinition, map[string]any{"encoding": "32SC1", "compressed": "png"}, "32SC1"},
		{camera.RGBDefinition, map[string]any{"image_size_x": 8000, "samples": 16}, "samples"},
		{camera.RGBDefinition, map[string]any{"samples": 5}, "samples"},
		{camera.RGBDefinition, map[string]any{"distortion": "0.1,0,0,0"}, "None for pinhole"},
		{camera.RGBDefinition, map[string]any{"lens": "plumb_bob", "distortion": "0.1,0,0"}, "3 numbers"},
		{camera.DepthDefinition, map[string]any{"lens": "svl", "distortion": "0.1,0,0,0,0"}, "5 numbers"},
		{camera.DepthDefinition, map[string]any{"lens": "svl", "distortion": "-3,0,0,0"}, "no picture"},
		{camera.NormalsDefinition, map[string]any{"lens": "svl", "xi": 1}, "svl_fisheye"},
		{camera.DepthDefinition, map[string]any{"compressed": "jpeg"}, "only none"},
		{camera.DepthDefinition, map[string]any{"output": "carla", "compressed": "jpeg"}, "png"},
		{camera.SemanticDefinition, map[string]any{"compressed": "jpeg"}, "png"},
		{camera.InstanceDefinition, map[string]any{"output": "svl", "encoding": "32SC1"}, "encoding"},
	} {
		s := c.definition.NewSettings()
		for name, value := range c.values {
			require.NoError(t, s.Set(name, value))
		}
		_, err := c.definition.New(sensors.Spec{Definition: c.definition, Settings: s})
		require.ErrorIs(t, err, sensors.ErrValue, "%v", c.values)
		assert.Contains(t, err.Error(), c.names)
	}
}

func TestACameraNeedsAGLThread(t *testing.T) {
	s, err := camera.RGBDefinition.New(sensors.Spec{Definition: camera.RGBDefinition, Settings: camera.RGBDefinition.NewSettings()})
	require.NoError(t, err)
	assert.Error(t, s.Begin(t.Context(), &sensors.Env{}))
	assert.NoError(t, s.End())
}
