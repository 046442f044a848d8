package motion

import (
	"context"
	"slices"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// TransformID is the type id of the transform sensor, which a pipeline adds by itself to
// a rig that has none.
const TransformID = "sensor.other.transform"

// Transform describes sensor.other.transform, which publishes the frames of the rig: the
// fixed ones on /tf_static, once for each receiver, the moving one on /tf.
type Transform struct {
	BaseFrame string `attribute:"base_frame" default:"base_link" doc:"name of the vehicle's frame"`
}

// TransformDefinition describes sensor.other.transform.
var TransformDefinition = sensors.Define(sensors.Definition{
	ID:     TransformID,
	Number: 45,
	Doc:    "coordinate frames: map, odom, the vehicle and every sensor",
	Tags:   []string{"transform", "motion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Transforms](sensors.OutputSpec{
			Name: "tf", Suffix: "//tf", Doc: "tf2_msgs/TFMessage, odom to the vehicle",
			QoS: flow.ReliableQoS(100),
		}),
		sensors.Declare[sample.Transforms](sensors.OutputSpec{
			Name: "tf_static", Suffix: "//tf_static", Doc: "tf2_msgs/TFMessage, the fixed frames, once",
			QoS: flow.StaticQoS,
		}),
	},
	Rate: simtime.Hz(50),
}, func(spec sensors.Spec, o Transform) (sensors.Sensor, error) {
	return &transform{Reading: sensors.Reading[sample.Transforms]{Spec: spec}, base: o.BaseFrame}, nil
})

type transform struct {
	sensors.Reading[sample.Transforms]
	base   string
	static *sensors.Output[*sample.Transforms]
	frames []sample.Transform // of which fixed was made
	fixed  sample.Transforms
}

// Begin opens the outputs.
func (s *transform) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if err = s.Reading.Begin(ctx, env); err != nil {
		return err
	}
	s.static, err = sensors.OutputOf[*sample.Transforms](env, "tf_static")
	return err
}

// Tick publishes the vehicle's frame, and the fixed ones to those who don't have
// them yet; to all when sensors have come or gone.
func (s *transform) Tick(at sensors.Tick) error {
	s.latchFixed(at)
	pose, ok := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !ok {
		return nil // the owner isn't there: neither is its frame
	}
	s.Message.Stamp, s.Message.Static = at.Due, false
	s.Message.Transforms = append(s.Message.Transforms[:0], sample.Transform{
		Header:       at.Header(spatial.FrameOdom, pose),
		ChildFrameID: s.base,
		Relative:     pose,
	})
	s.Publish(at)
	return nil
}

func (s *transform) latchFixed(at sensors.Tick) {
	if frames := s.Env.Frames(); len(s.fixed.Transforms) == 0 || !slices.Equal(frames, s.frames) {
		s.frames, s.fixed.Transforms = frames, s.fixedFrames(frames)
		s.static.Unlatch()
	}
	s.fixed.Stamp, s.fixed.Static = at.Due, true
	for i := range s.fixed.Transforms {
		s.fixed.Transforms[i].Stamp = at.Due
	}
	s.static.Latch(at, &s.fixed)
}

// fixedFrames returns map to odom and the rig's frames, in which the vehicle's own
// has the name that /tf gives it.
func (s *transform) fixedFrames(frames []sample.Transform) []sample.Transform {
	list := []sample.Transform{{
		Header: sample.Header{FrameID: spatial.FrameMap}, ChildFrameID: spatial.FrameOdom, Relative: spatial.Identity(),
	}}
	for _, f := range frames {
		if f.FrameID == spatial.FrameBaseLink {
			f.FrameID = s.base
		}
		list = append(list, f)
	}
	return list
}
