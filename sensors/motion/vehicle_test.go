package motion_test

import (
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

// driven returns what an instrument last said in a vehicle that was driven by a
// command for a second, from a standstill.
func driven[M any](t *testing.T, d *sensors.Definition, output string, c scene.Command) M {
	t.Helper()
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{Wheelbase: 2.5, MaxSteering: 0.5, MaxAcceleration: 4, MaxDeceleration: 10})
	require.NoError(t, err)
	h := sensortest.New(t, d, sensortest.Options{Ego: car, Scene: karlsruhe()})
	for k := int64(1); k <= 10; k++ {
		require.NoError(t, car.SetCommand(c))
		h.Fire(simtime.Stamp(k * 100_000_000))
	}
	return sensortest.Last[M](h, output)
}

func TestCANBusOfADrivenVehicle(t *testing.T) {
	ahead := driven[*sample.CanBus](t, motion.CANBusDefinition, "can_bus", scene.Command{Acceleration: 2, Steering: 0.25})
	assert.InDelta(t, 2, ahead.Speed, 1e-9)
	assert.InDelta(t, 0.5, ahead.Throttle, 1e-9, "2 of 4 m/s²")
	assert.Zero(t, ahead.Braking)
	assert.InDelta(t, -0.5, ahead.Steering, 1e-9, "half of the greatest angle, and left is negative")
	assert.EqualValues(t, sample.GearDrive, ahead.Gear)
	assert.False(t, ahead.Reverse)
	assert.True(t, ahead.EngineOn)
	assert.InDelta(t, 2, ahead.Velocity.Len(), 1e-9)
	assert.Equal(t, 800.0, ahead.EngineRPM)
	for name, on := range map[string]bool{
		"parking brake": ahead.ParkingBrake, "high beam": ahead.HighBeam, "low beam": ahead.LowBeam, "hazard": ahead.HazardLights,
		"fog": ahead.FogLights, "left turn": ahead.LeftTurn, "right turn": ahead.RightTurn, "wipers": ahead.Wipers,
	} {
		assert.False(t, on, name)
	}

	back := driven[*sample.CanBus](t, motion.CANBusDefinition, "can_bus", scene.Command{BySpeed: true, Speed: -3, Steering: -0.5})
	assert.InDelta(t, -3, back.Speed, 1e-9)
	assert.EqualValues(t, sample.GearReverse, back.Gear)
	assert.True(t, back.Reverse)
	assert.InDelta(t, 1, back.Steering, 1e-9)
}

func TestStandingVehicle(t *testing.T) {
	m := driven[*sample.CanBus](t, motion.CANBusDefinition, "can_bus", scene.Command{})
	assert.Zero(t, m.Speed)
	assert.Zero(t, m.Throttle)
	assert.Zero(t, m.Braking)
	assert.EqualValues(t, sample.GearDrive, m.Gear)
	assert.InDelta(t, 49.01, m.Latitude, 1e-9)
	assert.InDelta(t, 8.4, m.Longitude, 1e-9)
	assert.InDelta(t, 115, m.Altitude, 1e-5)
	assert.Equal(t, mgl64.QuatIdent(), m.Orientation)
}

// straight goes along the map's x with a speed and an acceleration.
type straight struct{ speed, acceleration float64 }

func (m straight) PoseAt(stamp simtime.Stamp) spatial.Pose {
	t := float64(stamp) / 1e9
	return spatial.FromRPY(mgl64.Vec3{m.speed*t + m.acceleration*t*t/2, 0, 0}, 0, 0, 0)
}

// TestBrakeAndThrottleOfAPath: what is not driven shows what a driver would have done.
func TestBrakeAndThrottleOfAPath(t *testing.T) {
	for name, c := range map[string]struct {
		motion          straight
		throttle, brake float64
	}{
		"constant": {straight{10, 0}, 0, 0},
		"faster":   {straight{10, 2}, 0.5, 0},
		"slower":   {straight{10, -4}, 0, 0.5},
	} {
		h := sensortest.New(t, motion.CANBusDefinition, sensortest.Options{Ego: c.motion})
		h.Fire(1e9)
		m := sensortest.Last[*sample.CanBus](h, "can_bus")
		assert.InDelta(t, 10+c.motion.acceleration, m.Speed, 1e-6, name)
		assert.InDelta(t, c.throttle, m.Throttle, 1e-5, name)
		assert.InDelta(t, c.brake, m.Braking, 1e-5, name)
	}
}

// At 20 m/s a wheel of 0.33 m turns 9.65 times a second, the engine four times that.
func TestEngineRPM(t *testing.T) {
	h := sensortest.New(t, motion.CANBusDefinition, sensortest.Options{Ego: straight{20, 0}})
	h.Fire(1e9)
	assert.InDelta(t, 2315, sensortest.Last[*sample.CanBus](h, "can_bus").EngineRPM, 1)
}

func TestVehicleOdometry(t *testing.T) {
	m := driven[*sample.VehicleOdometry](t, motion.VehicleOdometryDefinition, "vehicle_odometry", scene.Command{BySpeed: true, Speed: 3, Steering: 0.3})
	assert.InDelta(t, 3, m.Velocity, 1e-9)
	assert.InDelta(t, 0.3, m.FrontWheelAngle, 1e-9)
	assert.Zero(t, m.RearWheelAngle)
}

func TestSpeedometer(t *testing.T) {
	m := driven[*sample.Speed](t, motion.SpeedometerDefinition, "speed", scene.Command{BySpeed: true, Speed: -1.5})
	assert.InDelta(t, -1.5, m.MetresPerSecond, 1e-9)
	assert.Equal(t, "under_test", m.FrameID)
}

// climb goes up a slope of 3:4 sideways to its x axis: a speedometer counts only what is
// along that.
type climb struct{}

func (climb) PoseAt(stamp simtime.Stamp) spatial.Pose {
	t := float64(stamp) / 1e9
	return spatial.FromRPY(mgl64.Vec3{4 * t, 0, 3 * t}, 0, 0, 0)
}

func TestSpeedIsAlongTheVehicle(t *testing.T) {
	h := sensortest.New(t, motion.SpeedometerDefinition, sensortest.Options{Ego: climb{}})
	h.Fire(1e9)
	assert.InDelta(t, 4, sensortest.Last[*sample.Speed](h, "speed").MetresPerSecond, 1e-9)
}

// TestVehicleMountChangesTheHeaderOnly: the vehicle is where it is.
func TestVehicleMountChangesTheHeaderOnly(t *testing.T) {
	turn := func(mount spatial.Pose) *sample.CanBus {
		loop, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {50, 0, 0}, {50, 50, 0}, {0, 50, 0}}, 8)
		require.NoError(t, err)
		h := sensortest.New(t, motion.CANBusDefinition, sensortest.Options{Scene: karlsruhe(), Ego: loop, Mount: mount})
		h.Fire(5e9)
		return sensortest.Last[*sample.CanBus](h, "can_bus")
	}
	plain, mounted := turn(spatial.Identity()), turn(spatial.FromRPY(mgl64.Vec3{3, 1, 1}, 0, 0, 90))
	assert.NotEqual(t, plain.Pose, mounted.Pose)
	mounted.Header = plain.Header
	assert.Equal(t, plain, mounted)
}

func TestVehicleRidesOnItsOwner(t *testing.T) {
	world := karlsruhe()
	world.Actors = []*scene.Actor{{ID: 7, Name: "bus", TypeID: "vehicle.bus", Motion: straight{12, 0}}}
	h := sensortest.New(t, motion.SpeedometerDefinition, sensortest.Options{Scene: world, Owner: 7})
	h.Fire(1e9)
	assert.InDelta(t, 12, sensortest.Last[*sample.Speed](h, "speed").MetresPerSecond, 1e-6)
}

func TestVehicleRates(t *testing.T) {
	for d, rate := range map[*sensors.Definition]string{motion.CANBusDefinition: "10", motion.VehicleOdometryDefinition: "10", motion.SpeedometerDefinition: "20"} {
		assert.Equal(t, rate, d.Rate.String(), d.ID)
	}
}
