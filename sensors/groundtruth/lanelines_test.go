package groundtruth_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// lanes is a scene of marks, each along x at a y of its own from 0 to 100 m.
func lanes(marks ...scene.LaneMark) *scene.Scene {
	s := scene.New("lanes")
	s.Ego = spatial.Identity()
	for i := range marks {
		marks[i].ID = uint32(i + 1)
	}
	s.LaneMarks = marks
	return s
}

// line is a mark whose points f gives for each metre of x.
func line(kind scene.LaneMarkType, from, to int, f func(x float64) float64) scene.LaneMark {
	m := scene.LaneMark{Type: kind, Color: scene.LaneMarkWhite}
	for x := from; x <= to; x++ {
		m.Points = append(m.Points, mgl64.Vec3{float64(x), f(float64(x)), 0})
	}
	return m
}

func at(y float64) func(float64) float64 { return func(float64) float64 { return y } }

func lookAt(t *testing.T, s *scene.Scene, attributes map[string]any) []sample.LaneLine {
	t.Helper()
	h := sensortest.New(t, groundtruth.LaneLinesDefinition, sensortest.Options{Scene: s, Attributes: attributes})
	h.Fire(100_000_000)
	return sensortest.Last[*sample.LaneLines](h, "lane_lines").Lines
}

// TestLaneLinesArePlacedFromTheVehicleOutwards: left ones first and negative, kerbs and what
// lies across left out.
func TestLaneLinesArePlacedFromTheVehicleOutwards(t *testing.T) {
	stop := scene.LaneMark{Type: scene.LaneMarkSolid, Points: []mgl64.Vec3{{20, -6, 0}, {20, 6, 0}}}
	yellow := line(scene.LaneMarkBroken, -20, 100, at(5.25))
	yellow.Color = scene.LaneMarkYellow
	got := lookAt(t, lanes(
		line(scene.LaneMarkSolid, -20, 100, at(-5.25)), yellow, line(scene.LaneMarkBroken, -20, 100, at(1.75)),
		line(scene.LaneMarkBroken, 100, 200, at(0)), line(scene.LaneMarkCurb, -20, 100, at(-7)), line(scene.LaneMarkSolid, -20, 100, at(-1.75)), stop,
	), nil)
	type seen struct {
		place int8
		kind  sample.LaneLineType
		y     float64
	}
	var list []seen
	for _, l := range got {
		list = append(list, seen{l.Place, l.Type, math.Round(l.C[0]*100) / 100})
		assert.InDelta(t, 50, l.MaxX, 0.51)
		assert.InDelta(t, math.Abs(l.C[0]), l.MinX, 0.51, "where it comes into the view of 90 degrees")
		assert.InDelta(t, 0, l.C[1], 1e-9)
	}
	assert.Equal(t, []seen{
		{-1, sample.LaneLineWhiteDashed, 1.75}, {-2, sample.LaneLineYellowDashed, 5.25},
		{1, sample.LaneLineWhiteSolid, -1.75}, {2, sample.LaneLineWhiteSolid, -5.25},
	}, list)
}

// TestLaneLinesAreCubics: a curve that is a cubic comes back with its own coefficients,
// whichever way it is drawn.
func TestLaneLinesAreCubics(t *testing.T) {
	want := [4]float64{1.5, 0.1, -0.004, 5e-5}
	curve := line(scene.LaneMarkSolid, 0, 60, func(x float64) float64 { return want[0] + x*(want[1]+x*(want[2]+x*want[3])) })
	for range 2 {
		got := lookAt(t, lanes(curve), map[string]any{"sample_delta": 1.0, "detection_range": 40.0})
		require.Len(t, got, 1)
		for i := range want {
			assert.InDelta(t, want[i], got[0].C[i], 1e-3*math.Abs(want[i])+1e-9, "coefficient %d", i)
		}
		for i, j := 0, len(curve.Points)-1; i < j; i, j = i+1, j-1 {
			curve.Points[i], curve.Points[j] = curve.Points[j], curve.Points[i]
		}
	}
}

// TestLaneLinesGoOn: a mark that continues another is one line with it, with the nearest one's
// type, also beyond a crossing.
func TestLaneLinesGoOn(t *testing.T) {
	got := lookAt(t, lanes(line(scene.LaneMarkBroken, 28, 60, at(2)), line(scene.LaneMarkSolid, -5, 16, at(2))), nil)
	require.Len(t, got, 1)
	assert.Equal(t, sample.LaneLineWhiteSolid, got[0].Type)
	assert.InDelta(t, 50, got[0].MaxX, 1e-9)
	assert.InDelta(t, 2, got[0].C[0], 1e-6)
}

// TestLaneLinesInTheCity: on its route the vehicle has a line to its left nearly everywhere.
func TestLaneLinesInTheCity(t *testing.T) {
	s, err := city.Generate(city.Options{Seed: 1, Triangles: 40_000})
	require.NoError(t, err)
	h := sensortest.New(t, groundtruth.LaneLinesDefinition, sensortest.Options{Scene: s, Ego: s.Route})
	seen := 0
	for k := int64(1); k <= 40; k++ {
		h.Fire(simtime.Stamp(k * 500_000_000))
		for _, l := range sensortest.Last[*sample.LaneLines](h, "lane_lines").Lines {
			require.Less(t, l.MinX, l.MaxX)
			if l.Place == sample.LaneLineEgoLeft {
				seen++
			}
		}
	}
	assert.Greater(t, seen, 15, "of 40 looks")
}
