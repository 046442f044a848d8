package readback

import (
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// Capture is one request: the caller's data and what the pool knows of it. It
// is the pool's memory, used again for later captures: valid from Start until
// its completion has returned and all its leases are released.
//
// The caller of Start writes Data before the function on the GL thread that called Start
// returns and before the next Poll. Afterwards it belongs to the completion.
type Capture[D, E any] struct {
	// Data is the caller's own: pose, sequence, whatever the completion needs
	// (law R3). Start sets it to its zero value.
	Data D

	stamp    simtime.Stamp
	elements int
	times    Times
}

// Stamp returns the capture stamp that was given to Start, in simulation nanoseconds.
func (c *Capture[D, E]) Stamp() simtime.Stamp { return c.stamp }

// Times returns when the capture passed its stages so far. Only its completion,
// and holders of its lease, may call it.
func (c *Capture[D, E]) Times() Times { return c.times }

// stage is how far a slot's capture has come on the GL thread.
type stage uint8

const (
	stageIdle   stage = iota
	stageSource       // the fence stands behind the source's commands; the copy is to be issued
	stageCopy         // the fence stands behind the copy
	stageFailed       // err says why; waits for its turn
	stageStuck        // timed out: out of use until the fence signals
)

// slot is the memory of one capture after the other. Fields are owned by the
// GL thread (Pool.gl held) where nothing else is said.
type slot[D, E any] struct {
	memory memory[E]
	// capture is the caller's until it returns to the GL thread, then Process's;
	// outcome is written under Pool.mu, once. The GL thread keeps what it finds
	// out in its own fields below, since Close may complete a capture meanwhile.
	capture Capture[D, E]
	outcome error

	stage    stage
	err      error // of stageFailed
	source   Source
	inPlace  bool       // the source is the staging buffer itself, read from element first on
	first    int        // 0 for a copy; read by Process, too
	held     bool       // source is held until its copy is issued
	fence    *gpu.Fence // nil until first used
	fencedAt time.Time
	seen     Times      // FenceSeen, GPUBegin, GPUEnd
	spoiled  bool       // the GPU may still write the staging buffer: don't use it again
	begin    *gpu.Query // nil without timestamps
	end      *gpu.Query
	timed    bool // both queries were placed
}

// prepare makes sure that the free slot has a staging buffer of size bytes and
// its queries.
func (s *slot[D, E]) prepare(c *gpu.Ctx, label string, size int, timers bool) error {
	old := s.memory.staging
	if old == nil || s.spoiled || old.Size() != size || old.Bytes() == nil {
		b, err := c.NewBuffer(gpu.BufferDesc{Label: label, Size: size, Usage: gpu.UsageReadback})
		if err != nil {
			return err
		}
		old.Close() // the driver frees it when the GPU has done
		s.memory.staging, s.spoiled = b, false
	}
	if timers && s.end == nil {
		begin, err := c.NewQuery()
		if err != nil {
			return err
		}
		end, err := c.NewQuery()
		if err != nil {
			begin.Close()
			return err
		}
		s.begin, s.end = begin, end
	}
	return nil
}

// mark puts the slot's fence behind the commands issued so far.
func (s *slot[D, E]) mark(c *gpu.Ctx, now time.Time) (err error) {
	if s.fence == nil {
		s.fence, err = c.NewFence()
	} else {
		err = c.ResetFence(s.fence)
	}
	s.fencedAt = now
	return err
}

// release closes the slot's GPU objects. A staging buffer that is lent stays
// until its last lease is released.
func (s *slot[D, E]) release() {
	s.memory.giveUp()
	s.fence.Close()
	s.begin.Close()
	s.end.Close()
}

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
