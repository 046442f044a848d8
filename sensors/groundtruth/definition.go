package groundtruth

import (
	"fmt"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// OutputBoxes is the output of both sensors.
const OutputBoxes = "boxes"

// Boxes2D describes sensor.ground_truth.boxes_2d, SVL's 2D Ground Truth. SVL's field
// of view is vertical, 60 degrees; fov is the horizontal one, as the cameras have it, and
// its default the same view at SVL's 1920 x 1080.
var Boxes2D = &sensors.Definition{
	ID:     "sensor.ground_truth.boxes_2d",
	Number: 70,
	Doc:    "boxes of vehicles and people in a picture: tight around their visible pixels, with occlusion and truncation",
	Tags:   []string{"ground_truth", "gpu"},
	Attributes: []sensors.Attribute{
		{Name: "image_size_x", Type: sensors.Int, Default: int64(1920), Unit: "px", Min: 1, Max: 16384, UsualMin: 16, UsualMax: 8192, Doc: "width of the picture"},
		{Name: "image_size_y", Type: sensors.Int, Default: int64(1080), Unit: "px", Min: 1, Max: 16384, UsualMin: 16, UsualMax: 8192, Doc: "height of the picture"},
		{Name: "fov", Type: sensors.Float, Default: 91.492845, Unit: "deg", Min: 0.1, Max: 175, UsualMin: 5, UsualMax: 170, Doc: "horizontal field of view, from edge to edge; the default is 60 degrees from top to bottom"},
		{Name: "near_clip", Type: sensors.Float, Default: 0.1, Unit: "m", Min: 0.001, Max: 1000, UsualMin: 0.01, UsualMax: 10, Doc: "what is nearer isn't there"},
		{Name: "far_clip", Type: sensors.Float, Default: 2000.0, Unit: "m", Min: 0.01, Max: 100_000, UsualMin: 10, UsualMax: 10_000, Doc: "what is farther isn't there"},
		{Name: "detection_range", Type: sensors.Float, Default: 100.0, Unit: "m", Min: 0.1, Max: 100_000, UsualMin: 5, UsualMax: 1000, Doc: "actors whose box's centre is farther have no box"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Detections2D](sensors.OutputSpec{
			Name: OutputBoxes, Suffix: "/boxes_2d", QoS: flow.SensorDataQoS,
			Doc: "an array of 2-D boxes in pixels, (0, 0) the picture's top left corner; velocities in the sensor's frame",
		}),
	},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		s := spec.Settings
		lens, err := camera.NewLens(s.Int("image_size_x"), s.Int("image_size_y"), s.Float("fov"))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sensors.ErrValue, err)
		}
		sight := camera.Sight{Mount: spec.Mount, Lens: lens, Near: s.Float("near_clip"), Far: s.Float("far_clip")}
		if sight.Far <= sight.Near {
			return nil, fmt.Errorf("%w: far_clip is %v m, it must be beyond near_clip, %v m", sensors.ErrValue, sight.Far, sight.Near)
		}
		d := &detector{spec: spec, picture: &picture{sight: sight}, reach: s.Float("detection_range"), near: sight.Near}
		d.report = &report2D{detector: d}
		return d, nil
	},
}

// Boxes3D describes sensor.ground_truth.boxes_3d, SVL's 3D Ground Truth.
var Boxes3D = &sensors.Definition{
	ID:     "sensor.ground_truth.boxes_3d",
	Number: 71,
	Doc:    "oriented boxes of the vehicles and people that it sees from where it stands, with occlusion: mount it on the roof (on the ground, without a pose, it sees none), or set hidden",
	Tags:   []string{"ground_truth", "gpu"},
	Attributes: []sensors.Attribute{
		{Name: "max_distance", Type: sensors.Float, Default: 100.0, Unit: "m", Min: 1, Max: 1000, UsualMin: 5, UsualMax: 500, Doc: "actors whose box's centre is farther are left out"},
		{Name: "hidden", Type: sensors.Bool, Default: false, Doc: "those too of which nothing can be seen from the sensor"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Detections3D](sensors.OutputSpec{
			Name: OutputBoxes, Suffix: "/boxes_3d", QoS: flow.SensorDataQoS,
			Doc: "an array of 3-D boxes in the sensor's frame",
		}),
	},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		d := &detector{spec: spec, reach: spec.Settings.Float("max_distance")}
		d.report = &report3D{detector: d, hidden: spec.Settings.Bool("hidden")}
		return d, nil
	},
}

// Definitions returns both.
func Definitions() []*sensors.Definition { return []*sensors.Definition{Boxes2D, Boxes3D} }
