package motion

import (
	"fmt"
	"math"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// ControlCalibration describes sensor.other.control_calibration, which drives the vehicle
// through a list of states, as SVL's Control Calibration does. So somebody can learn what its
// pedals do. It drives while no command from outside holds. The lists have one number a
// state.
//
// A state holds its pedals and its steering for its duration while the speed is between its
// bounds. Outside of them full throttle or full brake first brings it back, which doesn't count
// for the duration. After a state the vehicle brakes to a standstill, and the next one begins.
// After the last one it stands.
type ControlCalibration struct {
	MinSpeed []float64 `attribute:"min_speed" unit:"m/s" max:"100" doc:"least speed of each state"`
	MaxSpeed []float64 `attribute:"max_speed" unit:"m/s" max:"100" doc:"greatest speed of each state"`
	Throttle []float64 `attribute:"throttle" unit:"%" max:"100" doc:"throttle of each state"`
	Brake    []float64 `attribute:"brake" unit:"%" max:"100" doc:"brake of each state"`
	Steering []float64 `attribute:"steering" unit:"%" min:"-100" max:"100" doc:"steering of each state, of the greatest angle, positive to the right"`
	Reverse  []float64 `attribute:"reverse" max:"1" doc:"1 for a state that drives backwards"`
	Duration []float64 `attribute:"duration" unit:"s" max:"3600" doc:"how long each state holds"`
}

// ControlCalibrationDefinition describes sensor.other.control_calibration.
var ControlCalibrationDefinition = sensors.Define(sensors.Definition{
	ID:        "sensor.other.control_calibration",
	Number:    56,
	Doc:       "drives through a list of pedals and steering angles, while no command from outside holds",
	Tags:      []string{"vehicle", "driver"},
	EachFrame: true, Acts: true,
}, newControlCalibration)

func newControlCalibration(_ sensors.Spec, o ControlCalibration) (sensors.Sensor, error) {
	for _, list := range [][]float64{o.MinSpeed, o.MaxSpeed, o.Throttle, o.Brake, o.Steering, o.Reverse} {
		if len(list) != len(o.Duration) {
			return nil, fmt.Errorf("%w: a list of the states has %d numbers and duration has %d: need one a state in each", sensors.ErrValue, len(list), len(o.Duration))
		}
	}
	for i := range o.Duration {
		if o.MinSpeed[i] >= o.MaxSpeed[i] {
			return nil, fmt.Errorf("%w: state %d has speeds from %v to %v m/s, need a range", sensors.ErrValue, i+1, o.MinSpeed[i], o.MaxSpeed[i])
		}
	}
	return &controlCalibration{states: o}, nil
}

type controlCalibration struct {
	driver
	states   ControlCalibration
	index    int           // of the state
	applied  int64         // nanoseconds for which it has held
	stopping bool          // it is over, and the vehicle brakes
	holding  bool          // the pedals were the state's at the instant before
	before   simtime.Stamp // the instant before
}

// PreTick orders what the state asks for.
func (s *controlCalibration) PreTick(at sensors.Tick) error {
	elapsed := int64(at.Due - s.before)
	s.before = at.Due
	if s.index >= len(s.states.Duration) {
		s.halt()
		return nil
	}
	if s.holding && elapsed > 0 {
		s.applied += elapsed
	}
	command := s.command(math.Abs(s.vehicle.Controls(at.Due).Speed))
	s.order(func(c *scene.Command) { *c = command })
	return nil
}

// The shares of SVL's: how far inside of its bounds a state begins, and the speed, m/s, that
// is a standstill between two.
const (
	lowerShare = 1.1
	upperShare = 0.9
	stopped    = 0.5
)

// command returns what to do at a speed, and begins the next state where one is over.
func (s *controlCalibration) command(speed float64) scene.Command {
	i, limits := s.index, s.vehicle.Vehicle()
	low, high := s.states.MinSpeed[i], s.states.MaxSpeed[i]
	pedals := func(throttle, brake, steering float64) scene.Command {
		return scene.Command{
			Acceleration: throttle*limits.MaxAcceleration - brake*limits.MaxDeceleration,
			Steering:     -steering * limits.MaxSteering, Reverse: s.states.Reverse[i] >= 0.5,
		}
	}
	if float64(s.applied) >= s.states.Duration[i]*1e9 {
		s.stopping, s.holding = true, false
	}
	switch {
	case s.stopping && speed >= stopped:
		return pedals(0, 1, 0)
	case s.stopping:
		s.index, s.applied, s.stopping = i+1, 0, false
		return scene.Command{BySpeed: true}
	case s.holding:
		s.holding = speed >= low && speed <= high
	default:
		s.holding = s.begins(speed)
	}
	switch {
	case s.holding:
		return pedals(s.states.Throttle[i]/100, s.states.Brake[i]/100, s.states.Steering[i]/100)
	case speed > high || s.states.Brake[i] <= s.states.Throttle[i] && speed > high*upperShare:
		return pedals(0, 1, 0)
	default:
		return pedals(1, 0, 0)
	}
}

// begins reports whether a speed is one at which the state's pedals may be applied. Of a state
// that brakes it is near its upper bound, of another well inside of both.
func (s *controlCalibration) begins(speed float64) bool {
	low, high := s.states.MinSpeed[s.index], s.states.MaxSpeed[s.index]
	switch {
	case s.states.Brake[s.index] > s.states.Throttle[s.index]:
		low = high * upperShare
	case low*lowerShare < high*upperShare:
		low, high = low*lowerShare, high*upperShare
	}
	return speed >= low && speed <= high
}
