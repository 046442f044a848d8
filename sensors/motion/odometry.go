package motion

import (
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Odometry describes sensor.other.odometry, the ground-truth odometry of the actor that
// the sensor rides on. It has no noise: its variances are sample.ExactVariance each.
type Odometry struct {
	Child
}

// OdometryDefinition describes sensor.other.odometry.
var OdometryDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.odometry",
	Number: 44,
	Doc:    "ground-truth pose and velocity of the frame it is mounted in",
	Tags:   []string{"odometry", "motion"},
	Outputs: sensors.OneOutput[sample.Odometry](sensors.OutputSpec{
		Name: "odometry", Doc: "nav_msgs/Odometry, pose in odom, twist in the child frame, variances of 1e-6 each: there is no noise",
	}),
	Rate: simtime.Hz(50),
}, func(spec sensors.Spec, o Odometry) (sensors.Sensor, error) {
	child := spec.ChildFrame(o.Child.Frame)
	var exact [36]float64
	for i := range 6 {
		exact[7*i] = sample.ExactVariance
	}
	return newInstrument[Odometry](func(m *sample.Odometry, r *reading) {
		arm := r.header.Pose.Position.Sub(r.state.Pose.Position)
		toChild := r.header.Pose.Orientation.Conjugate()
		m.Header, m.BodyPose, m.ChildFrameID = r.header, r.header.Pose, child
		m.FrameID = spatial.FrameOdom
		m.PoseCovariance, m.TwistCovariance = exact, exact
		m.Twist = spatial.Twist{
			Linear:  toChild.Rotate(r.state.Twist.Linear.Add(r.state.Twist.Angular.Cross(arm))),
			Angular: toChild.Rotate(r.state.Twist.Angular),
		}
	})(spec, o)
})

// Child is the option of odometries, the frame whose motion they publish.
type Child struct {
	Frame string `attribute:"child_frame" doc:"name of the frame whose motion is published; empty is the parent frame for a sensor at its owner's origin, else the sensor's own"`
}
