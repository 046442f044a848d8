// Package vehicle is what a vehicle reports of itself: its CAN bus, its odometry and
// its speedometer. All of it comes from the motion of the actor that the sensor rides
// on; where the sensor is mounted changes nothing but the header's pose.
//
// # Controls
//
// Steering, throttle and brake are those that drive the vehicle where it is driven, and
// else derived from how it moves (scene.Vehicle.ControlsOf): one that follows a path at
// constant speed uses neither pedal. The gear is reverse where it rolls or sets off
// backwards, else drive, as SVL has it. The engine is on, lights and wipers are off.
//
// # Engine
//
// EngineRPM is that of an engine with one overall ratio of 4 to wheels of 0.33 m
// radius, which idles at 800 turns a minute: a figure that rises with the speed, not a
// model of a gearbox.
package vehicle

import (
	"context"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// instrument is a sensor that fills one message from the state of the vehicle.
type instrument[E any, M sensors.Message[E]] struct {
	spec    sensors.Spec
	output  string
	fill    func(M, *reading)
	env     *sensors.Env
	plane   spatial.TangentPlane
	out     *sensors.Output[M]
	message E // reused: outputs copy what they keep
}

// reading is what an instrument knows of the vehicle at one instant.
type reading struct {
	header   sample.Header
	state    scene.State
	controls scene.Controls
	plane    *spatial.TangentPlane // the map on the earth
}

// newInstrument makes the constructor of a Definition.
func newInstrument[E any, M sensors.Message[E]](output string, fill func(M, *reading)) func(sensors.Spec) (sensors.Sensor, error) {
	return func(spec sensors.Spec) (sensors.Sensor, error) {
		return &instrument[E, M]{spec: spec, output: output, fill: fill}, nil
	}
}

// Begin opens the output.
func (s *instrument[E, M]) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.plane = spatial.NewTangentPlane(spatial.Geodetic(env.Origin))
	s.out, err = sensors.OutputOf[M](env, s.output)
	return err
}

// Tick publishes the state at the due instant, if the vehicle is there then.
func (s *instrument[E, M]) Tick(at sensors.Tick) error {
	state, ok := s.env.History.State(s.env.Owner, at.TimeNs)
	if !ok {
		return nil
	}
	controls, _ := s.env.History.Controls(s.env.Owner, scene.Vehicle{}, at.TimeNs)
	s.fill(&s.message, &reading{
		header: at.Header(s.spec.FrameID, state.Pose.Compose(s.spec.Mount)),
		state:  state, controls: controls, plane: &s.plane,
	})
	s.out.TryQueue(at, &s.message)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *instrument[E, M]) End() error { return nil }
