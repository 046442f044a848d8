// Package imu is the inertial measurement unit: specific force, angular rate and
// orientation from the ego's motion, as REP-145 defines them.
package imu

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// StandardGravity is the acceleration that a resting IMU reports on its up
// axis, m/s² (CGPM 1901).
const StandardGravity = 9.80665

// Definition describes sensor.other.imu.
var Definition = &sensors.Definition{
	ID:     "sensor.other.imu",
	Number: 40,
	Doc:    "inertial measurement unit: specific force, angular rate, orientation",
	Tags:   []string{"imu", "motion"},
	Attributes: []sensors.Attribute{
		{Name: "noise_accel_stddev", Type: sensors.Float, Unit: "m/s²", Min: 0, Max: 100, Default: 0.0, Doc: "white noise of each axis of the specific force"},
		{Name: "noise_gyro_stddev", Type: sensors.Float, Unit: "rad/s", Min: 0, Max: 10, Default: 0.0, Doc: "white noise of each axis of the angular rate"},
		{Name: "orientation", Type: sensors.Bool, Default: true, Doc: "report the orientation; without it its covariance starts with -1"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Imu](sensors.OutputSpec{
			Name: "imu", Suffix: "/data", Doc: "sensor_msgs/Imu in the sensor's frame",
			QoS: sensors.QoS{Reliable: true, Depth: 100},
		}),
	},
	DefaultRate: "100",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &imu{
			spec:  spec,
			accel: spec.Settings.Float("noise_accel_stddev"),
			gyro:  spec.Settings.Float("noise_gyro_stddev"),
		}, nil
	},
}

type imu struct {
	spec        sensors.Spec
	accel, gyro float64
	env         *sensors.Env
	out         *sensors.Output[*sample.Imu]
	bits        rand.PCG
	message     sample.Imu // reused: outputs copy what they keep
}

// Begin opens the output.
func (s *imu) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.out, err = sensors.OutputOf[*sample.Imu](env, "imu")
	return err
}

// Tick publishes the measurement at the due instant.
func (s *imu) Tick(at sensors.Tick) error {
	state, _ := s.env.History.State(s.env.Owner, at.TimeNs)
	pose := state.Pose.Compose(s.spec.Mount)
	arm := pose.Position.Sub(state.Pose.Position)
	toBody := pose.Orientation.Conjugate()

	// Rigid body: a = a_ego + α×r + ω×(ω×r).
	omega := state.Twist.Angular
	acceleration := state.Acceleration.Add(state.AngularAcceleration.Cross(arm)).Add(omega.Cross(omega.Cross(arm)))
	force := toBody.Rotate(acceleration.Add(mgl64.Vec3{0, 0, StandardGravity}))
	rate := toBody.Rotate(omega)

	m := &s.message
	m.Header = at.Header(s.spec.FrameID, pose)
	s.bits.Seed(s.env.Seed, at.Seq) // a measurement's noise depends on nothing before it
	noise := rand.New(&s.bits)
	for i := range 3 {
		m.LinearAcceleration[i] = force[i] + s.accel*noise.NormFloat64()
		m.AngularVelocity[i] = rate[i] + s.gyro*noise.NormFloat64()
	}
	m.LinearAccelerationCovariance = diagonal(s.accel * s.accel)
	m.AngularVelocityCovariance = diagonal(s.gyro * s.gyro)
	m.Orientation, m.OrientationCovariance = pose.Orientation, [9]float64{}
	if !s.spec.Settings.Bool("orientation") {
		m.Orientation = mgl64.QuatIdent()
		m.OrientationCovariance[0] = -1
	}
	s.out.TryQueue(at, m)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *imu) End() error { return nil }

func diagonal(v float64) [9]float64 {
	if math.IsNaN(v) {
		v = 0
	}
	return [9]float64{v, 0, 0, 0, v, 0, 0, 0, v}
}
