//go:build cgo

package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
)

// besideSoup measures 600 triangles, of which 200 move, as shortly as can be.
func besideSoup(t *testing.T, program, name string) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	source := Source{Name: "soup", Sized: true, Load: func(context.Context, int) (*scene.Scene, error) { return scenetest.Soup(3, 600, true), nil }}
	return Config{Source: source, GL: gputest.Thread(t), Runs: 1, RunTime: 1, Cases: []string{name}, Beside: program}
}

// TestEmbree: a script that finds a dump and prints figures stands for the program of Embree.
func TestEmbree(t *testing.T) {
	c := besideSoup(t, script(t, `
[ -s "$1/rays$2.f32" ] && [ -s "$1/triangles.f32" ] || { echo "no dump" >&2; exit 1; }
[ ! -e "$1/triangle_cutouts.u8" ] || { echo "called with $*" >&2; exit 1; }
echo 600 triangles
echo figure embree.agree_percent 99.5
echo figure embree.difference_um 1.5
echo figure rtcIntersect1.rays_per_cpu_s 2000
`), "Lidar64_rolling_100000")
	var r Report
	require.NoError(t, Embree(t.Context(), c, &r))
	require.Len(t, r.Results, 5)
	ours := r.Results[0]
	assert.Equal(t, "lidar.rays_per_cpu_s", ours.Name)
	assert.Positive(t, ours.Median())
	assert.Equal(t, Result{Name: "embree.agree_percent", Case: c.Cases[0], Unit: "%", Runs: []float64{99.5}}, r.Results[1])
	assert.Equal(t, Result{Name: "embree.difference_um", Case: c.Cases[0], Unit: "µm", Runs: []float64{1.5}}, r.Results[2])
	assert.Equal(t, "lidar.ratio_to_rtcIntersect1", r.Results[4].Name)
	assert.InEpsilon(t, ours.Median()/2000, r.Results[4].Median(), 1e-9)

	c.Beside = "no/such/program"
	assert.ErrorIs(t, Embree(t.Context(), c, &r), ErrConfig)
	assert.ErrorContains(t, Embree(t.Context(), c, &r), "make bench WHAT=embree")
}

// TestEmbreeCutouts: the soup's plants, a hundred triangles, may have holes.
func TestEmbreeCutouts(t *testing.T) {
	c := besideSoup(t, script(t, `
[ $(tr -d '\000' < "$1/triangle_cutouts.u8" | wc -c) = 100 ] || { echo "called with $*" >&2; exit 1; }
echo figure rtcIntersect1.rays_per_cpu_s 2000
`), "Lidar64_still_100000_cutouts")
	var r Report
	require.NoError(t, Embree(t.Context(), c, &r))
	require.Len(t, r.Results, 3)
	assert.Equal(t, c.Cases[0], r.Results[0].Case)
}

// TestCutOut: a tenth of the city's triangles is cut, and half of what they cover is a hole.
func TestCutOut(t *testing.T) {
	s, err := city.Generate(city.Options{Seed: 1, Triangles: sensorTriangles})
	require.NoError(t, err)
	cutOut(s)
	cut, all := 0, 0
	for i := range s.Actors {
		for _, p := range s.Actors[i].Parts {
			for _, g := range s.Meshes[p.Mesh].Groups {
				all += g.Count
				if g.Material == len(s.Materials)-1 {
					cut += g.Count
				}
			}
		}
	}
	assert.InDelta(t, 0.1, float64(cut)/float64(all), 0.02)
	m := s.Materials[len(s.Materials)-1]
	assert.Equal(t, scene.AlphaMask, m.AlphaMode)
	absent := 0
	for i, v := range s.Textures[m.BaseColorTexture].Image.Pix {
		if i%4 == 3 && float32(v)/255 < m.AlphaCutoff {
			absent++
		}
	}
	assert.Equal(t, 64*64/2, absent)
}

// TestEmbreeOfAVLP16: the small lidar is measured, too, and leaves the means as they are.
func TestEmbreeOfAVLP16(t *testing.T) {
	for _, title := range []string{"VelodyneVLP16_still_100000", "VelodyneVLP16_rolling_100000"} {
		c := besideSoup(t, script(t, `echo figure rtcIntersect1.rays_per_cpu_s 2000`), title)
		var r Report
		require.NoError(t, Embree(t.Context(), c, &r))
		require.Len(t, r.Results, 3)
		assert.Equal(t, title, r.Results[2].Case)
		assert.Equal(t, "lidar.ratio_to_rtcIntersect1", r.Results[2].Name)
		assert.Positive(t, r.Results[2].Median())
	}
}

func TestMeans(t *testing.T) {
	assert.Len(t, embreeCases(false), 8)
	for _, cutouts := range []bool{false, true} {
		var list []Result
		for i, b := range embreeCases(cutouts) {
			list = append(list, Result{Name: "lidar.ratio_to_rtcIntersect1", Case: b.title(), Runs: []float64{[]float64{2, 8}[i%2], 3}})
		}
		assert.Empty(t, means(list, !cutouts))
		assert.Empty(t, means(list[1:], cutouts), "a case is missing")
		for _, b := range embreeExtras() {
			list = append(list, Result{Name: "lidar.ratio_to_rtcIntersect1", Case: b.title(), Runs: []float64{1e6, 1e6}})
		}
		rows := means(list, cutouts)
		require.Len(t, rows, 1)
		assert.Equal(t, "geometric_mean"+setSuffix(cutouts), rows[0].Case)
		assert.InDeltaSlice(t, []float64{4, 3}, rows[0].Runs, 1e-9)
	}
}
