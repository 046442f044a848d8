package fanout

import (
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
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
	waited := len(p.waiting) > 0
	var lost []*Message
	for len(p.waiting) >= r.Backlog || len(p.waiting) > 0 && !p.fits(m) {
		lost = append(lost, p.pop())
	}
	if p.fits(m) {
		p.subscription.client.paced.Add(p.size(m))
		p.waiting = append(p.waiting, m)
	} else {
		lost = append(lost, m)
	}
	switch {
	case len(p.waiting) == 0:
	case p.timer == nil:
		p.timer = time.AfterFunc(left, p.tick)
	case !waited:
		p.timer.Reset(left)
	}
	p.mu.Unlock()
	for _, m := range lost {
		p.subscription.lose(m, flow.CausePeerSlow)
	}
	return false
}

// size is what a message takes of what may wait for the client.
func (p *pace) size(m *Message) int64 { return m.size(p.subscription.receiver.Form) }

// fits reports whether a message may wait beside those that do. Those of all subscriptions
// together are bounded as the client's queue is; a message that is larger waits alone.
func (p *pace) fits(m *Message) bool {
	c := p.subscription.client
	waiting := c.paced.Load()
	return waiting == 0 || waiting+p.size(m) <= c.queue.MaxBytes()
}

// pop takes the oldest that waits; mu must be held.
func (p *pace) pop() *Message {
	m := p.waiting[0]
	n := copy(p.waiting, p.waiting[1:])
	p.waiting[n] = nil
	p.waiting = p.waiting[:n]
	p.subscription.client.paced.Add(-p.size(m))
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
		p.subscription.drop(m, flow.CausePeerSlow) // a timer doesn't wait for room
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
	for _, m := range list {
		p.subscription.client.paced.Add(-p.size(m))
	}
	p.mu.Unlock()
	p.ticking.Lock() // a tick that is under way ends first
	defer p.ticking.Unlock()
	for _, m := range list {
		p.subscription.lose(m, flow.CauseNotConnected)
	}
}

// lose counts a message as offered and dropped.
func (s *subscription) lose(m *Message, cause flow.Cause) {
	s.offered.Add(1)
	s.drop(m, cause)
}
