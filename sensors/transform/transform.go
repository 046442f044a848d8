// Package transform publishes the frames of the rig: the fixed ones once on
// /tf_static, the moving one on /tf.
package transform

import (
	"context"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// ID is the type id of the transform sensor, which a pipeline adds by itself to
// a rig that has none.
const ID = "sensor.other.transform"

// Frames from the earth to the vehicle (REP-105).
const (
	MapFrame  = "map"
	OdomFrame = "odom"
)

// Definition describes sensor.other.transform.
var Definition = &sensors.Definition{
	ID:   ID,
	Doc:  "coordinate frames: map, odom, the vehicle and every sensor",
	Tags: []string{"transform", "motion"},
	Attributes: []sensors.Attribute{
		{Name: "base_frame", Type: sensors.String, Default: "base_link", Doc: "name of the vehicle's frame"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Transforms](sensors.OutputSpec{
			Name: "tf", Suffix: "//tf", Doc: "tf2_msgs/TFMessage, odom to the vehicle",
			QoS: sensors.QoS{Reliable: true, Depth: 100},
		}),
		sensors.Declare[sample.Transforms](sensors.OutputSpec{
			Name: "tf_static", Suffix: "//tf_static", Doc: "tf2_msgs/TFMessage, the fixed frames, once",
			QoS: sensors.QoS{Reliable: true, TransientLocal: true, Depth: 1},
		}),
	},
	DefaultRate: "50",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &transform{spec: spec, base: spec.Settings.String("base_frame")}, nil
	},
}

type transform struct {
	spec       sensors.Spec
	base       string
	env        *sensors.Env
	tf, static *sensors.Output[*sample.Transforms]
	sentStatic bool
	message    sample.Transforms // reused: outputs copy what they keep
}

// Begin opens the outputs.
func (s *transform) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	if s.tf, err = sensors.OutputOf[*sample.Transforms](env, "tf"); err != nil {
		return err
	}
	s.static, err = sensors.OutputOf[*sample.Transforms](env, "tf_static")
	return err
}

// Tick publishes the vehicle's frame, and the fixed ones before the first.
func (s *transform) Tick(at sensors.Tick) error {
	if !s.sentStatic {
		s.sentStatic = true
		s.publishStatic(at)
	}
	pose, _ := s.env.History.Pose(s.env.Ego, at.TimeNs)
	s.message.StampNs, s.message.Static = at.TimeNs, false
	s.message.Transforms = append(s.message.Transforms[:0], sample.Transform{
		Header:       sample.Header{StampNs: at.TimeNs, Seq: at.Seq, FrameID: OdomFrame, Pose: pose},
		ChildFrameID: s.base,
		Relative:     pose,
	})
	s.tf.TryQueue(at, &s.message)
	return nil
}

func (s *transform) publishStatic(at sensors.Tick) {
	fixed := &sample.Transforms{StampNs: at.TimeNs, Static: true}
	fixed.Transforms = append(fixed.Transforms, sample.Transform{
		Header: sample.Header{FrameID: MapFrame}, ChildFrameID: OdomFrame, Relative: spatial.Identity(),
	})
	fixed.Transforms = append(fixed.Transforms, s.env.Frames()...)
	for i := range fixed.Transforms {
		fixed.Transforms[i].StampNs = at.TimeNs
	}
	s.static.TryQueue(at, fixed)
}

// End releases nothing: the sensor holds memory only.
func (s *transform) End() error { return nil }
