package vehicle

import (
	"math"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// CanBus describes sensor.other.can_bus. SVL's goes at 1 to 100 Hz.
var CanBus = &sensors.Definition{
	ID:     "sensor.other.can_bus",
	Number: 47,
	Doc:    "what a vehicle reports of itself: speed, pedals, steering, gear, position",
	Tags:   []string{"vehicle", "motion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.CanBus](sensors.OutputSpec{
			Name: "can_bus", Suffix: "", Doc: "state of the vehicle; its position is that of the vehicle's origin",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "10",
	New:         newInstrument("can_bus", fillCanBus),
}

// The engine: see the package's documentation.
const (
	idleRPM     = 800
	engineRatio = 4
	wheelRadius = 0.33 // metres
)

func fillCanBus(m *sample.CanBus, r *reading) {
	c := &r.controls
	place := r.plane.Geodetic(r.state.Pose.Position)
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
}
