package motion

import (
	"context"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// VehicleState describes sensor.other.vehicle_state: it switches the vehicle's lamps, wipers,
// gear, hand brake and mode, as SVL's Vehicle State does. The CAN bus reports them. A vehicle
// that obeys commands stands while its hand brake is on, its gear is parking or its mode is
// emergency. In the reverse gear throttles and speeds drive backwards.
type VehicleState struct{}

// VehicleStateDefinition describes sensor.other.vehicle_state.
var VehicleStateDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.vehicle_state",
	Number: 52,
	Doc:    "switches the vehicle's lamps, wipers, gear, hand brake and mode",
	Tags:   []string{"vehicle"},
	Inputs: []sensors.InputSpec{
		sensors.DeclareInput[*sample.VehicleState](sensors.InputSpec{
			Name: "state", Suffix: "//vehicle_state", Doc: "the whole state that the vehicle is to have", QoS: commandQoS,
		}),
	},
	EachFrame: true,
}, func(sensors.Spec, VehicleState) (sensors.Sensor, error) { return &vehicleState{}, nil })

type vehicleState struct{}

// Begin lets messages come in.
func (s *vehicleState) Begin(_ context.Context, env *sensors.Env) error {
	return sensors.Handle(env, "state", func(m *sample.VehicleState) {
		env.History.Switch(env.Owner, scene.Switches{
			Blinker: m.Blinker, Headlights: m.Headlights, Wipers: m.Wipers, Gear: m.Gear, Mode: m.Mode,
			HandBrake: m.HandBrake, Horn: m.Horn, Autonomous: m.Autonomous,
		})
	})
}

// Tick does nothing: messages count when they come.
func (s *vehicleState) Tick(sensors.Tick) error { return nil }

// End does nothing: the pipeline closes the input, and what is on stays on.
func (s *vehicleState) End() error { return nil }
