//go:build cgo

package bench

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
)

// TestPowerLaw: what was made by a power law gives its exponent and factor. Points
// that are off the line change the slope as the normal equations say.
func TestPowerLaw(t *testing.T) {
	for _, k := range []struct{ exponent, factor float64 }{{1, 3}, {0, 0.5}, {0.5, 2}, {-1, 7}, {2, 1e-6}} {
		var x, y []float64
		for _, v := range []float64{10, 40, 1000, 1e6} {
			x, y = append(x, v), append(y, k.factor*math.Pow(v, k.exponent))
		}
		exponent, factor := powerLaw(x, y)
		assert.InDelta(t, k.exponent, exponent, 1e-9)
		assert.InEpsilon(t, k.factor, factor, 1e-9)
	}
	exponent, _ := powerLaw([]float64{1, math.E, math.E * math.E}, []float64{1, math.E, math.Exp(2.6)})
	assert.InDelta(t, 1.3, exponent, 1e-9)
}

func TestGrowthOfAQuantity(t *testing.T) {
	var r Report
	k := growthCase{named: named{"rays"}, of: "a scan"}
	r.addGrowth(&k, []growthPoint{{100, []float64{1, 2, 1}}, {10_000, []float64{100, 20, 10}}})
	require.Len(t, r.Results, 3)
	assert.Equal(t, Result{"growth.rays", "100", "ms", []float64{1, 2, 1}, "a scan"}, r.Results[0])
	last := r.Results[2]
	assert.Equal(t, "growth.exponent", last.Name)
	assert.Equal(t, "rays", last.Case)
	for i, want := range []float64{1, 0.5, 0.5} {
		assert.InDelta(t, want, last.Runs[i], 1e-9)
	}
	require.Len(t, r.Charts, 1)
	assert.True(t, r.Charts[0].LogX && r.Charts[0].LogY)
	fit := r.Charts[0].Series[1]
	assert.InDelta(t, 20, fit.Y[1], 1e-9, "the line of the medians 1 and 20")
	assert.Equal(t, "rays to the power of 0.65", fit.Name)

	r = Report{}
	r.addGrowth(&k, []growthPoint{{100, []float64{1}}})
	assert.Len(t, r.Results, 1, "one size has no exponent")
}

// TestGrowth: every quantity is measured, threads only where they can be chosen.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	source := Source{Name: "soup", Sized: true, Load: func(_ context.Context, triangles int) (*scene.Scene, error) {
		return scenetest.Soup(3, min(triangles, 600), true), nil
	}}
	c := Config{Source: source, GL: gputest.Thread(t), Runs: 1, RunTime: 1, Quick: true}
	var r Report
	require.NoError(t, Growth(t.Context(), c, &r))
	exponents := map[string]bool{}
	for _, f := range r.Results {
		if f.Name == "growth.exponent" {
			exponents[f.Case] = true
		} else {
			assert.Positive(t, f.Median(), "%s %s", f.Name, f.Case)
		}
	}
	assert.Equal(t, map[string]bool{"triangles": true, "rays": true, "pixels": true, "sensors": true}, exponents)
	assert.Len(t, r.Charts, 4)

	c.Cases = []string{"threads"}
	assert.ErrorIs(t, Growth(t.Context(), c, &r), ErrConfig)
	var asked []int
	c.Threads = func(n int) gpu.Opener {
		asked = append(asked, n)
		return eglctx.Open(eglctx.Options{Device: os.Getenv("GL_DEVICE")})
	}
	require.NoError(t, Growth(t.Context(), c, &r))
	assert.Equal(t, doubling(asked[len(asked)-1])[:len(asked)], asked)
	assert.Equal(t, "growth.threads", r.Results[len(r.Results)-1-map[bool]int{true: 1}[len(asked) > 1]].Name)

	c.Source.Sized, c.Cases, c.Threads = false, []string{"triangles"}, nil
	assert.ErrorIs(t, Growth(t.Context(), c, &r), ErrConfig, "a file has its own triangles")
}
