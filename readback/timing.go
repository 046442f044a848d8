package readback

import (
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Times says when a capture passed each stage, on the host's monotonic clock;
// the zero time where it did not get there. None of them is the capture stamp.
type Times struct {
	// Started: Begin or, without it, Start was called.
	Started time.Time
	// GPUBegin and GPUEnd: the GPU came to the place of Begin (or Start), and
	// to the fence of Start. Zero on drivers without timestamps.
	GPUBegin, GPUEnd time.Time
	// FenceSeen: Poll found the fence of Start signalled.
	FenceSeen time.Time
	// Ready: Poll found the bytes in host memory.
	Ready time.Time
	// Completed: Process called the completion.
	Completed time.Time
}

// clockResync is how often the GPU's clock is compared with the host's: quartz
// clocks drift apart by up to about 100 microseconds in this time.
const clockResync = 2 * time.Second

// gpuClock places GPU timestamps on the host's time line. GL thread only.
type gpuClock struct {
	gpuNs int64
	host  time.Time // of gpuNs; zero before the first comparison
	off   bool      // the driver has no timestamps
}

// sync compares the clocks if that was too long ago.
func (g *gpuClock) sync(c *gpu.Ctx, now time.Time) {
	if g.off || !g.host.IsZero() && now.Sub(g.host) < clockResync {
		return
	}
	ns, host, err := c.Clock()
	if err != nil {
		g.off = true
		return
	}
	g.gpuNs, g.host = ns, host
}

// at returns the host's time of a GPU timestamp.
func (g *gpuClock) at(ns int64) time.Time { return g.host.Add(time.Duration(ns - g.gpuNs)) }

// read returns the host's time at which the GPU passed q, zero if it can't be told.
func (g *gpuClock) read(c *gpu.Ctx, q *gpu.Query) time.Time {
	ns, ready, err := c.QueryResult(q)
	if err != nil || !ready || g.off || g.host.IsZero() {
		return time.Time{}
	}
	return g.at(ns)
}
