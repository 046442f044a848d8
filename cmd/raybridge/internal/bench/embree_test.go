//go:build cgo

package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
)

// TestEmbree: a script that finds a dump and prints figures stands for the program of Embree.
func TestEmbree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	source := Source{Name: "soup", Sized: true, Load: func(context.Context, int) (*scene.Scene, error) { return scenetest.Soup(3, 600, true), nil }}
	c := Config{Source: source, GL: gputest.Thread(t), Runs: 1, RunTime: 1, Cases: []string{"uniform_1800x64_rolling_100000"}, Beside: script(t, `
[ -s "$1/rays$2.f32" ] && [ -s "$1/triangles.f32" ] || { echo "no dump" >&2; exit 1; }
echo 600 triangles
echo figure embree.agree_percent 99.5
echo figure rtcIntersect1.rays_per_cpu_s 2000
`)}
	var r Report
	require.NoError(t, Embree(t.Context(), c, &r))
	require.Len(t, r.Results, 4)
	ours := r.Results[0]
	assert.Equal(t, "lidar.rays_per_cpu_s", ours.Name)
	assert.Positive(t, ours.Median())
	assert.Equal(t, Result{Name: "embree.agree_percent", Case: c.Cases[0], Unit: "%", Runs: []float64{99.5}}, r.Results[1])
	assert.Equal(t, "lidar.ratio_to_rtcIntersect1", r.Results[3].Name)
	assert.InEpsilon(t, ours.Median()/2000, r.Results[3].Median(), 1e-9)

	c.Beside = "no/such/program"
	assert.ErrorIs(t, Embree(t.Context(), c, &r), ErrConfig)
	assert.ErrorContains(t, Embree(t.Context(), c, &r), "make bench WHAT=embree")
}
