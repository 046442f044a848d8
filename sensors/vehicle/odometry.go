package vehicle

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Odometry describes sensor.other.vehicle_odometry. SVL's goes at 1 to 100 Hz.
var Odometry = &sensors.Definition{
	ID:     "sensor.other.vehicle_odometry",
	Number: 46,
	Doc:    "a vehicle's speed and the angles of its wheels",
	Tags:   []string{"vehicle", "odometry", "motion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.VehicleOdometry](sensors.OutputSpec{
			Name: "vehicle_odometry", Suffix: "", Doc: "speed in m/s, angles in radians, positive to the left; the rear wheels don't steer",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "10",
	New: newInstrument("vehicle_odometry", func(m *sample.VehicleOdometry, r *reading) {
		m.Header = r.header
		m.Velocity, m.FrontWheelAngle = r.controls.Speed, r.controls.Steering
	}),
}

// Speedometer describes sensor.other.speedometer, after the pseudo sensor of CARLA's
// ROS bridge.
var Speedometer = &sensors.Definition{
	ID:     "sensor.other.speedometer",
	Number: 48,
	Doc:    "a vehicle's speed along its own x axis, negative backwards",
	Tags:   []string{"vehicle", "motion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Speed](sensors.OutputSpec{
			Name: "speed", Suffix: "", Doc: "std_msgs/Float32, m/s",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "20",
	New: newInstrument("speed", func(m *sample.Speed, r *reading) {
		m.Header = r.header
		m.MetresPerSecond = r.controls.Speed
	}),
}
