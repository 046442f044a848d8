package rossample

import (
	"math"
	"slices"
	"strconv"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// each returns a list with what set makes of each element of src. Its memory may be dst's, whose
// elements keep what they had until set is called, so that their own slices can be reused.
func each[D, S any](dst []D, src []S, set func(*D, *S)) []D {
	dst = slices.Grow(dst[:0], len(src))[:len(src)]
	for i := range src {
		set(&dst[i], &src[i])
	}
	return dst
}

// array sets the header of an array of messages, and then the array by each.
func array[D, S any](dst *ros.Header, src *sample.Header, list *[]D, from []S, set func(*D, *S)) error {
	if err := ros.SetHeader(dst, src); err != nil {
		return err
	}
	*list = each(*list, from, set)
	return nil
}

// hypothesis is the one class that ground truth gives an object.
func hypothesis(list []ros.ObjectHypothesisWithPose, label, typeID string, score float32) []ros.ObjectHypothesisWithPose {
	if label == "" {
		label = typeID
	}
	return append(list[:0], ros.ObjectHypothesisWithPose{
		Hypothesis: ros.ObjectHypothesis{ClassID: label, Score: float64(score)},
		Pose:       ros.PoseWithCovariance{Pose: ros.PoseOf(spatial.Identity())},
	})
}

// Detection2DArray sets dst to the boxes as vision_msgs has them. Each has the header of the
// array, one hypothesis whose class is the label, and the actor's id as text.
func Detection2DArray(dst *ros.Detection2DArray, src *sample.Detections2D) error {
	return array(&dst.Header, &src.Header, &dst.Detections, src.Boxes, func(d *ros.Detection2D, box *sample.Box2D) {
		d.Header = dst.Header
		d.Results = hypothesis(d.Results, box.Label, box.TypeID, box.Score)
		d.BBox = ros.BoundingBox2D{SizeX: float64(box.Width), SizeY: float64(box.Height)}
		d.BBox.Center.Position = ros.Point2D{X: float64(box.CenterX), Y: float64(box.CenterY)}
		d.ID = strconv.FormatUint(uint64(box.ID), 10)
	})
}

// Detection3DArray sets dst to the boxes as vision_msgs has them. Each has the header of the
// array, and the actor's id as text. Its one hypothesis has the label as class and the box's
// pose.
func Detection3DArray(dst *ros.Detection3DArray, src *sample.Detections3D) error {
	return array(&dst.Header, &src.Header, &dst.Detections, src.Boxes, func(d *ros.Detection3D, box *sample.Box3D) {
		d.Header = dst.Header
		d.BBox = ros.BoundingBox3D{Center: ros.PoseOf(box.Pose), Size: ros.Vector3Of(box.Size)}
		d.Results = hypothesis(d.Results, box.Label, box.TypeID, box.Score)
		d.Results[0].Pose.Pose = d.BBox.Center
		d.ID = strconv.FormatUint(uint64(box.ID), 10)
	})
}

// LgsvlDetection2DArray sets dst to the boxes as lgsvl_msgs has them, each with the
// header of the array.
func LgsvlDetection2DArray(dst *ros.LgsvlDetection2DArray, src *sample.Detections2D) error {
	return array(&dst.Header, &src.Header, &dst.Detections, src.Boxes, func(d *ros.LgsvlDetection2D, box *sample.Box2D) {
		*d = ros.LgsvlDetection2D{
			Header: dst.Header, ID: box.ID, Label: box.Label, Score: box.Score, Velocity: ros.TwistOf(box.Twist),
			BBox: ros.LgsvlBoundingBox2D{X: box.CenterX, Y: box.CenterY, Width: box.Width, Height: box.Height},
		}
	})
}

// LgsvlDetection3DArray sets dst to the boxes as lgsvl_msgs has them, each with the
// header of the array.
func LgsvlDetection3DArray(dst *ros.LgsvlDetection3DArray, src *sample.Detections3D) error {
	return array(&dst.Header, &src.Header, &dst.Detections, src.Boxes, func(d *ros.LgsvlDetection3D, box *sample.Box3D) {
		*d = ros.LgsvlDetection3D{
			Header: dst.Header, ID: box.ID, Label: box.Label, Score: box.Score, Velocity: ros.TwistOf(box.Twist),
			BBox: ros.LgsvlBoundingBox3D{Position: ros.PoseOf(box.Pose), Size: ros.Vector3Of(box.Size)},
		}
	})
}

// SignalArray sets dst to the traffic lights, each with the header of the array.
func SignalArray(dst *ros.SignalArray, src *sample.Signals) error {
	return array(&dst.Header, &src.Header, &dst.Signals, src.Signals, func(s *ros.Signal, light *sample.Signal) {
		*s = ros.Signal{
			Header: dst.Header, ID: light.ID, Label: light.Label, Score: light.Score,
			BBox: ros.LgsvlBoundingBox3D{Position: ros.PoseOf(light.Pose), Size: ros.Vector3Of(light.Size)},
		}
	})
}

// States of a DetectedRadarObject.
const (
	radarMoving     = 0
	radarStationary = 1
)

// DetectedRadarObjectArray sets dst to the objects. All vectors are in the sensor's frame and
// relative to the sensor, whose own position and velocity are therefore 0. An object's velocity
// is the object's less the sensor's, where SVL has the opposite. SensorAngle is the bearing in
// radians, counter-clockwise from forward.
func DetectedRadarObjectArray(dst *ros.DetectedRadarObjectArray, src *sample.RadarObjects) error {
	return array(&dst.Header, &src.Header, &dst.Objects, src.Objects, func(object *ros.DetectedRadarObject, o *sample.RadarObject) {
		at := ros.PointOf(o.Position)
		*object = ros.DetectedRadarObject{
			ID: int32(o.ID), SensorAim: ros.Vector3{X: 1}, SensorRight: ros.Vector3{Y: -1},
			SensorAngle:    math.Atan2(o.Position[1], o.Position[0]),
			ObjectPosition: at, ObjectVelocity: ros.Vector3Of(o.Velocity),
			ObjectRelativePosition: at, ObjectRelativeVelocity: ros.Vector3Of(o.Velocity),
			ObjectColliderSize: ros.Vector3Of(o.Size), ObjectState: radarStationary, NewDetection: o.New,
		}
		if o.Moving {
			object.ObjectState = radarMoving
		}
	})
}

// FromLgsvlDetection2DArray sets dst to the boxes, reusing dst's slice. The size of the
// picture, the actors' types and what is visible of them aren't in the message.
func FromLgsvlDetection2DArray(dst *sample.Detections2D, src *ros.LgsvlDetection2DArray) error {
	boxes := each(dst.Boxes, src.Detections, func(box *sample.Box2D, d *ros.LgsvlDetection2D) {
		*box = sample.Box2D{
			ID: d.ID, Label: d.Label, Score: d.Score, Twist: d.Velocity.Spatial(),
			CenterX: d.BBox.X, CenterY: d.BBox.Y, Width: d.BBox.Width, Height: d.BBox.Height,
		}
	})
	*dst = sample.Detections2D{Header: ros.SampleHeader(&src.Header), Boxes: boxes}
	return nil
}

// FromLgsvlDetection3DArray sets dst to the boxes, reusing dst's slice.
func FromLgsvlDetection3DArray(dst *sample.Detections3D, src *ros.LgsvlDetection3DArray) error {
	boxes := each(dst.Boxes, src.Detections, func(box *sample.Box3D, d *ros.LgsvlDetection3D) {
		*box = sample.Box3D{
			ID: d.ID, Label: d.Label, Score: d.Score, Twist: d.Velocity.Spatial(),
			Pose: d.BBox.Position.Spatial(), Size: d.BBox.Size.Vec3(),
		}
	})
	*dst = sample.Detections3D{Header: ros.SampleHeader(&src.Header), Boxes: boxes}
	return nil
}

// likeliest returns the class and the score of the best hypothesis; the first of equals.
func likeliest(list []ros.ObjectHypothesisWithPose) (string, float32) {
	var best ros.ObjectHypothesis
	for i := range list {
		if h := &list[i].Hypothesis; i == 0 || h.Score > best.Score {
			best = *h
		}
	}
	return best.ClassID, float32(best.Score)
}

// fromID reads an actor's id, as Detection2DArray writes it. Trackers may give any text,
// or none: what is not a number below 2^32 is 0.
func fromID(text string) uint32 {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(id)
}

// FromDetection2DArray sets dst to the boxes, each with its likeliest class as label,
// reusing dst's slice. Boxes that aren't upright lose their angle; velocities, the size
// of the picture and what is visible aren't in the message.
func FromDetection2DArray(dst *sample.Detections2D, src *ros.Detection2DArray) error {
	boxes := each(dst.Boxes, src.Detections, func(box *sample.Box2D, d *ros.Detection2D) {
		*box = sample.Box2D{
			ID: fromID(d.ID), CenterX: float32(d.BBox.Center.Position.X), CenterY: float32(d.BBox.Center.Position.Y),
			Width: float32(d.BBox.SizeX), Height: float32(d.BBox.SizeY),
		}
		box.Label, box.Score = likeliest(d.Results)
	})
	*dst = sample.Detections2D{Header: ros.SampleHeader(&src.Header), Boxes: boxes}
	return nil
}

// FromDetection3DArray sets dst to the boxes, each with its likeliest class as label,
// reusing dst's slice. Velocities aren't in the message.
func FromDetection3DArray(dst *sample.Detections3D, src *ros.Detection3DArray) error {
	boxes := each(dst.Boxes, src.Detections, func(box *sample.Box3D, d *ros.Detection3D) {
		*box = sample.Box3D{ID: fromID(d.ID), Pose: d.BBox.Center.Spatial(), Size: d.BBox.Size.Vec3()}
		box.Label, box.Score = likeliest(d.Results)
	})
	*dst = sample.Detections3D{Header: ros.SampleHeader(&src.Header), Boxes: boxes}
	return nil
}

// FromSignalArray sets dst to the traffic lights. What they show is read from their
// labels.
func FromSignalArray(dst *sample.Signals, src *ros.SignalArray) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Signals = each([]sample.Signal{}, src.Signals, func(to *sample.Signal, from *ros.Signal) {
		state, err := world.ParseSignal(from.Label)
		if err != nil {
			state = world.SignalUnknown
		}
		*to = sample.Signal{
			ID: from.ID, Label: from.Label, State: state, Score: from.Score,
			Pose: from.BBox.Position.Spatial(), Size: from.BBox.Size.Vec3(),
		}
	})
	return nil
}

// FromDetectedRadarObjectArray sets dst to the objects, by their positions and velocities
// relative to the sensor.
func FromDetectedRadarObjectArray(dst *sample.RadarObjects, src *ros.DetectedRadarObjectArray) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Objects = each([]sample.RadarObject{}, src.Objects, func(object *sample.RadarObject, o *ros.DetectedRadarObject) {
		*object = sample.RadarObject{
			ID: uint32(o.ID), Position: o.ObjectRelativePosition.Vec3(), Velocity: o.ObjectRelativeVelocity.Vec3(),
			Size: o.ObjectColliderSize.Vec3(), Moving: o.ObjectState == radarMoving, New: o.NewDetection,
		}
	})
	return nil
}
