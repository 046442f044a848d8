// Package groundtruth has the sensors that know what others must find out. They give the boxes
// of vehicles and people, in a picture and in space, as SVL's ground-truth sensors publish
// them. Others, which need no GPU, report collisions, lane lines and the marks that a vehicle
// crosses, traffic lights, and snapshots of all actors.
//
// # Whose boxes
//
// Actors whose type id begins with vehicle. or walker., and those whose largest surface has the
// tag of a vehicle or a person. The sensor's owner never counts, and others count only while
// they are there. The ego has no surface: sensors on other actors don't see it. The label is
// SVL's (Label).
//
// # In a picture
//
// Boxes2D draws the view of a camera, through any of its lenses, and has the GPU take each pixel into the bounds
// of its actor. So the box is tight around what can be seen, to the pixel. An actor without a
// pixel has no box. It shares the visibility pass with cameras of the same mount, lens,
// clipping and shutter. With a rolling shutter each pixel has its line's time; distances, occlusion and
// truncation are those of the picture's middle.
//
// # In space
//
// Boxes3D publishes each actor's oriented box in the sensor's frame, whichever direction it is
// in. An actor whose every point is hidden is left out, unless the attribute hidden asks for
// all, as the objects of CARLA's ROS bridge are. Points that only the owner hides count as seen.
//
// SVL's vehicles have this sensor at their origin, which lies on the road. From a sensor that is
// mounted less than 0.1 m above its owner's lowest point, ground hides nothing. Ground is what
// has such a tag: roads, terrain and the like.
//
// # Occlusion and truncation
//
// Both are measured at samplePoints points of an actor's surface, which don't change and are
// spread evenly over its area, in its own size. Among the points whose surface faces the sensor,
// Truncation is the share that lies outside the picture (beside it, or beyond its clipping).
// Occlusion is the share of the others that a ray from the sensor does not reach because another
// actor is before them. Points that only the actor itself hides count as seen. An occlusion of
// one half comes out as 0.5 with a standard error of a few hundredths. Some 40 to 130 of the
// points face a sensor.
//
// # Concurrency, failure
//
// As for cameras: Capture and Poll run on the GL thread, Process on the pipeline's
// goroutine. A capture without a free slot is dropped before any work, and counted.
package groundtruth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// OutputBoxes is the output of both sensors.
const OutputBoxes = "boxes"

// Boxes2D describes sensor.ground_truth.boxes_2d, SVL's 2D Ground Truth. SVL's field of view is
// vertical, 60 degrees. fov is the horizontal one, as the cameras have it, and its default the
// same view at SVL's 1920 x 1080.
type Boxes2D struct {
	Width          int       `attribute:"image_size_x" unit:"px" default:"1920" min:"1" max:"16384" usual:"16 8192" doc:"width of the picture"`
	Height         int       `attribute:"image_size_y" unit:"px" default:"1080" min:"1" max:"16384" usual:"16 8192" doc:"height of the picture"`
	FOV            float64   `attribute:"fov" unit:"deg" default:"91.492845" min:"0.1" max:"175" usual:"5 170" doc:"horizontal field of view, from edge to edge; the default is 60 degrees from top to bottom. With a lens that distorts, that of the pinhole with the same focal length"`
	NearClip       float64   `attribute:"near_clip" unit:"m" default:"0.1" min:"0.001" max:"1000" usual:"0.01 10" doc:"nearer surfaces are invisible"`
	FarClip        float64   `attribute:"far_clip" unit:"m" default:"2000" min:"0.01" max:"100000" usual:"10 10000" doc:"farther surfaces are invisible"`
	DetectionRange float64   `attribute:"detection_range" live:"true" unit:"m" default:"100" min:"0.1" max:"100000" usual:"5 1000" doc:"actors whose box's centre is farther have no box"`
	Lens           string    `attribute:"lens" default:"pinhole" enum:"pinhole,plumb_bob,rational,thin_prism,equidistant,mei,f_theta,double_sphere,svl,svl_fisheye,table" doc:"how the lens bends what it sees, as that of cameras"`
	Distortion     []float64 `attribute:"distortion" doc:"numbers of the lens, as those of cameras"`
	Xi             float64   `attribute:"xi" min:"-1" max:"10" doc:"of svl_fisheye, mei and double_sphere, as that of cameras"`
	camera.Calibration
	camera.ShutterOptions
}

// Boxes2DDefinition describes sensor.ground_truth.boxes_2d.
var Boxes2DDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.ground_truth.boxes_2d",
	Looks:  true,
	Number: 70,
	Doc:    "boxes of vehicles and people in a picture: tight around their visible pixels, with occlusion and truncation",
	Tags:   []string{"ground_truth", "gpu"},
	Outputs: sensors.OneOutput[sample.Detections2D](sensors.OutputSpec{
		Name: OutputBoxes, Suffix: "/boxes_2d", QoS: flow.SensorDataQoS,
		Doc: "an array of 2-D boxes in pixels, (0, 0) the picture's top left corner; velocities in the sensor's frame",
	}),
	Rate: simtime.Hz(10),
}, func(spec sensors.Spec, o Boxes2D) (sensors.Sensor, error) {
	optics := camera.Optics{
		Width: o.Width, Height: o.Height, FOV: o.FOV, Model: o.Lens, Distortion: o.Distortion, Xi: o.Xi, Calibration: &o.Calibration,
	}
	lens, err := optics.Lens(&spec)
	if err != nil {
		return nil, err
	}
	sight := camera.Sight{Mount: spec.Mount, Lens: lens, Near: o.NearClip, Far: o.FarClip}
	if sight.Far <= sight.Near {
		return nil, fmt.Errorf("%w: far_clip is %v m, it must be beyond near_clip, %v m", sensors.ErrValue, sight.Far, sight.Near)
	}
	if sight.Shutter, err = o.Resolve(&spec, lens); err != nil {
		return nil, err
	}
	report := &report2D{Reading: sensors.Reading[sample.Detections2D]{Spec: spec}, lens: lens}
	return &detector{spec: spec, picture: &picture{sight: sight, fisheye: lens.Fisheye(), bent: o.Lens != "pinhole" || o.File != "", measured: o.File != ""}, reach: o.DetectionRange, near: sight.Near, report: report}, nil
})

// Boxes3D describes sensor.ground_truth.boxes_3d, SVL's 3D Ground Truth.
type Boxes3D struct {
	MaxDistance float64 `attribute:"max_distance" live:"true" unit:"m" default:"100" min:"1" max:"1000" usual:"5 500" doc:"actors whose box's centre is farther are left out"`
	Hidden      bool    `attribute:"hidden" doc:"those too of which nothing can be seen from the sensor"`
}

// Boxes3DDefinition describes sensor.ground_truth.boxes_3d.
var Boxes3DDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.ground_truth.boxes_3d",
	Number: 71,
	Doc:    "oriented boxes of the vehicles and people that it sees from its place, with occlusion. If it is mounted on the ground, as without a pose, the ground hides nothing from it, but things on the ground do",
	Tags:   []string{"ground_truth", "gpu"},
	Outputs: sensors.OneOutput[sample.Detections3D](sensors.OutputSpec{
		Name: OutputBoxes, Suffix: "/boxes_3d", QoS: flow.SensorDataQoS,
		Doc: "an array of 3-D boxes in the sensor's frame",
	}),
	Rate: simtime.Hz(10),
}, func(spec sensors.Spec, o Boxes3D) (sensors.Sensor, error) {
	report := &report3D{Reading: sensors.Reading[sample.Detections3D]{Spec: spec}, hidden: o.Hidden}
	return &detector{spec: spec, reach: o.MaxDistance, report: report}, nil
})

// labels are SVL's names for kinds of actors, by the beginning of a type id. The
// longest beginning holds.
var labels = map[string]string{
	"vehicle.ego":        "Sedan",
	"vehicle.sedan":      "Sedan",
	"vehicle.taxi":       "Sedan",
	"vehicle.wagon":      "Sedan",
	"vehicle.hatchback":  "Hatchback",
	"vehicle.suv":        "SUV",
	"vehicle.jeep":       "Jeep",
	"vehicle.van":        "BoxTruck",
	"vehicle.truck":      "BoxTruck",
	"vehicle.bus":        "SchoolBus",
	"vehicle.bicycle":    "Bicycle",
	"vehicle.motorcycle": "Motorcycle",
	"walker.":            "Pedestrian",
}

// tagLabels are the labels of actors whose type id says nothing, by their tag; these
// are the tags that make an actor count.
var tagLabels = map[scene.Tag]string{
	scene.TagPedestrian: "Pedestrian",
	scene.TagRider:      "Pedestrian",
	scene.TagCar:        "Sedan",
	scene.TagTruck:      "BoxTruck",
	scene.TagBus:        "SchoolBus",
	scene.TagTrain:      "Train",
	scene.TagMotorcycle: "Motorcycle",
	scene.TagBicycle:    "Bicycle",
}

// Label returns the class of an actor as SVL's users know it, by its type id or else its tag.
// ok is false for an actor that ground truth doesn't count.
func Label(typeID string, tag scene.Tag) (label string, ok bool) {
	longest := ""
	for prefix, l := range labels {
		if len(prefix) > len(longest) && strings.HasPrefix(typeID, prefix) {
			label, longest = l, prefix
		}
	}
	if longest != "" {
		return label, true
	}
	if label, ok = tagLabels[tag]; ok {
		return label, true
	}
	return "Sedan", strings.HasPrefix(typeID, "vehicle.")
}

// Derived tells what a calibration file says.
func (d *detector) Derived() map[string]any {
	if d.picture == nil || !d.picture.measured {
		return nil
	}
	return d.picture.sight.Lens.Attributes()
}

// FieldOfView is the picture's; without one the sensor sees all around.
func (d *detector) FieldOfView() sensors.FieldOfView {
	view := sensors.FieldOfView{Horizontal: 360, Lower: -90, Upper: 90}
	if d.picture != nil {
		view = d.picture.sight.Lens.FieldOfView()
	}
	view.Range = d.reach
	return view
}

// LensSummary is that of the picture's lens, "" for a plain pinhole and in space.
func (d *detector) LensSummary() string {
	if d.picture == nil || !d.picture.bent {
		return ""
	}
	return d.picture.sight.Lens.Summary()
}

// report2D makes the boxes in a picture.
type report2D struct {
	sensors.Reading[sample.Detections2D]
	lens camera.Lens
}

func (r *report2D) publish(f *finding, tallies []tally) {
	m := &r.Message
	m.Header, m.Width, m.Height, m.Boxes = f.Header, r.lens.Width, r.lens.Height, m.Boxes[:0]
	for i := range f.Data {
		o := &f.Data[i]
		n := &tallies[o.place-f.Data[0].place]
		if n.Pixels == 0 {
			continue
		}
		t := &o.of
		m.Boxes = append(m.Boxes, sample.Box2D{
			ID: t.actor.ID, TypeID: t.actor.TypeID, Label: t.label, Tag: uint8(t.tag), Score: 1,
			// A pixel reaches from its number to the next.
			CenterX: float32(n.Left+n.Right+1) / 2, CenterY: float32(n.Top+n.Bottom+1) / 2,
			Width: float32(n.Right + 1 - n.Left), Height: float32(n.Bottom + 1 - n.Top),
			Pixels:     n.Pixels,
			Occlusion:  share(int(n.Hidden), o.asked),
			Truncation: share(o.facing-o.asked, o.facing),
			Twist:      twistIn(f.Header.Pose, &o.state),
		})
	}
	slices.SortFunc(m.Boxes, func(a, b sample.Box2D) int { return cmp.Compare(a.ID, b.ID) })
	r.Publish(f.At)
}

// onGround is how near to its owner's lowest point a sensor lies on the ground, metres.
const onGround = 0.1

// report3D makes the boxes in space.
type report3D struct {
	sensors.Reading[sample.Detections3D]
	hidden bool // those of which nothing can be seen too
}

func (r *report3D) publish(f *finding, tallies []tally) {
	m := &r.Message
	m.Header, m.Boxes = f.Header, m.Boxes[:0]
	toSensor := f.Header.Pose.Inverse()
	for i := range f.Data {
		o := &f.Data[i]
		hidden := int(tallies[o.place-f.Data[0].place].Hidden)
		if o.asked > 0 && hidden == o.asked && !r.hidden {
			continue
		}
		t := &o.of
		m.Boxes = append(m.Boxes, sample.Box3D{
			ID: t.actor.ID, TypeID: t.actor.TypeID, Label: t.label, Tag: uint8(t.tag), Score: 1,
			Pose: toSensor.Compose(o.box.Pose), Size: o.box.Half.Mul(2),
			Occlusion:    share(hidden, o.asked),
			Twist:        twistIn(f.Header.Pose, &o.state),
			Acceleration: toSensor.Rotate(o.state.Acceleration),
		})
	}
	slices.SortFunc(m.Boxes, func(a, b sample.Box3D) int { return cmp.Compare(a.ID, b.ID) })
	r.Publish(f.At)
}

// share returns a part of a whole, 0 of nothing.
func share(part, whole int) float32 {
	if whole == 0 {
		return 0
	}
	return float32(part) / float32(whole)
}
