package imu_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// circle drives a circle about the origin, counter-clockwise, at a constant speed.
type circle struct{ radius, speed float64 }

func (c circle) PoseAt(tNs int64) spatial.Pose {
	a := c.speed / c.radius * float64(tNs) / 1e9
	return spatial.FromRPY(mgl64.Vec3{c.radius * math.Sin(a), -c.radius * math.Cos(a), 0}, 0, 0, mgl64.RadToDeg(a))
}

func TestRestReportsGravityUp(t *testing.T) {
	h := sensortest.New(t, imu.Definition, sensortest.Options{Mount: spatial.FromRPY(mgl64.Vec3{}, 0, 90, 0)})
	h.Fire(1e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	// Nose down by 90 degrees: up is the sensor's -x.
	assert.InDeltaSlice(t, []float64{-imu.StandardGravity, 0, 0}, m.LinearAcceleration[:], 1e-9)
	assert.InDeltaSlice(t, []float64{0, 0, 0}, m.AngularVelocity[:], 1e-9)
	assert.EqualValues(t, 1e9, m.StampNs)
	assert.Equal(t, "under_test", m.FrameID)
}

// TestCircleHasCentripetalAcceleration: a = v²/r at the axle, and ω² times the
// distance to the centre where the sensor is.
func TestCircleHasCentripetalAcceleration(t *testing.T) {
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
			h := sensortest.New(t, imu.Definition, sensortest.Options{
				Ego: circle{radius, speed}, Mount: spatial.FromRPY(c.mount, 0, 0, 0),
			})
			h.Fire(3e9)
			m := sensortest.Last[*sample.Imu](h, "imu")
			assert.InEpsilon(t, c.left, m.LinearAcceleration[1], 1e-6)
			assert.InDelta(t, c.forward, m.LinearAcceleration[0], 1e-6)
			assert.InEpsilon(t, imu.StandardGravity, m.LinearAcceleration[2], 1e-6)
			assert.InDeltaSlice(t, []float64{0, 0, omega}, m.AngularVelocity[:], 1e-6)
		})
	}
}

// TestNothingLeapsOnARoute: from one measurement to the next, 5 ms later, rate of turn and
// force change by what a body can do. That holds where legs meet corners, and ahead of the
// axle.
func TestNothingLeapsOnARoute(t *testing.T) {
	const speed, radius, ahead, stepNs = 8.0, 6.0, 2.0, 5_000_000
	route, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {40, 0, 0}, {40, 30, 0}, {0, 30, 0}}, speed)
	require.NoError(t, err)
	h := sensortest.New(t, imu.Definition, sensortest.Options{Ego: route, Mount: spatial.FromRPY(mgl64.Vec3{ahead, 0, 0}, 0, 0, 0)})
	var before sample.Imu
	turned := 0.0
	for k := range int64(route.Length() / speed * 1e9 / stepNs) {
		h.Fire(k * stepNs)
		now := *sensortest.Last[*sample.Imu](h, "imu")
		if k > 0 {
			turning := (now.AngularVelocity[2] - before.AngularVelocity[2]) / (stepNs * 1e-9)
			assert.LessOrEqual(t, math.Abs(turning), 6., "rad/s² at %d ns", now.StampNs)
			jerk := now.LinearAcceleration.Sub(before.LinearAcceleration).Len() / (stepNs * 1e-9)
			assert.LessOrEqual(t, jerk, 140., "m/s³ at %d ns", now.StampNs)
		}
		turned += now.AngularVelocity[2] * stepNs * 1e-9
		before = now
	}
	assert.InDelta(t, 2*math.Pi, turned, 0.01, "a lap")
}

// TestRolledMount: rolled by 90° the sensor's y axis points up, its z axis right.
func TestRolledMount(t *testing.T) {
	const radius, speed = 20.0, 8.0
	const omega = speed / radius
	h := sensortest.New(t, imu.Definition, sensortest.Options{
		Ego: circle{radius, speed}, Mount: spatial.FromRPY(mgl64.Vec3{}, 90, 0, 0),
	})
	h.Fire(3e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.InDeltaSlice(t, []float64{0, omega, 0}, m.AngularVelocity[:], 1e-6)
	assert.InDeltaSlice(t, []float64{0, imu.StandardGravity, -speed * speed / radius}, m.LinearAcceleration[:], 1e-5)
}

// TestRidesOnItsOwner: on another actor it measures that one's motion.
func TestRidesOnItsOwner(t *testing.T) {
	const radius, speed = 10.0, 5.0
	world := &scene.Scene{Ego: spatial.Identity(), Actors: []*scene.Actor{
		{ID: 7, Name: "bus", TypeID: "vehicle.bus", Motion: circle{radius, speed}},
	}}
	h := sensortest.New(t, imu.Definition, sensortest.Options{Scene: world, Owner: 7})
	h.Fire(2e9)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.InEpsilon(t, speed*speed/radius, m.LinearAcceleration[1], 1e-6)
	assert.InDelta(t, speed/radius, m.AngularVelocity[2], 1e-6)
	want := circle{radius, speed}.PoseAt(2e9)
	assert.InDeltaSlice(t, want.Position[:], m.Pose.Position[:], 1e-9)
}

func TestUnreportedOrientation(t *testing.T) {
	h := sensortest.New(t, imu.Definition, sensortest.Options{Attributes: map[string]any{"orientation": false}})
	h.Fire(1e8)
	m := sensortest.Last[*sample.Imu](h, "imu")
	assert.Equal(t, -1.0, m.OrientationCovariance[0])
	assert.Equal(t, mgl64.QuatIdent(), m.Orientation)
}

func TestConformance(t *testing.T) {
	changed := map[string]any{
		"noise_accel_bias_walk": 0.01, "noise_gyro_bias_walk": 0.01, "orientation": false, "noise_seed": 9,
	}
	for _, axis := range []string{"_x", "_y", "_z"} {
		changed["noise_accel_stddev"+axis], changed["noise_gyro_stddev"+axis] = 0.1, 0.01
		changed["noise_accel_bias"+axis], changed["noise_gyro_bias"+axis] = 0.1, -0.01
	}
	sensortest.Run(t, imu.Definition, sensortest.Suite{
		Options: sensortest.Options{Attributes: map[string]any{"noise_accel_stddev_x": 0.2}},
		Changed: changed,
	})
}

// spin turns on the spot, ever faster, and lifts off ever faster.
type spin struct{ alpha, lift float64 }

func (s spin) PoseAt(tNs int64) spatial.Pose {
	t := float64(tNs) / 1e9
	return spatial.FromRPY(mgl64.Vec3{0, 0, s.lift * t * t / 2}, 0, 0, mgl64.RadToDeg(s.alpha*t*t/2))
}

func TestAcceleratingTurnHasATangentialPart(t *testing.T) {
	const alpha, lift, arm = 0.8, 0.5, 2.0
	h := sensortest.New(t, imu.Definition, sensortest.Options{
		Ego: spin{alpha, lift}, Mount: spatial.FromRPY(mgl64.Vec3{arm, 0, 0}, 0, 0, 0),
	})
	h.Fire(1_505_000_000)
	m := sensortest.Last[*sample.Imu](h, "imu")
	omega := alpha * 1.505
	assert.InDelta(t, -omega*omega*arm, m.LinearAcceleration[0], 1e-4)
	assert.InDelta(t, alpha*arm, m.LinearAcceleration[1], 1e-4)
	assert.InDelta(t, imu.StandardGravity+lift, m.LinearAcceleration[2], 1e-4)
	assert.InDelta(t, omega, m.AngularVelocity[2], 1e-6)
}

// TestDrivenVehicle compares the IMU with the second difference of where its
// mounting point is.
func TestDrivenVehicle(t *testing.T) {
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	if err != nil {
		t.Fatal(err)
	}
	mount := spatial.FromRPY(mgl64.Vec3{1.5, 0.5, 1}, 0, 0, 30)
	h := sensortest.New(t, imu.Definition, sensortest.Options{Ego: car, Mount: mount})
	for k := int64(1); k <= 40; k++ {
		if err := car.SetCommand(scene.Command{Acceleration: 2, Steering: 0.3}); err != nil {
			t.Fatal(err)
		}
		h.Fire(k * 25_000_000)
	}
	// The whole way is one command, so the places along it are differentiable.
	const at, d = 900_000_000, 5_000_000
	h.Fire(1_000_000_000)
	place := func(tNs int64) mgl64.Vec3 { return car.PoseAt(tNs).Compose(mount).Position }
	want := place(at + d).Add(place(at - d)).Sub(place(at).Mul(2)).Mul(1 / (d * 1e-9 * d * 1e-9))
	want = car.PoseAt(at).Compose(mount).Orientation.Conjugate().Rotate(want)
	got := h.Messages["imu"][35].(*sample.Imu)
	assert.EqualValues(t, at, got.StampNs)
	assert.InDelta(t, want[0], got.LinearAcceleration[0], 2e-3)
	assert.InDelta(t, want[1], got.LinearAcceleration[1], 2e-3)
}
