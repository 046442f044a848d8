package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// credit lets a subscription's messages through as the client asks for them, and holds the newest of the others.
type credit struct {
	subscription *subscription
	returned     atomic.Int32 // credits of messages that aren't written after all; grant holds mu when it pushes

	mu    sync.Mutex
	left  int       // guarded by mu
	spent time.Time // guarded by mu: when left became 0
	held  *Message  // guarded by mu: the newest that waits for a credit; nil for none
	ended bool      // guarded by mu
}

// admit reports whether a message goes into the client's queue at once. Otherwise it is held, in place of the one before.
func (c *credit) admit(m *Message) bool {
	c.mu.Lock()
	c.add(0)
	admitted, lost := c.left > 0 && !c.ended, c.held
	switch c.held = nil; {
	case admitted:
		c.spend()
	case c.ended:
		lost = m
	default:
		c.held = m
	}
	c.mu.Unlock()
	if lost != nil {
		c.subscription.lose(lost, flow.CausePeerSlow)
	}
	return admitted
}

// grant lets so many messages more through, the one that is held first. The lock is held until that one is queued: no
// later message comes before it.
func (c *credit) grant(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(n)
	if m := c.held; m != nil && c.left > 0 {
		c.held = nil
		c.spend()
		if !c.subscription.offer(m) {
			c.subscription.drop(m, flow.CausePeerSlow) // a client that asks doesn't wait for room
			c.giveBack()
		}
	}
}

// add adds credits, and those that have come back; mu must be held.
func (c *credit) add(n int) {
	c.left = min(c.left+n+int(c.returned.Swap(0)), c.subscription.receiver.Credits)
}

// spend uses a credit up; mu must be held.
func (c *credit) spend() {
	if c.left--; c.left == 0 {
		c.spent = time.Now()
	}
}

// spentFor reports whether the client has had no credit for so long.
func (c *credit) spentFor(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(0)
	return c.left == 0 && time.Since(c.spent) >= d
}

// giveBack returns the credit of a message that isn't written after all. It takes no lock.
func (c *credit) giveBack() { c.returned.Add(1) }

// free reports whether the next message would go at once.
func (c *credit) free() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(0)
	return c.left > 0
}

// outdate drops what is held.
func (c *credit) outdate() {
	c.mu.Lock()
	lost := c.held
	c.held = nil
	c.mu.Unlock()
	if lost != nil {
		c.subscription.lose(lost, flow.CausePeerSlow)
	}
}

// end drops what is held; nothing is let through any more when it returns.
func (c *credit) end() {
	c.mu.Lock()
	c.ended = true
	lost := c.held
	c.held = nil
	c.mu.Unlock()
	if lost != nil {
		c.subscription.lose(lost, flow.CauseNotConnected)
	}
}

// Hungry reports whether a client would be sent a message at once, as one that subscribed without credits always would.
// While it is false, nothing need be encoded: see Outdate.
func (s *Stream) Hungry() bool {
	for _, sub := range s.subscriptions() {
		if sub.credit == nil || sub.credit.free() {
			return true
		}
	}
	return false
}

// Takers returns the number of clients that receive the stream, without those that have given no credit for so long: a
// window that isn't shown, a client that hangs. While it is zero, nothing need be computed.
func (s *Stream) Takers(patience time.Duration) (n int) {
	for _, sub := range s.subscriptions() {
		if sub.credit == nil || !sub.credit.spentFor(patience) {
			n++
		}
	}
	return n
}

// Outdate says that there is something newer than what is held for clients without credits, which is dropped for them.
// The newer is sent when Hungry says so.
func (s *Stream) Outdate() {
	for _, sub := range s.subscriptions() {
		if sub.credit != nil {
			sub.credit.outdate()
		}
	}
}

// Pass counts n messages that were never encoded, since something newer came before a client had a credit for them. Each
// has a number as the others have, the next ones, and every client misses it.
func (s *Stream) Pass(n int) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.next += uint64(n)
	for _, sub := range s.subscriptions() {
		sub.offered.Add(int64(n))
		sub.dropped[causeSlow].Add(int64(n))
	}
}

// Grant lets so many messages more be queued for a client that subscribed with Receiver.Credits.
func (s *Stream) Grant(c *Conn, n int) {
	for _, sub := range s.subscriptions() {
		if sub.client == c && sub.credit != nil {
			sub.credit.grant(n)
		}
	}
}
