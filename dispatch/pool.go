package dispatch

import "context"

// message is a queued message of type T with the dispatcher's record of it.
// For a ThreadCached type, data is the pooled instance itself: it belongs to
// the message for good, and a message is lent to one task at a time.
type message[T any] struct {
	task
	data  T
	key   uint64
	made  bool // data is a cached instance
	owner *Topic[T]
}

func (m *message[T]) publish(ctx context.Context) error { return m.owner.publishFunc(ctx, m.data) }

func (m *message[T]) recycle() {
	m.done, m.token = nil, nil
	m.timed, m.counted, m.calling = false, false, false
	if !m.made {
		var zero T
		m.data = zero
	}
	m.owner.pool.put(m)
}

// pool keeps a topic's unused messages, on one shelf for each cache key.
// All of it is guarded by the dispatcher's mu.
type pool[T any] struct {
	shelves map[uint64]*shelf[T]
	last    *shelf[T] // the shelf used last, to spare a map access
	limit   int       // most messages kept idle
	idle    int
	lent    int
	bytes   int64 // of idle and lent messages, where their type tells its size
	uses    uint64
}

// shelf is a pool's stock of one cache key.
type shelf[T any] struct {
	key  uint64
	free []*message[T]
	low  int    // fewest free since the last trim: that many were not needed
	used uint64 // pool.uses at the last access
}

func newPool[T any](limit int) pool[T] {
	return pool[T]{shelves: map[uint64]*shelf[T]{}, limit: limit}
}

func (p *pool[T]) shelf(key uint64) *shelf[T] {
	p.uses++
	s := p.last
	if s == nil || s.key != key {
		s = p.shelves[key]
		if s == nil {
			s = &shelf[T]{key: key}
			p.shelves[key] = s
		}
		p.last = s
	}
	s.used = p.uses
	return s
}

// get lends an idle message of the key, or returns nil if there is none; then
// the caller makes the one that it counted as lent.
func (p *pool[T]) get(key uint64) *message[T] {
	s := p.shelf(key)
	p.lent++
	n := len(s.free)
	if n == 0 {
		return nil
	}
	m := s.free[n-1]
	s.free[n-1] = nil
	s.free = s.free[:n-1]
	s.low = min(s.low, n-1)
	p.idle--
	p.bytes -= m.bytes
	return m
}

func (p *pool[T]) usage() PoolStats {
	return PoolStats{Idle: p.idle, Lent: p.lent, Keys: len(p.shelves), IdleBytes: p.bytes}
}

func (p *pool[T]) put(m *message[T]) {
	p.lent--
	if p.idle >= p.limit && !p.evict(m.key) {
		return
	}
	s := p.shelf(m.key)
	s.free = append(s.free, m)
	p.idle++
	p.bytes += m.bytes
}

// evict drops one idle message of the key that went unused longest, other than
// keep, and reports whether there was one.
func (p *pool[T]) evict(keep uint64) bool {
	var oldest *shelf[T]
	for _, s := range p.shelves {
		if s.key != keep && len(s.free) > 0 && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	p.discard(oldest, 1)
	return true
}

// trim drops the messages that no task needed since the last trim and reports
// whether any are left to trim.
func (p *pool[T]) trim() bool {
	for key, s := range p.shelves {
		p.discard(s, s.low)
		s.low = len(s.free)
		if len(s.free) == 0 {
			delete(p.shelves, key)
			if p.last == s {
				p.last = nil
			}
		}
	}
	return p.idle > 0
}

func (p *pool[T]) discard(s *shelf[T], n int) {
	for range n {
		last := len(s.free) - 1
		p.bytes -= s.free[last].bytes
		s.free[last] = nil
		s.free = s.free[:last]
		p.idle--
	}
	s.low = min(s.low, len(s.free))
}

// onTrim leaves unused cached messages to the garbage collector.
func (d *Dispatcher) onTrim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trimArmed = false
	if d.closed {
		return
	}
	for _, t := range d.topics {
		if t.stock.trim() {
			d.trimArmed = true
		}
	}
	if d.trimArmed {
		d.trim.Reset(d.cfg.TrimTimeout)
	}
}
