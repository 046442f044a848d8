package ranging

import (
	"context"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// SafeDistance describes sensor.other.safe_distance, the sensor of CARLA's tutorial "How to add
// a new sensor". It tells which other vehicles are inside a box around the one it is attached
// to. Its attributes are the tutorial's.
type SafeDistance struct {
	Front   *float64 `attribute:"safe_distance_front" unit:"m" default:"1" max:"1000" recommended:"1.0" doc:"distance to keep ahead of the vehicle's box"`
	Back    *float64 `attribute:"safe_distance_back" unit:"m" default:"0.5" max:"1000" recommended:"0.5" doc:"distance to keep behind it"`
	Lateral *float64 `attribute:"safe_distance_lateral" unit:"m" default:"0.5" max:"1000" recommended:"0.5" doc:"distance to keep on either side"`
}

// SafeDistanceDefinition describes sensor.other.safe_distance.
var SafeDistanceDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.safe_distance",
	Number: 65,
	Doc:    "safe distance: which vehicles are inside a box around the one it is attached to",
	Tags:   []string{"other", "safe_distance"},
	Outputs: sensors.OneOutput[SafeDistanceEvent](sensors.OutputSpec{
		Name: "event", Doc: "the vehicles that are too close; nothing is sent while there are none",
	}),
	Rate: simtime.Hz(20),
}, func(spec sensors.Spec, o SafeDistance) (sensors.Sensor, error) {
	return &safeDistance{
		Reading: sensors.Reading[SafeDistanceEvent]{Spec: spec},
		box: scene.Box{
			Center: mgl64.Vec3{(*o.Front - *o.Back) / 2, 0, 0},
			Half:   mgl64.Vec3{(*o.Front + *o.Back) / 2, *o.Lateral, 0},
		},
	}, nil
})

type safeDistance struct {
	sensors.Reading[SafeDistanceEvent]
	box      scene.Box // the trigger, in the sensor's frame
	vehicles []*scene.Actor
	spawned  []*scene.Actor // scratch
}

// SetOwner grows the trigger by the owner's box.
func (s *safeDistance) SetOwner(owner sensors.Owner) error {
	s.box.Center = s.box.Center.Add(owner.Box.Center)
	s.box.Half = s.box.Half.Add(owner.Box.Half)
	return nil
}

// Begin lists the vehicles that could come close and opens the output.
func (s *safeDistance) Begin(ctx context.Context, env *sensors.Env) error {
	for _, a := range env.Scene.Actors {
		if isVehicle(a) {
			s.vehicles = append(s.vehicles, a)
		}
	}
	slices.SortFunc(s.vehicles, func(a, b *scene.Actor) int { return int(a.ID) - int(b.ID) })
	return s.Reading.Begin(ctx, env)
}

// Tick publishes the vehicles that overlap the trigger at the due instant.
func (s *safeDistance) Tick(at sensors.Tick) error {
	pose := s.Env.Pose(s.Spec.Mount, at.Due)
	trigger := s.box.At(pose)
	s.Message.Actors = s.Message.Actors[:0]
	if s.Env.Owner != scene.EgoID && s.inside(trigger, scene.EgoID, at.Due) {
		s.Message.Actors = append(s.Message.Actors, scene.EgoID)
	}
	s.spawned = slices.DeleteFunc(s.Env.History.Spawned(s.spawned[:0], at.Due), func(a *scene.Actor) bool { return !isVehicle(a) })
	for _, list := range [...][]*scene.Actor{s.vehicles, s.spawned} {
		for _, a := range list {
			if a.ID != s.Env.Owner && s.inside(trigger, a.ID, at.Due) {
				s.Message.Actors = append(s.Message.Actors, a.ID)
			}
		}
	}
	if len(s.Message.Actors) == 0 {
		return nil
	}
	s.Message.Header = at.Header(s.Spec.FrameID, pose)
	s.Publish(at)
	return nil
}

func isVehicle(a *scene.Actor) bool { return strings.HasPrefix(a.TypeID, "vehicle.") }

// inside reports whether an actor is there and overlaps the trigger.
func (s *safeDistance) inside(trigger spatial.OrientedBox, id uint32, stamp simtime.Stamp) bool {
	pose, there := s.Env.History.Pose(id, stamp)
	if !there {
		return false
	}
	box, _ := s.Env.History.BoxAt(id, stamp)
	return trigger.Overlaps(box.At(pose))
}

// SafeDistanceEvent lists the vehicles that are too close.
type SafeDistanceEvent struct {
	sample.Header
	Actors []uint32 // ids, rising; never empty
}
