package dispatch

import "context"

// message is a queued message of type T with the dispatcher's record of it. For a ThreadCached
// type, data is the pooled instance itself. It belongs to the message for good, and a message
// is lent to one task at a time.
type message[T any] struct {
	task
	data  T
	key   uint64
	made  bool  // data is a cached instance
	holds int64 // bytes of the largest message that data has held
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

// pool keeps a topic's unused messages, on one shelf for each cache key. It keeps no more of
// them, and no more bytes, than the queue and the workers may hold or than were lent at once.
// All of it is guarded by the dispatcher's mu.
type pool[T any] struct {
	shelves map[uint64]*shelf[T]
	last    *shelf[T] // the shelf used last, to spare a map access
	closed  bool      // nothing is kept any more
	uses    uint64

	idle, lent int
	most       int // that may be idle of one key
	spread     int // how many more of several keys; see room
	// What the messages' instances hold, where their type tells its size.
	idleBytes, lentBytes int64
	flow                 int64 // sizes of the messages that are lent, which may be less
	mostBytes            int64 // that may be idle; negative: no limit
}

// shelf is a pool's stock of one cache key.
type shelf[T any] struct {
	key  uint64
	free []*message[T]
	low  int    // fewest free since the last trim: that many were not needed
	used uint64 // pool.uses at the last access
}

// newPool returns a pool for a queue of that depth and so many workers.
func newPool[T any](depth, workers int, mostBytes int64) pool[T] {
	return pool[T]{shelves: map[uint64]*shelf[T]{}, most: depth + workers, spread: max(depth-1, 0), mostBytes: mostBytes}
}

// room reports whether a message may be kept that holds so many bytes. Keys that take turns
// each need, at times, one more than their share of the queue. A queue has no more keys at a
// time than its depth.
func (p *pool[T]) room(holds int64) bool {
	most := p.most + min(max(len(p.shelves)-1, 0), p.spread)
	return !p.closed && p.idle < most && (p.mostBytes < 0 || p.idleBytes+holds <= p.mostBytes)
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

// get lends an idle message of the key. It returns nil if there are none; then the caller makes
// the one that it counted as lent. charge follows.
func (p *pool[T]) get(key uint64) *message[T] {
	p.lent++
	p.most = max(p.most, p.lent)
	s := p.shelf(key)
	n := len(s.free)
	if n == 0 {
		return nil
	}
	m := s.free[n-1]
	s.free[n-1] = nil
	s.free = s.free[:n-1]
	s.low = min(s.low, n-1)
	p.idle--
	p.idleBytes -= m.holds
	p.lentBytes += m.holds
	return m
}

// charge notes the size of the message that a lent one has been filled with.
func (p *pool[T]) charge(m *message[T], bytes int64) {
	m.bytes = bytes
	p.flow += bytes
	if p.mostBytes >= 0 {
		p.mostBytes = max(p.mostBytes, p.flow)
	}
	if bytes > m.holds {
		p.lentBytes += bytes - m.holds
		m.holds = bytes
	}
}

func (p *pool[T]) usage() PoolStats {
	return PoolStats{Idle: p.idle, Lent: p.lent, Keys: len(p.shelves), IdleBytes: p.idleBytes, LentBytes: p.lentBytes}
}

// put takes a message back, or leaves it to the garbage collector.
func (p *pool[T]) put(m *message[T]) {
	p.lent--
	p.lentBytes -= m.holds
	p.flow -= m.bytes
	if m.bytes = 0; !m.made {
		m.holds = 0
	}
	for !p.room(m.holds) {
		if !p.evict(m.key) {
			return
		}
	}
	s := p.shelf(m.key)
	s.free = append(s.free, m)
	p.idle++
	p.idleBytes += m.holds
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
	if len(oldest.free) == 0 {
		p.forget(oldest)
	}
	return true
}

func (p *pool[T]) forget(s *shelf[T]) {
	delete(p.shelves, s.key)
	if p.last == s {
		p.last = nil
	}
}

// close drops all idle messages and those that will be put back.
func (p *pool[T]) close() {
	p.closed, p.last, p.idle, p.idleBytes = true, nil, 0, 0
	clear(p.shelves)
}

// trim drops the messages that no task needed since the last trim and reports
// whether any are left to trim.
func (p *pool[T]) trim() bool {
	for _, s := range p.shelves {
		p.discard(s, s.low)
		s.low = len(s.free)
		if len(s.free) == 0 {
			p.forget(s)
		}
	}
	return p.idle > 0
}

func (p *pool[T]) discard(s *shelf[T], n int) {
	for range n {
		last := len(s.free) - 1
		p.idleBytes -= s.free[last].holds
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
