//go:build cgo

package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
)

// soupSource makes a small scene, some of which moves.
func soupSource() Source {
	return Source{Name: "soup", Sized: true, Load: func(context.Context, int) (*scene.Scene, error) { return scenetest.Soup(3, 600, true), nil }}
}

// TestEachKernelIsTimed: each entry that sensors use has a time, and a device without timers none.
func TestEachKernelIsTimed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gputest.Thread(t) // skips where there is no device
	c := Config{Source: soupSource(), Open: gputest.Opener(), Runs: 1, RunTime: 1}
	var r Report
	require.NoError(t, Kernels(t.Context(), c, &r))
	if strings.Contains(strings.Join(r.Methods, " "), "no timer queries") {
		t.Skip("the device has no timer queries")
	}
	timed, wholes := map[string]bool{}, map[string]bool{}
	for _, f := range r.Results {
		assert.GreaterOrEqual(t, f.Median(), 0.0, "%s %s", f.Name, f.Case) // software's queries may not wait for their turn
		if _, entry, ok := strings.Cut(f.Case, "/"); ok {
			timed[entry] = true
		} else {
			wholes[f.Name] = true
		}
	}
	delete(timed, copyLap) // the host device's captures are in host memory
	want := map[string]bool{}
	for _, e := range shaders.All() {
		want[e.Name] = true
	}
	delete(want, shaders.SceneTrace.Name)
	assert.Equal(t, want, timed)
	assert.Equal(t, map[string]bool{"kernel.capture_ms": true, "kernel.readback_ms": true, "kernel.rays_per_s": true, "kernel.busy_percent": true}, wholes)

	c.Open = withoutTimers(c.Open)
	r = Report{}
	require.NoError(t, Kernels(t.Context(), c, &r))
	assert.Empty(t, r.Results)
	assert.Contains(t, strings.Join(r.Methods, " "), "no timer queries")
}

// timerless is a driver without timers.
type timerless struct{ gpu.Driver }

func (d timerless) Info() gpu.Info {
	info := d.Driver.Info()
	info.TimestampBits = 0
	return info
}

func withoutTimers(open gpu.Opener) gpu.Opener {
	return func() (*gpu.Context, error) {
		opened, err := open()
		if err != nil {
			return nil, err
		}
		return &gpu.Context{Driver: timerless{opened.Driver}, Close: opened.Close}, nil
	}
}
