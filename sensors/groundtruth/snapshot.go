package groundtruth

import (
	"context"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// SnapshotID is the type's id.
const SnapshotID = "sensor.other.snapshot"

// Snapshot describes sensor.other.snapshot, the state of the world at every frame: where
// each actor is, how it moves, what a traffic light shows. Sensors that need nothing
// else can be computed from it by anyone who receives it, as LaneWatch shows.
type Snapshot struct{}

// SnapshotDefinition describes sensor.other.snapshot.
var SnapshotDefinition = sensors.Define(sensors.Definition{
	ID:     SnapshotID,
	Number: 60,
	Doc:    "world snapshot: pose, velocity and state of every actor, ahead of each frame's sensor data",
	Tags:   []string{"world", "ground_truth"},
	Outputs: sensors.OneOutput[sample.Snapshot](sensors.OutputSpec{
		Name: "snapshot", Doc: "every vehicle, walker, traffic light, sign and other moving actor in the map frame",
	}),
	EachFrame: true,
}, func(spec sensors.Spec, _ Snapshot) (sensors.Sensor, error) {
	return &snapshot{Reading: sensors.Reading[sample.Snapshot]{Spec: spec}}, nil
})

// ActorKindOf returns the kind of an actor by its type id.
func ActorKindOf(typeID string) sample.ActorKind {
	switch {
	case strings.HasPrefix(typeID, "vehicle."):
		return sample.KindVehicle
	case strings.HasPrefix(typeID, "walker."):
		return sample.KindWalker
	case typeID == scene.TypeTrafficLight:
		return sample.KindTrafficLight
	case strings.HasPrefix(typeID, "traffic."):
		return sample.KindTrafficSign
	default:
		return sample.KindOther
	}
}

type snapshot struct {
	sensors.Reading[sample.Snapshot]
	actors []sample.ActorState // what doesn't change of each, by rising id
	lights map[uint32]int      // by the actor, their places among the scene's
	come   []*scene.Actor      // scratch
}

// Begin lists the actors: all that move, and of those that stand the vehicles,
// walkers, lights and signs.
func (s *snapshot) Begin(ctx context.Context, env *sensors.Env) error {
	if err := s.Reading.Begin(ctx, env); err != nil {
		return err
	}
	s.lights = map[uint32]int{}
	for i := range env.Scene.Signals { // they never change while the sensor lives
		s.lights[env.Scene.Signals[i].Actor] = i
	}
	s.actors = []sample.ActorState{s.lasting(scene.EgoID, scene.EgoTypeID)}
	for _, a := range env.Scene.Actors {
		if !a.Static() || ActorKindOf(a.TypeID) != sample.KindOther {
			s.actors = append(s.actors, s.lasting(a.ID, a.TypeID))
		}
	}
	slices.SortFunc(s.actors, func(a, b sample.ActorState) int { return int(a.ID) - int(b.ID) })
	return nil
}

// lasting returns what doesn't change of an actor.
func (s *snapshot) lasting(id uint32, typeID string) sample.ActorState {
	return sample.ActorState{ID: id, TypeID: typeID, Kind: ActorKindOf(typeID)}
}

// Tick publishes the state of all actors that are there.
func (s *snapshot) Tick(at sensors.Tick) error {
	m := &s.Message
	m.Header = at.Header(spatial.FrameMap, s.Env.Pose(s.Spec.Mount, at.Due))
	m.DeltaNs = at.PeriodNs // of the world's frames, heard or not, and across a jump of the clock
	m.Actors = m.Actors[:0]
	for i := range s.actors {
		s.append(s.actors[i], at.Due)
	}
	s.come = s.Env.History.Spawned(s.come[:0], at.Due)
	for _, a := range s.come {
		s.append(s.lasting(a.ID, a.TypeID), at.Due)
	}
	s.Publish(at)
	return nil
}

// append adds an actor to the message if it is there.
func (s *snapshot) append(a sample.ActorState, stamp simtime.Stamp) {
	if s.complete(&a, stamp) {
		s.Message.Actors = append(s.Message.Actors, a)
	}
}

// complete fills in what changes of an actor; it reports whether the actor is there.
func (s *snapshot) complete(a *sample.ActorState, stamp simtime.Stamp) (there bool) {
	state, there := s.Env.History.State(a.ID, stamp)
	if !there {
		return false
	}
	a.Pose, a.Twist, a.Acceleration = state.Pose, state.Twist, state.Acceleration
	box, _ := s.Env.History.BoxAt(a.ID, stamp)
	a.BoxCenter, a.BoxHalf = box.Center, box.Half
	switch a.Kind {
	case sample.KindVehicle:
		s.drive(a, stamp)
	case sample.KindTrafficLight:
		a.Signal = world.SignalUnknown
		if place, ok := s.lights[a.ID]; ok {
			light := &s.Env.Scene.Signals[place]
			shown, elapsed := s.Env.History.Signal(place, stamp)
			a.Signal, a.SignalElapsed = shown, seconds(elapsed)
			a.Red, a.Yellow, a.Green = seconds(light.Red), seconds(light.Yellow), seconds(light.Green)
		}
	}
	return true
}

// drive fills in what a vehicle does to move as it does.
func (s *snapshot) drive(a *sample.ActorState, stamp simtime.Stamp) {
	c, _ := s.Env.History.Controls(a.ID, scene.Vehicle{}, stamp)
	a.Throttle, a.Braking = float32(c.Throttle), float32(c.Brake)
	a.Steering = float32(-c.SteeringShare)
	a.Gear, a.Reverse = int32(c.Gear), c.Reverse
}

func seconds(ns int64) float32 { return float32(float64(ns) * 1e-9) }
