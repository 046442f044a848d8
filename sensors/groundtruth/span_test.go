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

// TestTalliesOfPresentTargetsAreRead: of five cars the second and the fourth are there,
// so that three tallies are read, and each box is its car's.
func TestTalliesOfPresentTargetsAreRead(t *testing.T) {
	b := scenetest.NewBuilder("town")
	var ids []uint32
	for i := range 5 {
		p := scenetest.At(8, float64(4*i-8), 0, scene.TagCar)
		p.TypeID, p.Reserved = "vehicle.sedan", i != 1 && i != 3
		ids = append(ids, b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5), p).ID)
	}
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
			h.Fire(100_000_000)
			assert.Equal(t, 3, spy.tallies)
			require.Len(t, h.Messages[OutputBoxes], 1)
			assert.Equal(t, []uint32{ids[1], ids[3]}, boxesOf(h.Messages[OutputBoxes][0]))
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
