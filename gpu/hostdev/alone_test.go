//go:build cgo

package hostdev_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/shaders"
)

// TestRaysAloneHitWhatTheyHitTogether: on a GPU an invocation traces one ray. The bytes are those of four
// rays together: no ray's hit depends on its company. Where a compiler contracts arithmetic, in each of the
// two programs in its own way, they agree within what devices may differ by.
func TestRaysAloneHitWhatTheyHitTogether(t *testing.T) {
	gl, alone := gputest.Thread(t), gputest.AsGPU(t)
	info := gl.Info()
	for name, s := range scenes(t) {
		w := newWorld(t, gl, s)
		both := func(j *job) (together, alone []byte) {
			together = w.run(t, j)
			j.defines = append(j.defines, shaders.Alone(true))
			return together, w.run(t, j)
		}
		for _, anyHit := range []bool{false, true} {
			want, got := both(traceJob(3, anyHit))
			agreeOnHits(t, hitsOf(want), hitsOf(got), anyHit)
			if !info.GPU() && !anyHit { // of any hits the search's order decides
				assert.Equal(t, sum(want), sum(got), "listed rays in %s", name)
			}
		}
		want, got := both(raysJob(3, 2))
		agreeOnResults(t, want, got)
		if info.GPU() {
			continue // its sensors trace rays alone already
		}
		assert.Equal(t, sum(want), sum(got), "rays in %s", name)
		want, got = both(sightsJob(3, 2))
		assert.Equal(t, wordsOf(want), wordsOf(got), "sights in %s", name)
		firing := firings()["surface noisy true rolling true"]
		assert.Equal(t, sum(gpu.BytesOf(scan(t, gl, s, firing))), sum(gpu.BytesOf(scan(t, alone, s, firing))), "lidar in %s", name)
		if name != "cut outs" {
			continue
		}
		for lens, attributes := range lenses() {
			assert.Equal(t, sum(photo(t, gl, s, camera.InstanceDefinition, attributes).Data),
				sum(photo(t, alone, s, camera.InstanceDefinition, attributes).Data), lens)
		}
		sun := map[string]any{"shadows": "traced"}
		assert.Equal(t, sum(photo(t, gl, s, camera.RGBDefinition, sun).Data), sum(photo(t, alone, s, camera.RGBDefinition, sun).Data), "traced shadows")
	}
}
