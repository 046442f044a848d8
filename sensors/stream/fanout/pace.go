package fanout

import (
	"sync"
	"time"
)

// pace holds a subscription's messages apart.
type pace struct {
	subscription *subscription
	ticking      sync.Mutex // held while a message that waited is queued; before mu

	mu      sync.Mutex
	last    time.Time   // guarded by mu: when a message was let through
	waiting []*Message  // guarded by mu: at most Receiver.Backlog, the oldest first
	timer   *time.Timer // guarded by mu: runs while something waits
	ended   bool        // guarded by mu
}

// admit reports whether a message goes into the client's queue at once. Otherwise it
// waits for its time, taking the place of the oldest that does, or is passed over.
func (p *pace) admit(m *Message) bool {
	now, r := time.Now(), &p.subscription.receiver
	p.mu.Lock()
	left := r.Interval - now.Sub(p.last)
	if len(p.waiting) == 0 && left <= 0 && !p.ended {
		p.last = now
		p.mu.Unlock()
		return true
	}
	if r.Backlog == 0 || p.ended {
		p.mu.Unlock()
		m.release()
		return false
	}
	var oldest *Message
	if len(p.waiting) >= r.Backlog {
		oldest = p.pop()
	}
	p.waiting = append(p.waiting, m)
	if p.timer == nil {
		p.timer = time.AfterFunc(left, p.tick)
	} else if oldest == nil && len(p.waiting) == 1 {
		p.timer.Reset(left)
	}
	p.mu.Unlock()
	if oldest != nil {
		p.subscription.lose(oldest, CauseSlow)
	}
	return false
}

// pop takes the oldest that waits; mu must be held.
func (p *pace) pop() *Message {
	m := p.waiting[0]
	n := copy(p.waiting, p.waiting[1:])
	p.waiting[n] = nil
	p.waiting = p.waiting[:n]
	return m
}

// tick lets the oldest through.
func (p *pace) tick() {
	p.ticking.Lock()
	defer p.ticking.Unlock()
	p.mu.Lock()
	if p.ended || len(p.waiting) == 0 {
		p.mu.Unlock()
		return
	}
	m := p.pop()
	p.last = time.Now()
	if len(p.waiting) > 0 {
		p.timer.Reset(p.subscription.receiver.Interval)
	}
	p.mu.Unlock()
	if !p.subscription.offer(m) {
		p.subscription.drop(m, CauseSlow) // a timer doesn't wait for room
	}
}

// end drops what waits; nothing is let through any more when it returns.
func (p *pace) end() {
	p.mu.Lock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	list := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	p.ticking.Lock() // a tick that is under way ends first
	defer p.ticking.Unlock()
	for _, m := range list {
		p.subscription.lose(m, CauseGone)
	}
}

// lose counts a message as offered and dropped.
func (s *subscription) lose(m *Message, cause Cause) {
	s.offered.Add(1)
	s.drop(m, cause)
}
