//go:build cgo

package groundtruth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// read is a report that notes how many tallies were read back.
type read struct {
	report
	tallies int
}

func (r *read) publish(f *finding, tallies []tally) {
	r.tallies = len(tallies)
	r.report.publish(f, tallies)
}

// TestTalliesOfPresentTargetsAreRead: of five cars the second and the fourth are there, and the
// others have left. So three tallies are read, and each box is its car's.
func TestTalliesOfPresentTargetsAreRead(t *testing.T) {
	b := scenetest.NewBuilder("town")
	car := b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5),
		scene.Placement{Tag: scene.TagCar, TypeID: "vehicle.sedan", Reserved: true})
	b.Scene.Reserve(car, 4)
	for _, of := range []*sensors.Definition{Boxes2DDefinition, Boxes3DDefinition} {
		t.Run(of.ID, func(t *testing.T) {
			d, spy := *of, &read{}
			d.New = func(spec sensors.Spec) (sensors.Sensor, error) {
				s, err := of.New(spec)
				if err == nil {
					spy.report = s.(*detector).report
					s.(*detector).report = spy
				}
				return s, err
			}
			h := sensortest.New(t, &d, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t)})
			var ids []uint32
			for i := range 5 {
				a, err := h.Env.History.Spawn("vehicle.*", scene.Standing(scenetest.At(8, float64(4*i-8), 0, 0).Pose))
				require.NoError(t, err)
				ids = append(ids, a.ID)
			}
			h.Fire(100_000_000)
			assert.Equal(t, 5, spy.tallies)
			for _, i := range []int{0, 2, 4} {
				require.NoError(t, h.Env.History.Remove(ids[i]))
			}
			h.Fire(200_000_000)
			assert.Equal(t, 3, spy.tallies)
			require.Len(t, h.Messages[OutputBoxes], 2)
			assert.Equal(t, ids, boxesOf(h.Messages[OutputBoxes][0]))
			assert.Equal(t, []uint32{ids[1], ids[3]}, boxesOf(h.Messages[OutputBoxes][1]))
		})
	}
}

// boxesOf returns whose boxes a message has.
func boxesOf(message any) (ids []uint32) {
	switch m := message.(type) {
	case *sample.Detections2D:
		for i := range m.Boxes {
			ids = append(ids, m.Boxes[i].ID)
		}
	case *sample.Detections3D:
		for i := range m.Boxes {
			ids = append(ids, m.Boxes[i].ID)
		}
	}
	return ids
}
