package motion

import (
	"context"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Odometry describes sensor.other.odometry, the ground-truth odometry of the actor that
// the sensor rides on.
var Odometry = &sensors.Definition{
	ID:     "sensor.other.odometry",
	Number: 44,
	Doc:    "ground-truth pose and velocity of the frame it is mounted in",
	Tags:   []string{"odometry", "motion"},
	Attributes: []sensors.Attribute{
		{Name: "child_frame", Type: sensors.String, Default: "", Doc: "name of the frame whose motion is published; empty is the parent frame for a sensor at its owner's origin, else the sensor's own"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Odometry](sensors.OutputSpec{
			Name: "odometry", Suffix: "", Doc: "nav_msgs/Odometry, pose in odom, twist in the child frame",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "50",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &odometry{spec: spec, child: spec.ChildFrame(spec.Settings.String("child_frame"))}, nil
	},
}

type odometry struct {
	spec    sensors.Spec
	child   string
	env     *sensors.Env
	out     *sensors.Output[*sample.Odometry]
	message sample.Odometry // reused: outputs copy what they keep
}

// Begin opens the output.
func (s *odometry) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.out, err = sensors.OutputOf[*sample.Odometry](env, "odometry")
	return err
}

// Tick publishes the state at the due instant, if the owner is there then.
func (s *odometry) Tick(at sensors.Tick) error {
	state, ok := s.env.History.State(s.env.Owner, at.TimeNs)
	if !ok {
		return nil
	}
	pose := state.Pose.Compose(s.spec.Mount)
	arm := pose.Position.Sub(state.Pose.Position)
	toChild := pose.Orientation.Conjugate()
	m := &s.message
	m.Header = at.Header(spatial.FrameOdom, pose)
	m.ChildFrameID = s.child
	m.BodyPose = pose
	m.Twist = spatial.Twist{
		Linear:  toChild.Rotate(state.Twist.Linear.Add(state.Twist.Angular.Cross(arm))),
		Angular: toChild.Rotate(state.Twist.Angular),
	}
	s.out.TryQueue(at, m)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *odometry) End() error { return nil }
