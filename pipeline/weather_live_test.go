//go:build cgo

package pipeline_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/weather"
)

// TestLidarsAtOnePlaceSeeFlakesOfTheirOwn: two lidars that differ in nothing but their names are as independent as chance has it, in
// which firings see a flake and in how far away it is, and so is a lidar's next scan. The same run again gives the same points.
func TestLidarsAtOnePlaceSeeFlakesOfTheirOwn(t *testing.T) {
	const channels, columns = 16, 300
	scans := func() map[string][][]sample.Point {
		b := scenetest.NewBuilder("open")
		b.Put("far", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(900, 0, 0, scene.TagStatic))
		p := newPipelineIn(t, b.Scene, pipeline.Config{Seed: 4})
		require.NoError(t, p.History().Weather().Set(weather.State{Snow: 2}))
		all := map[string][][]sample.Point{}
		for _, name := range []string{"left", "right"} {
			s := add(t, p, sensors.Config{ID: lidar.ID, Name: name, Pose: sensors.Pose{Z: 2}, Attributes: map[string]any{
				"channels": channels, "columns": columns, "rotation_frequency": 10, "range": 120, "intensity": "range_corrected", "r10": 25,
			}})
			listen(t, s, "points", func(_ sensors.Tick, m *sample.PointCloud) { all[name] = append(all[name], slices.Clone(m.Points)) })
		}
		require.NoError(t, p.Step(t.Context(), 20))
		return all
	}
	once := scans()
	assert.True(t, assert.ObjectsAreEqual(once, scans()), "the same run again") // whose differences take minutes to print
	require.Len(t, once["left"], 2)
	for name, other := range map[string][]sample.Point{"another lidar": once["right"][0], "the next scan": once["left"][1]} {
		seen := map[uint32]float64{}
		for _, p := range once["left"][0] {
			seen[p.Ray] = float64(p.Distance)
		}
		var x, y []float64 // how far away the flakes are of which both see one in the same firing
		for _, p := range other {
			if d, both := seen[p.Ray]; both {
				x, y = append(x, d), append(y, float64(p.Distance))
			}
		}
		const firings = channels * columns
		a, b := float64(len(seen)), float64(len(other))
		chance := a * b / firings
		require.Greater(t, chance, 700., name)
		assert.InDelta(t, chance, len(x), 4*math.Sqrt(chance*(1-a/firings)*(1-b/firings)), "%s: %v and %v flakes in %d firings", name, a, b, firings)
		assert.Less(t, math.Abs(correlation(x, y)), 4/math.Sqrt(float64(len(x))), name)
	}
}

// correlation is Pearson's coefficient.
func correlation(x, y []float64) float64 {
	mean := func(f func(i int) float64) (m float64) {
		for i := range x {
			m += f(i) / float64(len(x))
		}
		return m
	}
	ofX, ofY := mean(func(i int) float64 { return x[i] }), mean(func(i int) float64 { return y[i] })
	with := func(of, and []float64, m, n float64) float64 {
		return mean(func(i int) float64 { return (of[i] - m) * (and[i] - n) })
	}
	return with(x, y, ofX, ofY) / math.Sqrt(with(x, x, ofX, ofX)*with(y, y, ofY, ofY))
}
