package motion

import (
	"math"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// CANBus describes sensor.other.can_bus: a vehicle's speed, pedals, steering, gear and
// position. SVL's goes at 1 to 100 Hz.
type CANBus struct{}

// CANBusDefinition describes sensor.other.can_bus.
var CANBusDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.can_bus",
	Number: 47,
	Doc:    "what a vehicle reports of itself: speed, pedals, steering, gear, position",
	Tags:   []string{"vehicle", "motion"},
	Outputs: sensors.OneOutput[sample.CanBus](sensors.OutputSpec{
		Name: "can_bus", Doc: "state of the vehicle; its position is that of the vehicle's origin",
	}),
	Rate: simtime.Hz(10),
}, newInstrument[CANBus](fillCanBus))

// The engine: see the package's documentation.
const (
	idleRPM     = 800
	engineRatio = 4
	wheelRadius = 0.33 // metres
)

func fillCanBus(m *sample.CanBus, r *reading) {
	c := &r.controls
	place, _ := r.place.locate(r.state.Pose.Position)
	*m = sample.CanBus{
		Header: r.header,
		Speed:  c.Speed, Throttle: c.Throttle, Braking: c.Brake,
		Steering: -c.SteeringShare, // positive to the right
		Reverse:  c.Reverse, Gear: sample.GearDrive, EngineOn: true,
		EngineRPM: max(idleRPM, math.Abs(c.Speed)/(2*math.Pi*wheelRadius)*60*engineRatio),
		Latitude:  place.Latitude, Longitude: place.Longitude, Altitude: place.Altitude,
		Orientation: r.state.Pose.Orientation, Velocity: r.state.Twist.Linear,
	}
	if c.Reverse {
		m.Gear = sample.GearReverse
	}
	m.Mode = sample.ModeAutomatic
	if on := &c.Switches; on.Given {
		switchOn(m, on)
	}
}

// switchOn reports what was switched on in the vehicle. Backwards it goes in the reverse gear,
// whatever was asked for.
func switchOn(m *sample.CanBus, on *scene.Switches) {
	hazard := on.Blinker == sample.BlinkerHazard
	m.LeftTurn, m.RightTurn, m.HazardLights = hazard || on.Blinker == sample.BlinkerLeft, hazard || on.Blinker == sample.BlinkerRight, hazard
	m.LowBeam, m.HighBeam = on.Headlights == sample.HeadlightsLow, on.Headlights == sample.HeadlightsHigh
	m.Wipers, m.ParkingBrake, m.Mode = on.Wipers > 0, on.HandBrake, on.Mode
	if !m.Reverse {
		m.Gear, m.Reverse = int8(on.Gear), on.Gear == sample.GearReverse
	}
}

// VehicleOdometry describes sensor.other.vehicle_odometry: a vehicle's speed and the
// angles of its wheels. SVL's goes at 1 to 100 Hz.
type VehicleOdometry struct{}

// VehicleOdometryDefinition describes sensor.other.vehicle_odometry.
var VehicleOdometryDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.vehicle_odometry",
	Number: 46,
	Doc:    "a vehicle's speed and the angles of its wheels",
	Tags:   []string{"vehicle", "odometry", "motion"},
	Outputs: sensors.OneOutput[sample.VehicleOdometry](sensors.OutputSpec{
		Name: "vehicle_odometry", Doc: "speed in m/s, angles in radians, positive to the left; the rear wheels don't steer",
	}),
	Rate: simtime.Hz(10),
}, newInstrument[VehicleOdometry](func(m *sample.VehicleOdometry, r *reading) {
	m.Header = r.header
	m.Velocity, m.FrontWheelAngle = r.controls.Speed, r.controls.Steering
}))

// Speedometer describes sensor.other.speedometer, after the pseudo sensor of CARLA's
// ROS bridge.
type Speedometer struct{}

// SpeedometerDefinition describes sensor.other.speedometer.
var SpeedometerDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.speedometer",
	Number: 48,
	Doc:    "a vehicle's speed along its own x axis, negative backwards",
	Tags:   []string{"vehicle", "motion"},
	Outputs: sensors.OneOutput[sample.Speed](sensors.OutputSpec{
		Name: "speed", Doc: "std_msgs/Float32, m/s",
	}),
	Rate: simtime.Hz(20),
}, newInstrument[Speedometer](func(m *sample.Speed, r *reading) {
	m.Header = r.header
	m.MetresPerSecond = r.controls.Speed
}))
