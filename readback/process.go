package readback

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// Process runs the completions of all captures that Poll made ready, oldest
// first (law R1), on the caller's goroutine, and returns how many it ran. It
// doesn't wait: while another Process is under way, that one runs the rest, and
// this call returns 0. A completion that panics neither runs again nor stops
// the others; the panic goes to Config.OnError. Never on the GL thread (law G4).
func (p *Pool[D, E]) Process() int { return p.ProcessThrough(math.MaxInt64) }

// ProcessThrough is Process up to the first capture that is stamped later than
// stampNs.
func (p *Pool[D, E]) ProcessThrough(stampNs int64) int {
	p.mu.Lock()
	if p.mu.running {
		p.mu.limit = max(p.mu.limit, stampNs)
		p.mu.Unlock()
		return 0
	}
	p.mu.running, p.mu.limit = true, stampNs
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
	if p.mu.head == end || !closed && p.at(p.mu.head).capture.stampNs > p.mu.limit {
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
				panicked = &PanicError{Value: v, Stack: debug.Stack()}
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
	m.data = view[E](m.staging.Bytes())
	if len(m.data) < s.capture.elements {
		return Lease[E]{}, fmt.Errorf("staging %w", gpu.ErrObjectClosed)
	}
	m.data = m.data[:s.capture.elements]
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
