//go:build cgo

package hostdev_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/shaders"
)

// TestRaysAloneHitWhatTheyHitTogether: on a GPU an invocation traces one ray. The bytes are those of four
// rays together: no ray's hit depends on its company.
func TestRaysAloneHitWhatTheyHitTogether(t *testing.T) {
	software, alone := gputest.Thread(t), gputest.AsGPU(t)
	for name, s := range scenes(t) {
		w := newWorld(t, software, s)
		for what, j := range map[string]*job{"nearest": traceJob(3, false), "rays": raysJob(3, 2), "sights": sightsJob(3, 2)} {
			want := sum(w.run(t, j))
			j.defines = append(j.defines, shaders.Alone(true))
			assert.Equal(t, want, sum(w.run(t, j)), "%s in %s", what, name)
		}
		j := traceJob(3, true)
		want := hitsOf(w.run(t, j))
		j.defines = append(j.defines, shaders.Alone(true))
		for i, hit := range hitsOf(w.run(t, j)) { // which surface it is depends on the order of the search
			require.Equal(t, want[i].triangle >= 0, hit.triangle >= 0, "occlusion of ray %d in %s", i, name)
		}
		firing := firings()["surface noisy true rolling true"]
		assert.Equal(t, sum(gpu.BytesOf(scan(t, software, s, firing))), sum(gpu.BytesOf(scan(t, alone, s, firing))), "lidar in %s", name)
		if name != "cut outs" {
			continue
		}
		for lens, attributes := range lenses() {
			want, got := photo(t, software, s, camera.InstanceDefinition, attributes), photo(t, alone, s, camera.InstanceDefinition, attributes)
			assert.Equal(t, sum(want.Data), sum(got.Data), lens)
		}
		sun := map[string]any{"shadows": "traced"}
		lit, got := photo(t, software, s, camera.RGBDefinition, sun), photo(t, alone, s, camera.RGBDefinition, sun)
		assert.Equal(t, sum(lit.Data), sum(got.Data), "traced shadows")
	}
}
