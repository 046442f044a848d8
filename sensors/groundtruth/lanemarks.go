package groundtruth

import (
	"context"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// LaneMarks describes sensor.other.lane_marks, the lines between the scene's lanes. With the
// snapshots it is all that lane invasion needs, as CARLA's clients have it of their map.
type LaneMarks struct{}

// LaneMarksDefinition describes sensor.other.lane_marks.
var LaneMarksDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.lane_marks",
	Number: 61,
	Doc:    "lane marks: the lines between the lanes of the scene, once for each receiver",
	Tags:   []string{"world", "ground_truth"},
	Outputs: sensors.OneOutput[sample.LaneMarks](sensors.OutputSpec{
		Name: "lane_marks", Doc: "every painted line and kerb in the map frame",
		QoS: flow.StaticQoS,
	}),
	EachFrame: true,
}, func(sensors.Spec, LaneMarks) (sensors.Sensor, error) { return &laneMarks{}, nil })

type laneMarks struct {
	message sample.LaneMarks
	out     *sensors.Output[*sample.LaneMarks]
}

// Begin takes the marks, which never change while the sensor lives, and opens the output.
func (s *laneMarks) Begin(_ context.Context, env *sensors.Env) (err error) {
	s.message.Marks = laneMarksOf(env.Scene)
	s.out, err = sensors.OutputOf[*sample.LaneMarks](env, "lane_marks")
	return err
}

// Tick hands the marks to those who don't have them yet.
func (s *laneMarks) Tick(at sensors.Tick) error {
	s.message.Header = at.Header(spatial.FrameMap, spatial.Identity())
	s.out.Latch(at, &s.message)
	return nil
}

// End releases nothing: the sensor holds memory only.
func (s *laneMarks) End() error { return nil }

// laneMarksOf returns a scene's lane marks. The points are the scene's.
func laneMarksOf(s *scene.Scene) []sample.LaneMark {
	marks := make([]sample.LaneMark, len(s.LaneMarks))
	for i, m := range s.LaneMarks {
		marks[i] = sample.LaneMark{ID: m.ID, Type: sample.LaneMarkType(m.Type), Color: sample.LaneMarkColor(m.Color), Points: m.Points}
	}
	return marks
}
