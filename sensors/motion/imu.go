package motion

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// IMU describes sensor.other.imu, the inertial measurement unit: specific force, angular
// rate and orientation from its owner's motion, as REP-145 defines them. At rest it
// reports +9.80665 m/s² on the axis that points up. The noise's attributes have CARLA's
// names and defaults; the accelerometer's bias and the walks are raybridge's.
//
// # Motion
//
// Force and rate change continuously on a route of waypoints, at any place of the body
// (scene.WaypointLoop). A vehicle that is driven by commands steers and brakes as they say, from one
// instant to the next. One that a world moves has the force that its velocities and poses tell of
// each step (scene.Guided). A measurement is of its instant: where steps are shorter than the
// sensor's period, it is of one among several.
//
// # Orientation
//
// It is that of the sensor's frame in east-north-up, as REP-103 has it: a yaw of 0 looks to true
// east. A map on UTM's grid (scene.projection) differs from that by the meridian's convergence,
// up to some degrees. Transforms and odometry stay in the map's axes. CARLA's compass is 0 to the north and grows clockwise: it is pi/2 less the
// yaw, modulo 2 pi.
//
// # Noise
//
// Each axis of force and rate has a constant bias, a bias that wanders and white noise:
//
//	reported = true + bias + bias walk + white noise
//
// Axes are the sensor's own, REP-103: x forward, y left, z up. The white deviation is that of
// one measurement. It is a density in m/s²/√Hz or rad/s/√Hz, as Kalibr and data sheets give it,
// times the root of the rate. The walk's figure is Kalibr's (m/s³/√Hz, rad/s²/√Hz): after t
// seconds its deviation is that times the root of t. It begins at 0 with the first measurement
// and continues with each that is made. A measurement's noise depends on the seed and the
// measurement's number alone.
//
// The covariances are the white noise's variances; the biases are not in them, and a
// matrix of zeros means unknown.
type IMU struct {
	AccelStddev   mgl64.Vec3 `attribute:"noise_accel_stddev" live:"true" unit:"m/s²" max:"100" usual:"0 5" doc:"white noise of the specific force"`
	AccelBias     mgl64.Vec3 `attribute:"noise_accel_bias" live:"true" unit:"m/s²" min:"-100" max:"100" usual:"-5 5" doc:"constant bias of the specific force"`
	GyroStddev    mgl64.Vec3 `attribute:"noise_gyro_stddev" live:"true" unit:"rad/s" max:"10" usual:"0 1" doc:"white noise of the angular rate"`
	GyroBias      mgl64.Vec3 `attribute:"noise_gyro_bias" live:"true" unit:"rad/s" min:"-10" max:"10" usual:"-1 1" doc:"constant bias of the angular rate"`
	AccelBiasWalk float64    `attribute:"noise_accel_bias_walk" live:"true" unit:"m/s²/√s" max:"10" usual:"0 0.1" doc:"random walk of the specific force's biases"`
	GyroBiasWalk  float64    `attribute:"noise_gyro_bias_walk" live:"true" unit:"rad/s/√s" max:"1" usual:"0 0.1" doc:"random walk of the angular rate's biases"`
	Noise
	Orientation *bool `attribute:"orientation" default:"true" doc:"report the orientation; without it its covariance starts with -1"`
}

// IMUDefinition describes sensor.other.imu.
var IMUDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.imu",
	Number: 40,
	Doc:    "inertial measurement unit: specific force, angular rate, orientation",
	Tags:   []string{"imu", "motion"},
	Outputs: sensors.OneOutput[sample.Imu](sensors.OutputSpec{
		Name: "imu", Suffix: "/data", Doc: "sensor_msgs/Imu in the sensor's frame",
		QoS: flow.ReliableQoS(100),
	}),
	Rate:    simtime.Hz(100),
	Weather: sensors.Felt{None: "a world moves the vehicle, and may have its wind push it"},
}, func(spec sensors.Spec, o IMU) (sensors.Sensor, error) {
	step := math.Sqrt(spec.Rate.Float64())
	return &imu{
		Reading:       sensors.Reading[sample.Imu]{Spec: spec},
		accel:         axesNoise{deviation: o.AccelStddev, bias: o.AccelBias, perStep: o.AccelBiasWalk / step},
		gyro:          axesNoise{deviation: o.GyroStddev, bias: o.GyroBias, perStep: o.GyroBiasWalk / step},
		noise:         o.Noise,
		noOrientation: !*o.Orientation,
	}, nil
})

// Noise is the option of sensors that have noise, its seed.
type Noise struct {
	Seed int `attribute:"noise_seed" min:"-2147483648" max:"2147483647" doc:"seed of the noise; 0 takes the run's"`
}

// of returns the seed of a sensor's noise: its own or, where it is 0, the run's.
func (n Noise) of(env *sensors.Env) uint64 {
	if n.Seed != 0 {
		return uint64(n.Seed)
	}
	return env.Seed
}

// StandardGravity is the acceleration that a resting IMU reports on its up
// axis, m/s² (CGPM 1901).
const StandardGravity = 9.80665

type imu struct {
	sensors.Reading[sample.Imu]
	accel, gyro   axesNoise
	noise         Noise
	seed          uint64
	bits          rand.PCG
	noOrientation bool
	seq           uint64 // of the latest measurement
}

// axesNoise is the noise of three axes.
type axesNoise struct {
	deviation, bias mgl64.Vec3
	// perStep is the deviation of the bias walk's steps.
	perStep float64
	walks   [3]walk
	// walked is how far a bias is off its walk because perStep was another one earlier.
	walked mgl64.Vec3
}

// seed gives the walks seeds apart from one another and from the white noise's.
func (n *axesNoise) seed(seed, first uint64) {
	for i := range n.walks {
		n.walks[i].seed = seed + (first+uint64(i))*0x9e3779b97f4a7c15
	}
}

// takeOver takes over another noise after a measurement; the walks continue from where they are.
func (n *axesNoise) takeOver(other *axesNoise, seq uint64) {
	if n.perStep != other.perStep {
		for i := range n.walked {
			n.walked[i] += (n.perStep - other.perStep) * n.walks[i].at(seq)
		}
	}
	n.deviation, n.bias, n.perStep = other.deviation, other.bias, other.perStep
}

// biasAt returns the bias of an axis at a measurement.
func (n *axesNoise) biasAt(axis int, seq uint64) float64 {
	bias := n.bias[axis] + n.walked[axis]
	if n.perStep == 0 {
		return bias
	}
	return bias + n.perStep*n.walks[axis].at(seq)
}

func (n *axesNoise) covariance() [9]float64 {
	d := n.deviation
	return [9]float64{0: d[0] * d[0], 4: d[1] * d[1], 8: d[2] * d[2]}
}

// Begin seeds the noise and opens the output.
func (s *imu) Begin(ctx context.Context, env *sensors.Env) error {
	s.seed = s.noise.of(env)
	s.accel.seed(s.seed, 1)
	s.gyro.seed(s.seed, 4)
	return s.Reading.Begin(ctx, env)
}

// Tune takes over the noise.
func (s *imu) Tune(fresh sensors.Sensor) error {
	f := fresh.(*imu)
	s.accel.takeOver(&f.accel, s.seq)
	s.gyro.takeOver(&f.gyro, s.seq)
	return nil
}

// Tick publishes the measurement at the due instant, if the owner is there then.
func (s *imu) Tick(at sensors.Tick) error {
	state, ok := s.Env.History.State(s.Env.Owner, at.Due)
	if !ok {
		return nil
	}
	pose := state.Pose.Compose(s.Spec.Mount)
	arm := pose.Position.Sub(state.Pose.Position)
	toBody := pose.Orientation.Conjugate()

	// Rigid body: a = a_owner + α×r + ω×(ω×r).
	omega := state.Twist.Angular
	acceleration := state.Acceleration.Add(state.AngularAcceleration.Cross(arm)).Add(omega.Cross(omega.Cross(arm)))
	force := toBody.Rotate(acceleration.Add(mgl64.Vec3{0, 0, StandardGravity}))
	rate := toBody.Rotate(omega)

	m := &s.Message
	m.Header = at.Header(s.Spec.FrameID, pose)
	s.seq = at.Seq
	s.bits.Seed(s.seed, at.Seq) // a measurement's noise depends on nothing before it
	noise := rand.New(&s.bits)
	for i := range 3 {
		m.LinearAcceleration[i] = force[i] + s.accel.biasAt(i, at.Seq) + s.accel.deviation[i]*noise.NormFloat64()
		m.AngularVelocity[i] = rate[i] + s.gyro.biasAt(i, at.Seq) + s.gyro.deviation[i]*noise.NormFloat64()
	}
	m.LinearAccelerationCovariance = s.accel.covariance()
	m.AngularVelocityCovariance = s.gyro.covariance()
	m.Orientation, m.OrientationCovariance = s.Env.Map.ToENU(pose.Position).Mul(pose.Orientation), [9]float64{}
	if s.noOrientation {
		m.Orientation = mgl64.QuatIdent()
		m.OrientationCovariance[0] = -1
	}
	s.Publish(at)
	return nil
}

// walk is a random walk of independent standard normal steps, W(0) = 0, that can be asked for
// any step by itself. It is Lévy's construction of Brownian motion (P. Lévy, Processus
// stochastiques et mouvement brownien, 1948): the powers of two are reached one from another.
// Every number between is the middle of two that are known before it, with a normal value of
// its own. So W(k) takes about 2 log2(k) normal values, and is the same whatever was asked for
// before.
type walk struct {
	seed uint64
	bits rand.PCG
}

// at returns W(step).
func (w *walk) at(step uint64) float64 {
	if step == 0 {
		return 0
	}
	low, atLow := uint64(1), w.normal(1)
	for n := bits.Len64(step) - 1; n > 0; n-- {
		atLow += math.Sqrt(float64(low)) * w.normal(2*low)
		low *= 2
	}
	if low == step {
		return atLow
	}
	high, atHigh := 2*low, atLow+math.Sqrt(float64(low))*w.normal(2*low)
	for {
		half := (high - low) / 2
		middle := low + half
		// Between two known values the middle has their mean and a quarter of the
		// variance of the whole step from one to the other.
		atMiddle := (atLow+atHigh)/2 + math.Sqrt(float64(half)/2)*w.normal(middle)
		switch {
		case middle == step:
			return atMiddle
		case middle < step:
			low, atLow = middle, atMiddle
		default:
			high, atHigh = middle, atMiddle
		}
	}
}

// normal returns the standard normal value that belongs to a step.
func (w *walk) normal(step uint64) float64 {
	w.bits.Seed(w.seed, step)
	return rand.New(&w.bits).NormFloat64()
}
