package kitti

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// TestTheJournalHasTheWeather of a run that begins with one, and no key otherwise.
func TestTheJournalHasTheWeather(t *testing.T) {
	for weather, want := range map[string]string{"": `{}`, `{"rain":5}`: `{"weather":{"rain":5}}`} {
		row, err := (&writer{set: &dataset.Set{Run: bridges.Run{Weather: weather}}}).WriteScene(nil)
		require.NoError(t, err)
		got, err := json.Marshal(row)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

// TestLabelsOfAFrame: an object that the picture shows has a line. One that is too small, or of no category, has a
// DontCare where its pixels are; one that isn't seen has none.
func TestLabelsOfAFrame(t *testing.T) {
	seen := dataset.View{
		Pixels: 900, Tight: dataset.Rectangle{Left: 100, Top: 150, Right: 140, Bottom: 180},
		Framed:    dataset.Rectangle{Left: 0, Top: 140.25, Right: 150, Bottom: 375},
		Occlusion: 0.3, Truncation: 0.25,
	}
	small := seen
	small.Pixels = 9
	frame := &dataset.Frame{Objects: []dataset.Object{
		{ID: 3, Category: "Car", Pose: spatial.FromRPY(mgl64.Vec3{21.5, 2, 0.75}, 0, 0, 60), Size: mgl64.Vec3{4, 1.8, 1.5}, Views: []dataset.View{seen}},
		{ID: 4, Category: "Van", Views: []dataset.View{small}},
		{ID: 5, Category: "Truck", Views: []dataset.View{{}}},
		{ID: 7, Category: "DontCare", Views: []dataset.View{seen}},
	}}
	camera := camera(mgl64.Vec3{1.5, 0, 1.6})
	s := shot{left: &dataset.Picture{Info: &pinhole, Boxes: []sample.Box2D{
		{ID: 3, Pixels: 900, CenterX: 120, CenterY: 165, Width: 40, Height: 30},
		{ID: 4, Pixels: 9, CenterX: 11.5, CenterY: 20, Width: 3, Height: 4},
		{ID: 6, Pixels: 50, CenterX: 50, CenterY: 60, Width: 20, Height: 40}, // an animal
		{ID: 7, Pixels: 50, CenterX: 60, CenterY: 60, Width: 20, Height: 40},
		{ID: 8, Pixels: 0},
	}}}
	// ry = -60 degrees - pi/2, alpha = ry - atan2(-2, 20)
	for boxes, want := range map[string]string{
		"amodal":  "Car 0.25 1 -2.52 0.00 139.75 149.50 374.00 1.50 1.80 4.00 -2.00 1.60 20.00 -2.62", // clipped to the picture
		"visible": "Car 0.25 1 -2.52 100.00 150.00 139.00 179.00 1.50 1.80 4.00 -2.00 1.60 20.00 -2.62",
	} {
		w := writer{options: &options{Boxes: boxes, Options: dataset.Options{MinPixels: 10}}}
		lines := strings.Split(string(w.labels(frame, &s, camera.optical().Inverse())), "\n")
		assert.Equal(t, want, lines[0])
		assert.Equal(t, []string{
			"DontCare -1 -1 -10 10.00 18.00 12.00 21.00 -1 -1 -1 -1000 -1000 -1000 -10",
			"DontCare -1 -1 -10 40.00 40.00 59.00 79.00 -1 -1 -1 -1000 -1000 -1000 -10",
			"DontCare -1 -1 -10 50.00 40.00 69.00 79.00 -1 -1 -1 -1000 -1000 -1000 -10",
			"",
		}, lines[1:])
	}
}

// TestCornersAreNoCentres: a camera that counts from the corner of its first pixel has the projection of one that counts from
// the centre.
func TestCornersAreNoCentres(t *testing.T) {
	corner := pinhole
	corner.P[2] += 0.5
	corner.P[6] += 0.5
	of := func(info *sample.CameraInfo, origin string) matrix34 {
		return mountingOf(&dataset.Picture{Info: info, Capture: dataset.Capture{
			Sensor: sensor("front", dataset.Camera, 0, 0, map[string]any{"principal_point": origin}),
		}}).projection
	}
	assert.Equal(t, of(&pinhole, "center"), of(&corner, "corner"))
}

// TestPictureOfAnotherTime: labels are in the camera's frame at the time of the cloud, to which the calibration leads from the
// points, and not at that of the picture.
func TestPictureOfAnotherTime(t *testing.T) {
	front := sensor("front", dataset.Camera, 0.5, 0, nil)
	at := func(x float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{x, 20, 0}, 0, 0, 90) }
	frame := &dataset.Frame{Ego: dataset.Ego{Pose: at(10)}}
	left := &dataset.Picture{Info: &pinhole, Capture: dataset.Capture{Sensor: front, Ego: at(10.4)}}
	cloud := frame.Ego.Pose.Apply(front.Mount.Apply(mgl64.Vec3{5, 0, 0})) // ahead of the camera
	assert.InDeltaSlice(t, []float64{0, 0, 5}, func() []float64 { p := cameraOf(frame, left).Inverse().Apply(cloud); return p[:] }(), 1e-9)
}
