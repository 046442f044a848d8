// Package imu is the inertial measurement unit: specific force, angular rate and
// orientation from its owner's motion, as REP-145 defines them. At rest it reports
// +9.80665 m/s² on the axis that points up.
//
// # Motion
//
// Force and rate change continuously on a route of waypoints, at any place of the body
// (scene.WaypointLoop). A vehicle that is driven by commands steers and brakes as they say, from one
// instant to the next.
//
// # Orientation
//
// It is that of the sensor's frame in the map frame, east-north-up: a yaw of 0 looks
// east. CARLA's compass is 0 to the north and grows clockwise: it is pi/2 less the
// yaw, modulo 2 pi.
//
// # Noise
//
// Each axis of force and rate has a constant bias, a bias that wanders and white noise:
//
//	reported = true + bias + bias walk + white noise
//
// Axes are the sensor's own, REP-103: x forward, y left, z up. The white deviation is
// that of one measurement: a density in m/s²/√Hz or rad/s/√Hz, as Kalibr and data
// sheets give it, times the root of the rate. The walk's figure is Kalibr's (m/s³/√Hz,
// rad/s²/√Hz): after t seconds its deviation is that times the root of t. It begins at 0
// with the first measurement and goes on with each that is made. A measurement's noise
// depends on the seed and the measurement's number alone.
//
// The covariances are the white noise's variances; the biases are not in them, and a
// matrix of zeros means unknown.
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

type imu struct {
	spec          sensors.Spec
	accel, gyro   axesNoise
	seed          uint64
	env           *sensors.Env
	out           *sensors.Output[*sample.Imu]
	bits          rand.PCG
	message       sample.Imu // reused: outputs copy what they keep
	noOrientation bool
}

// axesNoise is the noise of three axes.
type axesNoise struct {
	deviation, bias mgl64.Vec3
	// perStep is the deviation of the bias walk's steps.
	perStep float64
	walks   [3]walk
}

func newAxesNoise(spec sensors.Spec, quantity string) axesNoise {
	n := axesNoise{perStep: spec.Settings.Float("noise_"+quantity+"_bias_walk") / math.Sqrt(spec.RateHz)}
	for i, axis := range axes {
		n.deviation[i] = spec.Settings.Float("noise_" + quantity + "_stddev" + axis)
		n.bias[i] = spec.Settings.Float("noise_" + quantity + "_bias" + axis)
	}
	return n
}

// seed gives the walks seeds apart from one another and from the white noise's.
func (n *axesNoise) seed(seed, first uint64) {
	for i := range n.walks {
		n.walks[i].seed = seed + (first+uint64(i))*0x9e3779b97f4a7c15
	}
}

// biasAt returns the bias of an axis at a measurement.
func (n *axesNoise) biasAt(axis int, seq uint64) float64 {
	if n.perStep == 0 {
		return n.bias[axis]
	}
	return n.bias[axis] + n.perStep*n.walks[axis].at(seq)
}

func (n *axesNoise) covariance() [9]float64 {
	d := n.deviation
	return [9]float64{0: d[0] * d[0], 4: d[1] * d[1], 8: d[2] * d[2]}
}

// Begin opens the output.
func (s *imu) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env, s.seed = env, env.Seed
	if own := s.spec.Settings.Int("noise_seed"); own != 0 {
		s.seed = uint64(own)
	}
	s.accel.seed(s.seed, 1)
	s.gyro.seed(s.seed, 4)
	s.out, err = sensors.OutputOf[*sample.Imu](env, "imu")
	return err
}

// Tick publishes the measurement at the due instant, if the owner is there then.
func (s *imu) Tick(at sensors.Tick) error {
	state, ok := s.env.History.State(s.env.Owner, at.TimeNs)
	if !ok {
		return nil
	}
	pose := state.Pose.Compose(s.spec.Mount)
	arm := pose.Position.Sub(state.Pose.Position)
	toBody := pose.Orientation.Conjugate()

	// Rigid body: a = a_owner + α×r + ω×(ω×r).
	omega := state.Twist.Angular
	acceleration := state.Acceleration.Add(state.AngularAcceleration.Cross(arm)).Add(omega.Cross(omega.Cross(arm)))
	force := toBody.Rotate(acceleration.Add(mgl64.Vec3{0, 0, StandardGravity}))
	rate := toBody.Rotate(omega)

	m := &s.message
	m.Header = at.Header(s.spec.FrameID, pose)
	s.bits.Seed(s.seed, at.Seq) // a measurement's noise depends on nothing before it
	noise := rand.New(&s.bits)
	for i := range 3 {
		m.LinearAcceleration[i] = force[i] + s.accel.biasAt(i, at.Seq) + s.accel.deviation[i]*noise.NormFloat64()
		m.AngularVelocity[i] = rate[i] + s.gyro.biasAt(i, at.Seq) + s.gyro.deviation[i]*noise.NormFloat64()
	}
	m.LinearAccelerationCovariance = s.accel.covariance()
	m.AngularVelocityCovariance = s.gyro.covariance()
	m.Orientation, m.OrientationCovariance = pose.Orientation, [9]float64{}
	if s.noOrientation {
		m.Orientation = mgl64.QuatIdent()
		m.OrientationCovariance[0] = -1
	}
	s.out.TryQueue(at, m)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *imu) End() error { return nil }
