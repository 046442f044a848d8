package groundtruth

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

const (
	// cosAgainst is the cosine of how far a light may look past the owner's direction.
	cosAgainst = 0.5
	// roadside is how far to the side a light may be where it is close, metres.
	roadside = 10
)

// Signals describes sensor.other.signals, the traffic lights for a vehicle and what they show.
// It is ground truth, as SVL's Signal sensor gives it (1 to 100 Hz, by default 1).
//
// A light is for the vehicle if
//
//   - its lamps are within the distance of the owner's origin and ahead of it, not
//     further to the side than ahead, or than 10 m,
//   - they are turned towards it: the owner's origin lies before them, and
//   - they are for its direction: they look against it within 60°, so that those of the
//     roads that cross are left out.
//
// SVL keeps to the lights of the lane that the vehicle is on. Here those of the lanes beside it
// in the same direction count too, and lanes are not asked. Walls hide nothing.
type Signals struct {
	MaxDistance float64 `attribute:"max_distance" live:"true" unit:"m" default:"100" min:"1" max:"1000" usual:"10 500" doc:"how far away from the vehicle's origin the lamps may be"`
}

// SignalsDefinition describes sensor.other.signals.
var SignalsDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.signals",
	Number: 66,
	Doc:    "traffic lights ahead that are for the vehicle, and their states",
	Tags:   []string{"ground_truth"},
	Outputs: sensors.OneOutput[sample.Signals](sensors.OutputSpec{
		Name: "signals", Doc: "traffic lights in the sensor's frame, the nearest to the vehicle first; also if there are none",
	}),
	Rate: simtime.Hz(1),
}, func(spec sensors.Spec, o Signals) (sensors.Sensor, error) {
	return &signals{Reading: sensors.Reading[sample.Signals]{Spec: spec}, distance: o.MaxDistance}, nil
})

type signals struct {
	sensors.Reading[sample.Signals]
	distance float64      // metres
	found    []foundLight // reused
}

// foundLight is a light that is for the owner.
type foundLight struct {
	place    int // among the scene's
	light    *scene.TrafficLight
	distance float64
}

// Tune takes over the distance.
func (s *signals) Tune(fresh sensors.Sensor) error {
	s.distance = fresh.(*signals).distance
	return nil
}

// Tick publishes what the lights show at the due instant, if the owner is there then.
func (s *signals) Tick(at sensors.Tick) error {
	owner, ok := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !ok {
		return nil
	}
	pose := owner.Compose(s.Spec.Mount)
	s.find(owner, at.Due)
	m := &s.Message
	m.Header = at.Header(s.Spec.FrameID, pose)
	m.Signals = m.Signals[:0]
	toSensor := pose.Inverse()
	for _, f := range s.found {
		state, _ := s.Env.History.Signal(f.place, at.Due)
		m.Signals = append(m.Signals, sample.Signal{
			ID: f.light.ID, Label: state.String(), State: state, Score: 1,
			Pose: toSensor.Compose(f.light.Pose), Size: f.light.Size,
		})
	}
	s.Publish(at)
	return nil
}

// find lists the lights for the owner, the nearest first and of two equally far the
// one with the lower id.
func (s *signals) find(owner spatial.Pose, stamp simtime.Stamp) {
	s.found = s.found[:0]
	ahead, toOwner := owner.Rotate(mgl64.Vec3{1, 0, 0}), owner.Inverse()
	for i := range s.Env.Scene.Signals {
		light := &s.Env.Scene.Signals[i]
		if light.Actor != 0 && !s.Env.History.Present(light.Actor, stamp) {
			continue
		}
		way, looks := light.Pose.Position.Sub(owner.Position), light.Pose.Rotate(mgl64.Vec3{1, 0, 0})
		at := toOwner.Apply(light.Pose.Position)
		if way.Len() > s.distance || at[0] <= 0 || math.Abs(at[1]) > max(at[0], roadside) {
			continue
		}
		if way.Dot(looks) >= 0 || looks.Dot(ahead) > -cosAgainst {
			continue
		}
		s.found = append(s.found, foundLight{i, light, way.Len()})
	}
	slices.SortFunc(s.found, func(a, b foundLight) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.light.ID, b.light.ID))
	})
}
