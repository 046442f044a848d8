package pipeline_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/all"
)

// besideCameras are sensors that see what a colour camera sees.
var besideCameras = []bridges.Want{
	{Sensor: "sensor.ground_truth.boxes_2d", Name: "boxes", Beside: "sensor.camera.rgb"},
	{Sensor: "sensor.camera.instance_segmentation", Name: "ids", Beside: "sensor.camera.rgb", Attributes: map[string]any{"encoding": "32SC1"}},
	{Sensor: "sensor.camera.depth", Name: "depth", Beside: "sensor.camera.rgb"},
}

// TestWhatIsWantedBesideSeesTheSame: whatever a camera is given that shapes what it sees, the sensors beside it have.
func TestWhatIsWantedBesideSeesTheSame(t *testing.T) {
	registry := all.Registry()
	for name, attributes := range map[string]string{
		"defaults":      "",
		"size":          "image_size_x: 64, image_size_y: 48, fov: 70, near_clip: 0.2, far_clip: 90, principal_point: corner",
		"focal length":  "image_size_x: 64, fx: 40, fy: 41, cx: 30, cy: 20.5, skew: 0.1",
		"distortion":    "lens: rational, distortion: [0.1, 0.01, 0.001, 0.002, 0.001, 0.1, 0.01, 0.001]",
		"mei":           "lens: mei, xi: 0.9, distortion: [0.1, 0.01, 0.001, 0.002]",
		"double sphere": "lens: double_sphere, xi: 0.2, alpha: 0.6, fx: 200",
		"f-theta":       "lens: f_theta, polynomial: [0, 0.002], polynomial_type: pixeldistance-to-angle, linear: [1, 0, 0], max_angle: 80",
		"calibration":   `calibration: "image_width: 64\nimage_height: 48\ndistortion_model: plumb_bob\nK: [50, 0, 32, 0, 51, 24, 0, 0, 1]\nD: [0.1, 0, 0, 0, 0]\n"`,
		"rolling":       "shutter: rolling, line_time: 1e-05, readout: bottom_up, exposure_time: 0.002, stamp: mid_row_mid",
		"shutter speed": "shutter: rolling, shutter_speed: 250",
	} {
		r, err := rig.Parse("r.yaml", []byte("sensors:\n- {id: sensor.camera.rgb, name: front, "+attributes+"}"))
		require.NoError(t, err, name)
		p, err := pipeline.New(t.Context(), pipeline.Config{
			Scene: scenetest.MovingWall(5, 1), Sensors: registry, Wants: besideCameras, Open: gputest.NewFake().Open,
		})
		require.NoError(t, err, name)
		_, err = p.AddRig(r)
		require.NoError(t, err, name)
		front, err := p.Sensor("front")
		require.NoError(t, err, name)
		require.Len(t, p.Sensors(), 4, name)
		for _, other := range p.Sensors()[1:] {
			for i := range other.Definition().Attributes {
				a := &other.Definition().Attributes[i]
				theirs := front.Definition().Attribute(a.Name)
				if theirs == nil || !reflect.DeepEqual(a.Recommended, theirs.Recommended) || strings.HasPrefix(a.Name, "lens_") || outputs[a.Name] {
					continue
				}
				if a.Name == "fov" && front.Values()["fx"] != 0.0 && name != "calibration" {
					continue // it counts for nothing
				}
				want := front.Values()[a.Name]
				if name == "shutter speed" && a.Name == "exposure_time" {
					want = 0.004
				}
				assert.Equal(t, want, other.Values()[a.Name], "%s of %s with %s", a.Name, other.Name(), name)
			}
		}
		require.NoError(t, p.Close(t.Context()))
	}
}

// outputs are attributes of cameras that say what becomes of the picture.
var outputs = map[string]bool{"compressed": true, "jpeg_quality": true, "publish_raw": true}
