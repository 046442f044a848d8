package safedistance

import (
	"context"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// Definition describes sensor.other.safe_distance. Its attributes are the tutorial's.
var Definition = &sensors.Definition{
	ID:     "sensor.other.safe_distance",
	Number: 65,
	Doc:    "safe distance: which vehicles are inside a box around the one it is attached to",
	Tags:   []string{"other", "safe_distance"},
	Attributes: []sensors.Attribute{
		{Name: "safe_distance_front", Type: sensors.Float, Unit: "m", Min: 0, Max: 1000, Default: 1.0, Recommended: []string{"1.0"}, Doc: "distance to keep ahead of the vehicle's box"},
		{Name: "safe_distance_back", Type: sensors.Float, Unit: "m", Min: 0, Max: 1000, Default: 0.5, Recommended: []string{"0.5"}, Doc: "distance to keep behind it"},
		{Name: "safe_distance_lateral", Type: sensors.Float, Unit: "m", Min: 0, Max: 1000, Default: 0.5, Recommended: []string{"0.5"}, Doc: "distance to keep on either side"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[Event](sensors.OutputSpec{
			Name: "event", Suffix: "", Doc: "the vehicles that are too close; nothing is sent while there are none",
			QoS: flow.DefaultQoS,
		}),
	},
	DefaultRate: "20",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		front, back := spec.Settings.Float("safe_distance_front"), spec.Settings.Float("safe_distance_back")
		lateral := spec.Settings.Float("safe_distance_lateral")
		return &sensor{
			spec: spec,
			box: scene.Box{
				Center: mgl64.Vec3{(front - back) / 2, 0, 0},
				Half:   mgl64.Vec3{(front + back) / 2, lateral, 0},
			},
		}, nil
	},
}

type sensor struct {
	spec     sensors.Spec
	box      scene.Box // the trigger, in the sensor's frame
	env      *sensors.Env
	out      *sensors.Output[*Event]
	vehicles []*scene.Actor
	event    Event // reused: outputs copy what they keep
}

// SetOwner grows the trigger by the owner's box.
func (s *sensor) SetOwner(owner sensors.Owner) error {
	s.box.Center = s.box.Center.Add(owner.Box.Center)
	s.box.Half = s.box.Half.Add(owner.Box.Half)
	return nil
}

// Begin opens the output and lists the vehicles that could come close.
func (s *sensor) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	for _, a := range env.Scene.Actors {
		if a.ID != env.Owner && strings.HasPrefix(a.TypeID, "vehicle.") {
			s.vehicles = append(s.vehicles, a)
		}
	}
	slices.SortFunc(s.vehicles, func(a, b *scene.Actor) int { return int(a.ID) - int(b.ID) })
	s.out, err = sensors.OutputOf[*Event](env, "event")
	return err
}

// Tick publishes the vehicles that overlap the trigger at the due instant.
func (s *sensor) Tick(at sensors.Tick) error {
	pose := s.env.Pose(s.spec.Mount, at.TimeNs)
	trigger := s.box.At(pose)
	s.event.Actors = s.event.Actors[:0]
	if s.env.Owner != scene.EgoID && s.inside(trigger, scene.EgoID, at.TimeNs) {
		s.event.Actors = append(s.event.Actors, scene.EgoID)
	}
	for _, a := range s.vehicles {
		if s.inside(trigger, a.ID, at.TimeNs) {
			s.event.Actors = append(s.event.Actors, a.ID)
		}
	}
	if len(s.event.Actors) == 0 {
		return nil
	}
	s.event.Header = at.Header(s.spec.FrameID, pose)
	s.out.TryQueue(at, &s.event)
	return nil
}

// inside reports whether an actor is there and overlaps the trigger.
func (s *sensor) inside(trigger spatial.OrientedBox, id uint32, tNs int64) bool {
	pose, there := s.env.History.Pose(id, tNs)
	if !there {
		return false
	}
	box, _ := s.env.History.Box(id)
	return trigger.Overlaps(box.At(pose))
}

// End releases nothing: the sensor holds memory only.
func (s *sensor) End() error { return nil }
