package readback

import (
	"fmt"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Prepare makes the staging buffers of all free slots and takes the
// measurement of CopyAuto, so that the first captures don't pay for it. It is
// optional. GL thread. Errors: ErrClosed, those of making GPU objects, one that
// wraps gpu.ErrContextLost.
func (p *Pool[D, E]) Prepare(c *gpu.Ctx) error {
	if err := c.Err(); err != nil {
		return err
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	elements, err := p.open()
	if err != nil {
		return fmt.Errorf("prepare %w", err)
	}
	p.decide(c)
	for i := range p.slots {
		if s := &p.slots[i]; s.stage == stageIdle && s.memory.free() {
			if err := s.prepare(c, p.cfg.Label, elements*p.size, p.gl.timers); err != nil {
				return fmt.Errorf("prepare readback %q: %w", p.cfg.Label, err)
			}
		}
	}
	return nil
}

// Begin reserves a slot for the next Start and marks where the capture's GPU
// work begins, so that Times.GPUBegin stands before the compute dispatch. It
// is optional, and answers ErrFull before any work is spent on a capture that
// would be lost. Begin again, without Start, marks a new beginning. GL thread.
// Errors: ErrFull, ErrClosed, those of making GPU objects.
func (p *Pool[D, E]) Begin(c *gpu.Ctx) error {
	if err := c.Err(); err != nil {
		return p.refuse(err)
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	p.gl.begun = false
	_, err := p.reserve(c)
	return err
}

// StartTick is Start with the time of Config.Tick as the capture stamp; without
// it, it fails with ErrConfig. GL thread.
func (p *Pool[D, E]) StartTick(c *gpu.Ctx, src Source) (*Capture[D, E], error) {
	if p.cfg.Tick == nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w: no stamp: set Config.Tick, or give one to Start", p.cfg.Label, ErrConfig))
	}
	return p.Start(c, src, p.cfg.Tick())
}

// Start asks for the bytes of src as the commands issued so far leave them, and
// returns at once with the capture, whose Data the caller fills in. stampNs is
// the capture stamp in simulation nanoseconds, which travels with it (law R3).
// It flushes, so that the GPU begins. GL thread.
//
// Errors, each of which means that no capture was made and no completion will
// be called: ErrFull, ErrClosed, ErrSource, ErrSize (the source is smaller than
// asked, no whole number of elements, or more than the pool's MaxElements), an
// error that wraps gpu.ErrContextLost, those of making GPU objects.
func (p *Pool[D, E]) Start(c *gpu.Ctx, src Source, stampNs int64) (*Capture[D, E], error) {
	if err := c.Err(); err != nil {
		return nil, p.refuse(err)
	}
	bytes, err := src.bytes()
	if err == nil && bytes%p.size != 0 {
		err = fmt.Errorf("%w: %d bytes are no whole number of elements of %d bytes", ErrSize, bytes, p.size)
	}
	if err != nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	s, err := p.reserve(c)
	p.gl.begun = false
	if err != nil {
		return nil, err
	}
	elements := bytes / p.size
	if room := s.memory.staging.Size() / p.size; elements > room {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w: %d elements, the pool's slots hold %d: Resize it",
			p.cfg.Label, ErrSize, elements, room))
	}
	s.source = src
	if err := p.issue(c, s); err != nil {
		s.stage, s.source = stageIdle, Source{}
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	return p.enqueue(c, s, elements, stampNs)
}

// issue puts the capture's commands into the stream: the copy, if it goes
// before the fence, the end mark, the fence, and a flush.
func (p *Pool[D, E]) issue(c *gpu.Ctx, s *slot[D, E]) error {
	s.stage = stageSource
	if p.gl.mode == CopyBeforeFence {
		s.stage = stageCopy
		if err := s.source.copyTo(c, s.memory.staging); err != nil {
			return err
		}
	}
	if s.timed {
		s.timed = c.Timestamp(s.end) == nil
	}
	err := s.mark(c, time.Now())
	if err == nil {
		err = c.Flush()
	}
	s.spoiled = err != nil && s.stage == stageCopy
	return err
}

// enqueue hands the capture over to Poll and Process.
func (p *Pool[D, E]) enqueue(c *gpu.Ctx, s *slot[D, E], elements int, stampNs int64) (*Capture[D, E], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		s.stage, s.source = stageIdle, Source{}
		p.mu.stats.Refused++
		return nil, p.errClosed
	}
	var zero D
	k := &s.capture
	k.Data, k.stampNs, k.sequence, k.elements = zero, stampNs, p.mu.tail, elements
	k.times = Times{Started: s.seen.Started}
	s.outcome, s.err = nil, nil
	s.memory.claim()
	if s.stage == stageSource {
		s.held = true
		c.Hold(s.source.object())
	} else {
		s.source = Source{}
	}
	p.mu.ring[p.mu.tail%uint64(len(p.mu.ring))] = s
	p.mu.tail++
	p.mu.stats.Started++
	p.gl.reserved = nil
	return k, nil
}

// open returns the elements that a slot holds, or ErrClosed.
func (p *Pool[D, E]) open() (elements int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return 0, p.errClosed
	}
	return p.mu.elements, nil
}

// reserve returns the slot of Begin or a free one, ready for commands and with
// its beginning marked. p.gl must be held.
func (p *Pool[D, E]) reserve(c *gpu.Ctx) (*slot[D, E], error) {
	elements, err := p.open()
	if err != nil {
		return nil, p.refuse(err)
	}
	p.decide(c)
	s := p.gl.reserved
	if s == nil {
		s = p.findFree()
	}
	if s == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.stats.Full++
		return nil, p.errFull
	}
	if err := s.prepare(c, p.cfg.Label, elements*p.size, p.gl.timers); err != nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	if !p.gl.begun {
		s.seen = Times{Started: time.Now()}
		s.timed = p.gl.timers && c.Timestamp(s.begin) == nil
		p.gl.begun = true
	}
	p.gl.reserved = s
	return s, nil
}

// findFree looks for a slot that nobody holds, nil if there is none. Slots are
// taken in turn, so that memory that was just released rests longest.
func (p *Pool[D, E]) findFree() *slot[D, E] {
	for i := range p.slots {
		at := (p.gl.next + i) % len(p.slots)
		if s := &p.slots[at]; s.stage == stageIdle && s.memory.free() {
			p.gl.next = at + 1
			return s
		}
	}
	return nil
}

// decide settles the copy mode and the timers on the first call.
func (p *Pool[D, E]) decide(c *gpu.Ctx) {
	if p.gl.started {
		return
	}
	p.gl.started = true
	p.gl.timers = !p.cfg.NoTimers && c.Info().TimestampBits > 0
	p.gl.mode = p.cfg.CopyMode
	if p.gl.mode == CopyAuto {
		p.gl.mode = Probe(c).Mode
	}
}

// refuse counts a capture that wasn't made.
func (p *Pool[D, E]) refuse(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.stats.Refused++
	return err
}

// Holds reports whether a capture's copy from src is still to be issued, so
// that src must not be written: always false where copies go before the fence.
// GL thread.
func (p *Pool[D, E]) Holds(src gpu.Source) bool {
	p.gl.Lock()
	defer p.gl.Unlock()
	for i := range p.slots {
		if s := &p.slots[i]; s.held && s.source.object() == src {
			return true
		}
	}
	return false
}
