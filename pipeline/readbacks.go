package pipeline

import (
	"sync"

	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors"
)

// reads keep count of a sensor's captures over its lives.
type reads struct {
	mu     sync.Mutex
	before readback.Stats // guarded by mu: of the lives that have ended
	last   *sensors.Life  // guarded by mu: the last of these
}

// readbackReporter is a sensor that tells how its readbacks fared.
type readbackReporter interface{ ReadbackStats() readback.Stats }

// readbacksOf returns what a life's captures counted, and whether it has any: none before it has begun.
func readbacksOf(life *sensors.Life) (stats readback.Stats, ok bool) {
	r, ok := life.Sensor().(readbackReporter)
	if !ok || life.Stage() < sensors.StageBegun {
		return stats, false
	}
	return r.ReadbackStats(), true
}

// ended adds what a life has counted that has ended.
func (r *reads) ended(life *sensors.Life) {
	stats, ok := readbacksOf(life)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addTo(&stats)
	r.before, r.last = stats, life
}

// addTo adds what ended lives have counted. mu must be held.
func (r *reads) addTo(stats *readback.Stats) {
	stats.Completed += r.before.Completed
	stats.GPU.Merge(&r.before.GPU)
	stats.Fence.Merge(&r.before.Fence)
	stats.Copy.Merge(&r.before.Copy)
	stats.Queue.Merge(&r.before.Queue)
}

// total returns what the captures of the present life and of those before counted, and what the present one's slots do. It
// is false for a sensor without captures. Of what readback.Stats has, the captures that are completed and the latencies
// GPU, Fence, Copy and Queue are over all lives.
func (r *reads) total(life *sensors.Life) (stats readback.Stats, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if life != r.last {
		stats, ok = readbacksOf(life)
	}
	r.addTo(&stats)
	return stats, ok || r.last != nil
}
