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

func TestDefaultsAreCARLAs(t *testing.T) {
	for _, d := range camera.Definitions() {
		s := d.NewSettings()
		assert.Equal(t, 800, s.Int("image_size_x"), d.ID)
		assert.Equal(t, 600, s.Int("image_size_y"), d.ID)
		assert.Equal(t, 90.0, s.Float("fov"), d.ID)
		assert.True(t, strings.HasPrefix(d.ID, "sensor.camera."))
	}
	_, err := sensors.NewRegistry(camera.Definitions()...)
	require.NoError(t, err)
}

func TestOutputsFollowROSNames(t *testing.T) {
	var names []string
	for i := range camera.RGB.Outputs {
		names = append(names, camera.RGB.Outputs[i].Name+" "+camera.RGB.Outputs[i].Suffix)
	}
	assert.Equal(t, []string{"image /image_raw", "compressed /image_raw/compressed", "camera_info /camera_info"}, names)
	assert.IsType(t, &sample.CameraInfo{}, camera.Depth.Outputs[1].New())
	assert.Len(t, camera.Depth.Outputs, 2)
}

func TestSettingsThatContradictAreRefused(t *testing.T) {
	for _, c := range []struct {
		definition *sensors.Definition
		values     map[string]any
		names      string
	}{
		{camera.RGB, map[string]any{"near_clip": 5, "far_clip": 2}, "far_clip"},
		{camera.Depth, map[string]any{"min_depth": 5, "max_depth": 2}, "max_depth"},
		{camera.RGB, map[string]any{"publish_raw": false}, "compressed"},
		{camera.Instance, map[string]any{"encoding": "32SC1", "compressed": "png"}, "32SC1"},
		{camera.RGB, map[string]any{"image_size_x": 8000, "supersampling": 4}, "supersampling"},
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
	s, err := camera.RGB.New(sensors.Spec{Definition: camera.RGB, Settings: camera.RGB.NewSettings()})
	require.NoError(t, err)
	assert.Error(t, s.Begin(t.Context(), &sensors.Env{}))
	assert.NoError(t, s.End())
}
