// Package laneinvasion tells when a vehicle crosses a lane mark.
//
// It is a derived sensor: a pure function of the world's snapshots. Watch computes it
// wherever snapshots arrive, in the program that receives them, for instance; the
// sensor of this package has one in the pipeline.
package laneinvasion

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// ErrOwner says that the sensor is attached to what is no vehicle.
var ErrOwner = errors.New("only vehicles cross lane marks")

// Definition describes sensor.other.lane_invasion.
var Definition = &sensors.Definition{
	ID:     "sensor.other.lane_invasion",
	Number: 64,
	Doc:    "lane invasion: which lane marks the vehicle it is attached to has crossed",
	Tags:   []string{"other", "lane_invasion"},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.LaneInvasion](sensors.OutputSpec{
			Name: "lane_invasion", Suffix: "", Doc: "the marks crossed since the frame before; nothing is sent while there are none",
			QoS: flow.ReliableQoS(100),
		}),
	},
	EachFrame: true,
	New:       func(spec sensors.Spec) (sensors.Sensor, error) { return &sensor{spec: spec}, nil },
}

type sensor struct {
	spec  sensors.Spec
	owner sensors.Owner
	env   *sensors.Env
	out   *sensors.Output[*sample.LaneInvasion]
	watch *Watch
	frame uint64              // of the last Tick
	world sample.Snapshot     // of the owner alone, reused
	event sample.LaneInvasion // reused: outputs copy what they keep
}

// SetOwner takes the vehicle; another actor is ErrOwner.
func (s *sensor) SetOwner(owner sensors.Owner) error {
	if !strings.HasPrefix(owner.TypeID, "vehicle.") {
		return fmt.Errorf("%w: %s is attached to a %s", ErrOwner, s.spec.Name, owner.TypeID)
	}
	s.owner = owner
	return nil
}

// Begin opens the output.
func (s *sensor) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.env = env
	s.watch = NewWatch(env.Owner, MarksOf(env.Scene))
	s.world.Actors = []sample.ActorState{{ID: env.Owner, BoxCenter: s.owner.Box.Center, BoxHalf: s.owner.Box.Half}}
	s.out, err = sensors.OutputOf[*sample.LaneInvasion](env, "lane_invasion")
	return err
}

// Tick publishes the marks that were crossed since the last, unless nobody listened
// to a frame between.
func (s *sensor) Tick(at sensors.Tick) error {
	if at.Frame != s.frame+1 {
		s.watch.Forget()
	}
	s.frame = at.Frame
	pose, there := s.env.History.Pose(s.env.Owner, at.TimeNs)
	if !there {
		s.watch.Forget()
		return nil
	}
	s.world.Header, s.world.DeltaNs = at.Header(spatial.FrameMap, pose), at.PeriodNs
	s.world.Actors[0].Pose = pose
	marks := s.watch.Next(&s.world)
	if len(marks) == 0 {
		return nil
	}
	s.event.Header = at.Header(s.spec.FrameID, pose.Compose(s.spec.Mount))
	s.event.Actor = s.env.Owner
	s.event.Marks = append(s.event.Marks[:0], marks...)
	s.out.TryQueue(at, &s.event)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *sensor) End() error { return nil }

// MarksOf returns a scene's lane marks as a Watch takes them.
func MarksOf(s *scene.Scene) []Mark {
	marks := make([]Mark, len(s.LaneMarks))
	for i, m := range s.LaneMarks {
		marks[i] = Mark{
			CrossedMark: sample.CrossedMark{ID: m.ID, Type: sample.LaneMarkType(m.Type), Color: sample.LaneMarkColor(m.Color)},
		}
		for _, p := range m.Points {
			marks[i].Line = append(marks[i].Line, [2]float64{p[0], p[1]})
		}
	}
	return marks
}
