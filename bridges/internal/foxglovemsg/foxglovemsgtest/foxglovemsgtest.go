// Package foxglovemsgtest has samples of all types that go into Foxglove's schemas, and
// what somebody else's decoder must make of their messages. That is written out by hand,
// from the schemas and the samples alone: nothing of foxglovemsg has a part in it.
package foxglovemsgtest

import (
	"log/slog"
	"reflect"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// turned makes x of y, y of z and z of x, without rounding; west faces -x.
var (
	turned = mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, 0.5, 0.5}}
	west   = mgl64.Quat{V: mgl64.Vec3{0, 0, 1}}
)

// Filled returns a sample of a type with a value of its own in every field, and such that
// each case of the conversion has its turn: colours, names and rotations. Its stamp has
// seconds and nanoseconds.
func Filled(t reflect.Type) bridges.Stamped {
	s := bridgetest.Filled(t)
	reflect.ValueOf(s).Elem().FieldByName("StampNs").SetInt(1_700_000_000_123_456_789)
	switch s := s.(type) {
	case *sample.PointCloud:
		for i := range s.Points {
			p, f := &s.Points[i], float32(i)
			p.Azimuth, p.Elevation, p.Return = f/10, -f/20, uint8(i%3)
		}
	case *sample.Transforms:
		for i := range s.Transforms {
			s.Transforms[i].StampNs = 1_700_000_000_000_000_000 + int64(i)
		}
	case *sample.CameraInfo:
		s.DistortionModel = "equidistant"
	case *sample.GpsOdometry:
		s.Orientation = west
	case *sample.Detections2D:
		for i, tag := range []uint8{12, 13, 14} {
			s.Boxes[i].Tag = tag
		}
		s.Boxes[1].Label = ""
	case *sample.Detections3D:
		for i, tag := range []uint8{12, 19, 3} {
			s.Boxes[i].Tag, s.Boxes[i].Pose.Orientation = tag, turned
		}
		s.Boxes[1].Label, s.Boxes[2].TypeID = "", ""
	case *sample.Signals:
		for i, state := range []sample.SignalState{sample.SignalRed, sample.SignalYellow, sample.SignalGreen} {
			s.Signals[i].State, s.Signals[i].Pose.Orientation = state, turned
		}
	case *sample.Log:
		s.Level = slog.LevelWarn
	}
	return s
}
