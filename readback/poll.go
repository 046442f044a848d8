package readback

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// Poll asks, without waiting, how far the GPU has come. It issues the copies whose source is
// finished. It moves finished captures from the head of the line to the ready list (law R1),
// and returns how many. A capture is ready in the first Poll after the GPU has passed the fence
// behind its copy and those of all older captures. The cost of a Poll doesn't depend on how
// many captures are in flight, only on how many of them it moves on. Once the context is lost,
// all captures become ready with gpu.ErrContextLost. GL thread.
func (p *Pool[D, E]) Poll(c *gpu.Ctx) int {
	err := c.Err()
	if errors.Is(err, gpu.ErrDeadCtx) {
		return 0
	}
	n := p.poll(c, err)
	if n == 0 {
		return 0
	}
	if p.cfg.Notify != nil {
		p.cfg.Notify()
	}
	return n
}

func (p *Pool[D, E]) poll(c *gpu.Ctx, ctxErr error) int {
	p.gl.Lock()
	defer p.gl.Unlock()
	first, end := p.inFlight()
	if ctxErr != nil {
		return p.failAll(first, end, ctxErr)
	}
	now := time.Now()
	p.reclaim(c)
	if p.issueCopies(c, first, end, now) {
		now = time.Now() // a driver may copy within the call
	}
	n := 0
	for at := first; at < end; at++ {
		if at == p.gl.copied {
			// The capture before this one timed out and held up its successors' copies.
			p.issueCopies(c, at, end, now)
		}
		s := p.at(at)
		outcome, finished := p.check(c, s, now)
		if !finished || !p.publish(s, at, outcome, now) {
			break
		}
		n++
	}
	return n
}

// inFlight returns the range of captures that are in flight, none once the
// pool is closed.
func (p *Pool[D, E]) inFlight() (first, end uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return p.mu.tail, p.mu.tail
	}
	return p.mu.pending, p.mu.tail
}

// at returns the slot of a capture in flight. Only the GL thread, in Start,
// writes those entries of the ring.
func (p *Pool[D, E]) at(i uint64) *slot[D, E] { return p.mu.ring[i%uint64(len(p.mu.ring))] }

// issueCopies issues the copies that wait for their source, from the capture first on. It stops
// at the first source that the GPU is still working on. It reports whether there were any.
func (p *Pool[D, E]) issueCopies(c *gpu.Ctx, first, end uint64, now time.Time) (issued bool) {
	for p.gl.copied = max(p.gl.copied, first); p.gl.copied < end; p.gl.copied++ {
		s := p.at(p.gl.copied)
		if s.stage != stageSource {
			continue
		}
		status := c.PollFence(s.fence)
		if status == gpu.FencePending {
			break
		}
		issued = true
		p.copyAfter(c, s, status, now)
	}
	return issued
}

// copyAfter issues the copy of a capture whose source's fence gave that status.
func (p *Pool[D, E]) copyAfter(c *gpu.Ctx, s *slot[D, E], status gpu.FenceStatus, now time.Time) {
	err := p.fenceError(c, status)
	if err == nil {
		p.seeFence(c, s, now)
		err = s.source.copyTo(c, s.memory.staging)
	}
	if err == nil {
		s.stage = stageCopy
		if err = s.mark(c, now); err != nil {
			s.spoiled = true
		}
	}
	p.unhold(c, s)
	if err != nil {
		s.stage, s.err = stageFailed, err
	}
}

// unhold ends the capture's hold of its source.
func (p *Pool[D, E]) unhold(c *gpu.Ctx, s *slot[D, E]) {
	if s.held {
		s.held = false
		c.Unhold(s.source.object())
	}
	s.source = Source{}
}

// seeFence notes when the fence of Start was seen and what the queries before
// it say. The queries' results are there when the fence has signalled; where
// a driver needs longer, the capture goes without rather than wait.
func (p *Pool[D, E]) seeFence(c *gpu.Ctx, s *slot[D, E], now time.Time) {
	s.seen.FenceSeen = now
	if s.timed {
		p.gl.clock.sync(c, now)
		s.seen.GPUBegin = p.gl.clock.read(c, s.begin)
		s.seen.GPUEnd = p.gl.clock.read(c, s.end)
	}
}

// fenceError turns a fence's last answer into the capture's error.
func (p *Pool[D, E]) fenceError(c *gpu.Ctx, status gpu.FenceStatus) error {
	switch {
	case status == gpu.FenceSignaled:
		return nil
	case c.Err() != nil:
		return c.Err()
	default:
		return ErrFence
	}
}

// check tells whether the oldest capture in flight is finished, and how.
func (p *Pool[D, E]) check(c *gpu.Ctx, s *slot[D, E], now time.Time) (outcome error, finished bool) {
	if s.stage == stageFailed {
		s.stage = stageIdle
		return s.err, true
	}
	status := gpu.FencePending
	if s.stage == stageCopy {
		status = c.PollFence(s.fence)
	}
	if status == gpu.FencePending {
		if now.Sub(s.fencedAt) < p.cfg.Timeout {
			return nil, false
		}
		if s.stage == stageSource {
			p.gl.copied++
		}
		s.stage = stageStuck
		p.stuck.Add(1)
		return fmt.Errorf("%w: %v", ErrTimeout, p.cfg.Timeout), true
	}
	s.stage = stageIdle
	outcome = p.fenceError(c, status)
	if outcome == nil && s.memory.staging.Bytes() == nil {
		outcome = fmt.Errorf("staging %w", gpu.ErrObjectClosed)
	}
	s.spoiled = outcome != nil
	if outcome == nil && s.seen.FenceSeen.IsZero() {
		p.seeFence(c, s, now)
	}
	return outcome, true
}

// publish makes the oldest capture in flight ready for Process. It is false
// when Close has taken the capture meanwhile.
func (p *Pool[D, E]) publish(s *slot[D, E], at uint64, outcome error, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return false
	}
	s.capture.times = s.seen
	if outcome == nil {
		s.capture.times.Ready = now
	} else {
		s.outcome = fmt.Errorf("readback %q: capture %d: %w", p.cfg.Label, at, outcome)
	}
	p.mu.pending = at + 1
	p.changedLocked()
	return true
}

// reclaim puts slots that timed out back into use once their fence signals,
// and after Close lets go of the sources.
func (p *Pool[D, E]) reclaim(c *gpu.Ctx) {
	closed := p.closed.Load()
	for i := 0; i < len(p.slots) && (p.stuck.Load() > 0 || closed); i++ {
		s := &p.slots[i]
		if closed {
			p.unhold(c, s)
		}
		if s.stage != stageStuck {
			continue
		}
		if status := c.PollFence(s.fence); status != gpu.FencePending {
			s.stage = stageIdle
			s.spoiled = status == gpu.FenceFailed
			p.stuck.Add(-1)
			p.unhold(c, s)
		}
	}
}

// failAll makes every capture in flight ready with the loss of the context.
func (p *Pool[D, E]) failAll(first, end uint64, err error) int {
	for i := range p.slots {
		s := &p.slots[i]
		s.stage, s.spoiled, s.held, s.source = stageIdle, true, false, Source{}
	}
	p.stuck.Store(0)
	n := 0
	for at := first; at < end && p.publish(p.at(at), at, err, time.Time{}); at++ {
		n++
	}
	return n
}

// Process runs the completions of all captures that Poll made ready, oldest
// first (law R1), on the caller's goroutine, and returns how many it ran. It
// doesn't wait: while another Process is under way, that one runs the rest, and
// this call returns 0. A completion that panics neither runs again nor stops
// the others; the panic goes to Config.OnError. Never on the GL thread (law G4).
func (p *Pool[D, E]) Process() int { return p.ProcessThrough(math.MaxInt64) }

// ProcessThrough is Process up to the first capture that is stamped later than
// stamp.
func (p *Pool[D, E]) ProcessThrough(stamp simtime.Stamp) int {
	p.mu.Lock()
	if p.mu.running {
		p.mu.limit = max(p.mu.limit, stamp)
		p.mu.Unlock()
		return 0
	}
	p.mu.running, p.mu.limit = true, stamp
	p.mu.Unlock()

	n, ended := 0, false
	defer func() {
		if !ended {
			// A completion ended its goroutine with runtime.Goexit. What is left
			// is the next Process's, but Close must not wait for ever.
			p.mu.Lock()
			p.mu.running = false
			closed := p.closed.Load()
			p.mu.Unlock()
			if closed {
				p.Process()
			}
		}
	}()
	for s := p.take(); s != nil; s = p.take() {
		p.run(s)
		n++
	}
	ended = true
	return n
}

// take removes the oldest capture that is due, with its outcome; nil ends the
// Process that is under way.
func (p *Pool[D, E]) take() *slot[D, E] {
	p.mu.Lock()
	defer p.mu.Unlock()
	closed := p.closed.Load()
	end := p.mu.pending
	if closed {
		end = p.mu.tail
	}
	if p.mu.head == end || !closed && p.at(p.mu.head).capture.stamp > p.mu.limit {
		p.mu.running = false
		if closed {
			p.endLocked()
		}
		return nil
	}
	s := p.at(p.mu.head)
	p.mu.head++
	if closed {
		p.mu.pending = max(p.mu.pending, p.mu.head)
		s.outcome = p.errClosed
	}
	s.capture.times.Completed = time.Now()
	return s
}

// endLocked closes done, once. p.mu must be held.
func (p *Pool[D, E]) endLocked() {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
}

// run calls the completion of one capture and gives its slot back.
func (p *Pool[D, E]) run(s *slot[D, E]) {
	number := s.memory.number()
	lease, err := p.lend(s, number)
	returned := false
	defer func() {
		var panicked error
		if !returned {
			lease.Release()
			if v := recover(); v != nil {
				panicked = flow.Panicked(v)
			}
		}
		p.finish(s, number, err, panicked)
	}()
	p.complete(&s.capture, lease, err)
	returned = true
}

// lend makes the completion's lease, or returns the capture's error.
func (p *Pool[D, E]) lend(s *slot[D, E], number uint32) (Lease[E], error) {
	if s.outcome != nil {
		return Lease[E]{}, s.outcome
	}
	m := &s.memory
	data := view[E](m.staging.Bytes())
	if len(data) < s.first+s.capture.elements {
		return Lease[E]{}, fmt.Errorf("staging %w", gpu.ErrObjectClosed)
	}
	m.data = data[s.first : s.first+s.capture.elements]
	if m.lent = p.checking; m.lent {
		m.data = append([]E(nil), m.data...)
	}
	lease, _ := m.lend(number)
	return lease, nil
}

// finish counts a completion that has returned or panicked.
func (p *Pool[D, E]) finish(s *slot[D, E], number uint32, err, panicked error) {
	times := s.capture.times
	s.memory.drop(number, maxHolders)
	p.mu.Lock()
	p.mu.finished++
	p.mu.stats.count(err, &times)
	if panicked != nil {
		p.mu.stats.Panics++
	}
	p.changedLocked()
	p.mu.Unlock()
	if panicked != nil {
		p.cfg.OnError(panicked)
	}
}
