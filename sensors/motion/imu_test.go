package motion_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func TestIMUAtRestReportsGravityUp(t *testing.T) {
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Mount: spatial.FromRPY(mgl64.Vec3{}, 0, 90, 0)})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	// Nose down by 90 degrees: up is the sensor's -x.
	assert.InDeltaSlice(t, []float64{-motion.StandardGravity, 0, 0}, m.LinearAcceleration[:], 1e-9)
	assert.InDeltaSlice(t, []float64{0, 0, 0}, m.AngularVelocity[:], 1e-9)
	assert.EqualValues(t, 1e9, m.Stamp)
	assert.Equal(t, "under_test", m.FrameID)
}

// TestIMUCircleHasCentripetalAcceleration: a = v²/r at the axle, and ω² times the
// distance to the centre where the sensor is.
func TestIMUCircleHasCentripetalAcceleration(t *testing.T) {
	const radius, speed = 20.0, 8.0
	const omega = speed / radius
	for name, c := range map[string]struct {
		mount         mgl64.Vec3
		forward, left float64 // m/s²
	}{
		"axle":           {mgl64.Vec3{}, 0, speed * speed / radius},
		"two metres in":  {mgl64.Vec3{0, 2, 0}, 0, omega * omega * (radius - 2)},
		"two metres out": {mgl64.Vec3{0, -2, 0}, 0, omega * omega * (radius + 2)},
		"nose":           {mgl64.Vec3{3, 0, 1.5}, -omega * omega * 3, speed * speed / radius},
	} {
		t.Run(name, func(t *testing.T) {
			h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{
				Ego: circle{radius, speed}, Mount: spatial.FromRPY(c.mount, 0, 0, 0),
			})
			h.Fire(3e9)
			m := sensortest.Last[*sample.Imu](h, "imu")
			assert.InEpsilon(t, c.left, m.LinearAcceleration[1], 1e-6)
			assert.InDelta(t, c.forward, m.LinearAcceleration[0], 1e-6)
			assert.InEpsilon(t, motion.StandardGravity, m.LinearAcceleration[2], 1e-6)
			assert.InDeltaSlice(t, []float64{0, 0, omega}, m.AngularVelocity[:], 1e-6)
		})
	}
}

// TestIMUNothingLeapsOnARoute: from one measurement to the next, 5 ms later, rate of turn and
// force change by what a body can do. That holds where legs meet corners, and ahead of the
// axle.
func TestIMUNothingLeapsOnARoute(t *testing.T) {
	const speed, radius, ahead, stepNs = 8.0, 6.0, 2.0, 5_000_000
	route, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {40, 0, 0}, {40, 30, 0}, {0, 30, 0}}, speed)
	require.NoError(t, err)
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Ego: route, Mount: spatial.FromRPY(mgl64.Vec3{ahead, 0, 0}, 0, 0, 0)})
	var before sample.Imu
	turned := 0.0
	for k := range int64(route.Length() / speed * 1e9 / stepNs) {
		h.Fire(simtime.Stamp(k * stepNs))
		now := *sensortest.Last[*sample.Imu](h, "imu")
		if k > 0 {
			turning := (now.AngularVelocity[2] - before.AngularVelocity[2]) / (stepNs * 1e-9)
			assert.LessOrEqual(t, math.Abs(turning), 6., "rad/s² at %d ns", now.Stamp)
			jerk := now.LinearAcceleration.Sub(before.LinearAcceleration).Len() / (stepNs * 1e-9)
			assert.LessOrEqual(t, jerk, 140., "m/s³ at %d ns", now.Stamp)
		}
		turned += now.AngularVelocity[2] * stepNs * 1e-9
		before = now
	}
	assert.InDelta(t, 2*math.Pi, turned, 0.01, "a lap")
}

// TestIMURolledMount: rolled by 90° the sensor's y axis points up, its z axis right.
func TestIMURolledMount(t *testing.T) {
	const radius, speed = 20.0, 8.0
	const omega = speed / radius
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{
		Ego: circle{radius, speed}, Mount: spatial.FromRPY(mgl64.Vec3{}, 90, 0, 0),
	})
	h.Fire(3e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.InDeltaSlice(t, []float64{0, omega, 0}, m.AngularVelocity[:], 1e-6)
	assert.InDeltaSlice(t, []float64{0, motion.StandardGravity, -speed * speed / radius}, m.LinearAcceleration[:], 1e-5)
}

// TestIMURidesOnItsOwner: on another actor it measures that one's motion.
func TestIMURidesOnItsOwner(t *testing.T) {
	const radius, speed = 10.0, 5.0
	world := &scene.Scene{Ego: spatial.Identity(), Actors: []*scene.Actor{
		{ID: 7, Name: "bus", TypeID: "vehicle.bus", Motion: circle{radius, speed}},
	}}
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Scene: world, Owner: 7})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.InEpsilon(t, speed*speed/radius, m.LinearAcceleration[1], 1e-6)
	assert.InDelta(t, speed/radius, m.AngularVelocity[2], 1e-6)
	want := circle{radius, speed}.PoseAt(2e9)
	assert.InDeltaSlice(t, want.Position[:], m.Pose.Position[:], 1e-9)
}

func TestIMUUnreportedOrientation(t *testing.T) {
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Attributes: map[string]any{"orientation": false}})
	h.Fire(1e8)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.Equal(t, -1.0, m.OrientationCovariance[0])
	assert.Equal(t, mgl64.QuatIdent(), m.Orientation)
}

// spin turns on the spot, ever faster, and lifts off ever faster.
type spin struct{ alpha, lift float64 }

func (s spin) PoseAt(stamp simtime.Stamp) spatial.Pose {
	t := float64(stamp) / 1e9
	return spatial.FromRPY(mgl64.Vec3{0, 0, s.lift * t * t / 2}, 0, 0, mgl64.RadToDeg(s.alpha*t*t/2))
}

func TestIMUAcceleratingTurnHasATangentialPart(t *testing.T) {
	const alpha, lift, arm = 0.8, 0.5, 2.0
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{
		Ego: spin{alpha, lift}, Mount: spatial.FromRPY(mgl64.Vec3{arm, 0, 0}, 0, 0, 0),
	})
	h.Fire(1_505_000_000)
	m := sensortest.Last[*sample.Imu](h, "imu")
	omega := alpha * 1.505
	assert.InDelta(t, -omega*omega*arm, m.LinearAcceleration[0], 1e-4)
	assert.InDelta(t, alpha*arm, m.LinearAcceleration[1], 1e-4)
	assert.InDelta(t, motion.StandardGravity+lift, m.LinearAcceleration[2], 1e-4)
	assert.InDelta(t, omega, m.AngularVelocity[2], 1e-6)
}

// TestIMUDrivenVehicle compares the IMU with the second difference of where its
// mounting point is.
func TestIMUDrivenVehicle(t *testing.T) {
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	if err != nil {
		t.Fatal(err)
	}
	mount := spatial.FromRPY(mgl64.Vec3{1.5, 0.5, 1}, 0, 0, 30)
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Ego: car, Mount: mount})
	for k := int64(1); k <= 40; k++ {
		if err := car.SetCommand(scene.Command{Acceleration: 2, Steering: 0.3}); err != nil {
			t.Fatal(err)
		}
		h.Fire(simtime.Stamp(k * 25_000_000))
	}
	// The whole way is one command, so the places along it are differentiable.
	const at, d = 900_000_000, 5_000_000
	h.Fire(1_000_000_000)
	place := func(stamp simtime.Stamp) mgl64.Vec3 { return car.PoseAt(stamp).Compose(mount).Position }
	want := place(at + d).Add(place(at - d)).Sub(place(at).Mul(2)).Mul(1 / (d * 1e-9 * d * 1e-9))
	want = car.PoseAt(at).Compose(mount).Orientation.Conjugate().Rotate(want)
	got := h.Messages["imu"][35].(*sample.Imu)
	assert.EqualValues(t, simtime.Stamp(at), got.Stamp)
	assert.InDelta(t, want[0], got.LinearAcceleration[0], 2e-3)
	assert.InDelta(t, want[1], got.LinearAcceleration[1], 2e-3)
}

// TestIMUCarlaDefaults has the attributes of CARLA's unit, and those beside them.
func TestIMUCarlaDefaults(t *testing.T) {
	settings := motion.IMUDefinition.NewSettings()
	for _, name := range []string{"noise_accel_stddev", "noise_gyro_stddev", "noise_gyro_bias", "noise_accel_bias"} {
		for _, axis := range []string{"_x", "_y", "_z"} {
			assert.Equal(t, 0.0, settings.Value(name+axis), name+axis)
		}
	}
	assert.Equal(t, 0.0, settings.Value("noise_accel_bias_walk"))
	assert.Equal(t, 0.0, settings.Value("noise_gyro_bias_walk"))
	assert.Equal(t, int64(0), settings.Value("noise_seed"))
}

// atRest returns an unmoving sensor's measurements, gravity taken away.
func atRest(t *testing.T, seed uint64, attributes map[string]any, firings ...uint64) (force, rate []mgl64.Vec3, last *sample.Imu) {
	t.Helper()
	h := sensortest.New(t, motion.IMUDefinition, sensortest.Options{Seed: seed, Attributes: attributes})
	h.Env.History.Record(0)
	for _, seq := range firings {
		require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: 1e9, PeriodNs: 1e8, Seq: seq}))
		last = sensortest.Last[*sample.Imu](h, "imu")
		force = append(force, last.LinearAcceleration.Sub(mgl64.Vec3{0, 0, motion.StandardGravity}))
		rate = append(rate, last.AngularVelocity)
	}
	return force, rate, last
}

func sequence(n uint64) (all []uint64) {
	for k := range n {
		all = append(all, k)
	}
	return all
}

// TestIMUEveryAxisHasItsNoise: deviation and bias of each axis, and the covariance that
// goes with them.
func TestIMUEveryAxisHasItsNoise(t *testing.T) {
	const n = 4000
	attributes := map[string]any{}
	var deviation, bias [2][3]float64
	for q, quantity := range []string{"accel", "gyro"} {
		for i, axis := range []string{"_x", "_y", "_z"} {
			deviation[q][i], bias[q][i] = 0.1*float64(1+i+3*q), 0.3*float64(i-1)-0.1*float64(q)
			attributes["noise_"+quantity+"_stddev"+axis] = deviation[q][i]
			attributes["noise_"+quantity+"_bias"+axis] = bias[q][i]
		}
	}
	force, rate, last := atRest(t, 1, attributes, sequence(n)...)
	covariances := [2][9]float64{last.LinearAccelerationCovariance, last.AngularVelocityCovariance}
	for q, series := range [2][]mgl64.Vec3{force, rate} {
		for i := range 3 {
			var mean, variance float64
			for _, v := range series {
				mean += v[i] / n
			}
			for _, v := range series {
				variance += (v[i] - mean) * (v[i] - mean) / n
			}
			want := deviation[q][i]
			assert.InDelta(t, bias[q][i], mean, 4*want/math.Sqrt(n))
			assert.InEpsilon(t, want, math.Sqrt(variance), 4/math.Sqrt(2*n))
			assert.InDelta(t, want*want, covariances[q][4*i], 1e-12)
		}
	}
	for i, v := range covariances[0] {
		if i%4 != 0 {
			assert.Zero(t, v)
		}
	}
}

// TestIMUBiasWalk: at 10 Hz the deviation after 6.4 s is the figure times √6.4, and no two
// axes wander together.
func TestIMUBiasWalk(t *testing.T) {
	const walks = 1500
	attributes := map[string]any{"noise_accel_bias_walk": 0.05, "noise_gyro_bias_walk": 0.02}
	var square [6]float64
	var together float64
	for seed := range uint64(walks) {
		force, rate, last := atRest(t, seed*0x9e3779b97f4a7c15, attributes, 0, 64)
		assert.InDelta(t, 0, force[0].Len(), 1e-12, "it begins at 0")
		for i := range 3 {
			square[i] += force[1][i] * force[1][i] / walks
			square[3+i] += rate[1][i] * rate[1][i] / walks
		}
		together += force[1][0] * rate[1][0] / walks
		assert.Zero(t, last.LinearAccelerationCovariance, "a bias is in no covariance")
	}
	for i := range 3 {
		assert.InEpsilon(t, 0.05*0.05*6.4, square[i], 4*math.Sqrt(2.0/walks))
		assert.InEpsilon(t, 0.02*0.02*6.4, square[3+i], 4*math.Sqrt(2.0/walks))
	}
	assert.InDelta(t, 0, together/(0.05*0.02*6.4), 4/math.Sqrt(walks))
}

// TestIMUNoiseDependsOnSeedAndNumber alone: what was not computed changes nothing.
func TestIMUNoiseDependsOnSeedAndNumber(t *testing.T) {
	attributes := map[string]any{"noise_gyro_stddev_y": 0.1, "noise_accel_bias_walk": 0.1}
	force, rate, _ := atRest(t, 1, attributes, sequence(20)...)
	later, laterRate, _ := atRest(t, 1, attributes, 17, 5)
	assert.Equal(t, []mgl64.Vec3{force[17], force[5]}, later)
	assert.Equal(t, []mgl64.Vec3{rate[17], rate[5]}, laterRate)

	other, _, _ := atRest(t, 2, attributes, 17)
	assert.NotEqual(t, force[17], other[0])
	attributes["noise_seed"] = 77
	own, _, _ := atRest(t, 1, attributes, 17)
	same, _, _ := atRest(t, 2, attributes, 17)
	assert.NotEqual(t, force[17], own[0])
	assert.Equal(t, own, same, "a seed of its own replaces the run's")
}
