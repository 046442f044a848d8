package rossample

import (
	"slices"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// signalLabels are the labels of sample.SignalState, by its numbers.
var signalLabels = []string{"red", "yellow", "green", "off"}

// FromSignalArray sets dst to the traffic lights. What they show is read from their
// labels.
func FromSignalArray(dst *sample.Signals, src *ros.SignalArray) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Signals = make([]sample.Signal, len(src.Signals))
	for i := range src.Signals {
		from := &src.Signals[i]
		state := sample.SignalUnknown
		if known := slices.Index(signalLabels, from.Label); known >= 0 {
			state = sample.SignalState(known)
		}
		dst.Signals[i] = sample.Signal{
			ID: from.ID, Label: from.Label, State: state, Score: from.Score,
			Pose: fromPose(&from.BBox.Position), Size: fromVector3(from.BBox.Size),
		}
	}
	return nil
}

// FromDetectedRadarObjectArray sets dst to the objects, by their positions and velocities
// relative to the sensor.
func FromDetectedRadarObjectArray(dst *sample.RadarObjects, src *ros.DetectedRadarObjectArray) error {
	dst.Header = ros.SampleHeader(&src.Header)
	dst.Objects = make([]sample.RadarObject, len(src.Objects))
	for i := range src.Objects {
		o := &src.Objects[i]
		dst.Objects[i] = sample.RadarObject{
			ID: uint32(o.ID), Position: fromPoint(o.ObjectRelativePosition), Velocity: fromVector3(o.ObjectRelativeVelocity),
			Size: fromVector3(o.ObjectColliderSize), Moving: o.ObjectState == radarMoving, New: o.NewDetection,
		}
	}
	return nil
}
