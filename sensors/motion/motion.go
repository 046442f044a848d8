// Package motion has the sensors that measure the pose and motion of their owner: the inertial
// measurement unit, the satellite receivers, odometry, coordinate frames, and what a vehicle
// reports of itself. Clock, the simulation time on its own topic, is here too. None of them
// needs a GPU; all read the history of the scene.
//
// # Controls
//
// CANBus, VehicleOdometry and Speedometer come from the motion of the actor that the sensor
// rides on. The sensor's mount changes only the header's pose.
//
// Steering, throttle and brake are those that drive the vehicle where it is driven. Else they
// are derived from how it moves (scene.Vehicle.ControlsOf): one that follows a path at constant
// speed uses neither pedal. The gear is reverse where it rolls or sets off backwards, else
// drive, as SVL has it. The engine is on. Lights, wipers, hand brake, gear and mode are what
// VehicleState was told last; until then lights and wipers are off, and the mode is automatic.
//
// # Engine
//
// EngineRPM is that of an engine with one overall ratio of 4 to wheels of 0.33 m radius, which
// idles at 800 turns a minute. The figure rises with the speed; it isn't a model of a gearbox.
package motion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// instrument is a sensor that fills its message from the state of its owner.
type instrument[E any] struct {
	sensors.Reading[E]
	fill func(*E, *reading)
	now  reading
}

// reading is what an instrument knows of its owner at one instant.
type reading struct {
	header   sample.Header
	state    scene.State
	controls scene.Controls
	place    receiver // the map on the earth
}

// receiver is the map as a satellite receiver knows it.
type receiver struct {
	spatial.MapFrame
	log           *slog.Logger
	nowhere, lost bool // the log was told that the map lies nowhere, and that there is no fix
}

// locate returns where a point of the map is on the earth. Beyond the map's reach it isn't known,
// and the place NaN. The log is told once of that, and of a map that lies nowhere.
func (r *receiver) locate(p mgl64.Vec3) (place spatial.Geodetic, known bool) {
	if err := r.Covers(p); err != nil {
		r.warn(&r.lost, "there is no fix", err)
		return spatial.Geodetic{Latitude: math.NaN(), Longitude: math.NaN(), Altitude: math.NaN()}, false
	}
	if !r.Known() {
		r.warn(&r.nowhere, "fixes count from 0° N 0° E", errNowhere)
	}
	return r.Geodetic(p), true
}

var errNowhere = errors.New("the scene has no place on the earth: give scene.origin or scene.projection")

// warn tells the log, the first time.
func (r *receiver) warn(told *bool, text string, cause error) {
	if !*told {
		*told = true
		r.log.Warn(fmt.Sprintf("%s: %v", text, cause))
	}
}

// newInstrument makes the constructor of a Definition whose options are an O.
func newInstrument[O, E any](fill func(*E, *reading)) func(sensors.Spec, O) (sensors.Sensor, error) {
	return func(spec sensors.Spec, _ O) (sensors.Sensor, error) {
		return &instrument[E]{Reading: sensors.Reading[E]{Spec: spec}, fill: fill}, nil
	}
}

// Begin lays the map on the earth and opens the output.
func (s *instrument[E]) Begin(ctx context.Context, env *sensors.Env) error {
	s.now.place = receiver{MapFrame: env.Map, log: env.Log}
	return s.Reading.Begin(ctx, env)
}

// Tick publishes the state at the due instant, if the owner is there then.
func (s *instrument[E]) Tick(at sensors.Tick) error {
	state, ok := s.Env.History.State(s.Env.Owner, at.Due)
	if !ok {
		return nil
	}
	s.now.header, s.now.state = at.Header(s.Spec.FrameID, state.Pose.Compose(s.Spec.Mount)), state
	s.now.controls, _ = s.Env.History.Controls(s.Env.Owner, scene.Vehicle{}, at.Due)
	s.fill(&s.Message, &s.now)
	s.Publish(at)
	return nil
}
