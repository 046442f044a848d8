package buffer

import (
	"sync"
	"sync/atomic"
	"time"
)

// Config bounds what a Pool keeps. The zero value stands for the defaults.
type Config struct {
	// MaxIdle is the number of unused blocks that are kept, MaxIdleBytes their size
	// together; 8 and 64 MiB by default.
	MaxIdle      int
	MaxIdleBytes int64
	// IdleFor is how long an unused block is kept; 10 s by default.
	IdleFor time.Duration
}

func (c Config) orDefaults() Config {
	if c.MaxIdle <= 0 {
		c.MaxIdle = 8
	}
	if c.MaxIdleBytes <= 0 {
		c.MaxIdleBytes = 64 << 20
	}
	if c.IdleFor <= 0 {
		c.IdleFor = 10 * time.Second
	}
	return c
}

const (
	// window is the number of loans after which a pool forgets how large they were.
	window = 64
	// outlier is how many times larger than all recent loans a block must be to be
	// thrown away.
	outlier = 4
)

// Pool lends blocks of memory that are used again. Its methods may be called
// from any goroutine.
type Pool struct {
	config  Config
	misused atomic.Int64

	mu        sync.Mutex
	idle      []*block // guarded by mu: the longest unused first
	idleBytes int64    // guarded by mu
	stats     Stats    // guarded by mu
	closed    bool     // guarded by mu
	timer     *time.Timer
	armed     bool // guarded by mu: timer is going to run
	// peak and before are the largest sizes asked for in this window and the one
	// before, loans the number in this one; guarded by mu.
	peak, before, loans int
}

// Stats tells what a pool did and holds.
type Stats struct {
	// Outstanding buffers are lent and not given back.
	Outstanding int
	// Idle blocks wait for their next use, with IdleBytes together.
	Idle      int
	IdleBytes int64
	// Lent counts loans, Allocated those blocks and growths that took new memory,
	// Dropped the blocks that were given to the garbage collector.
	Lent, Allocated, Dropped int64
	// Misused counts uses of references that had been released before.
	Misused int64
}

// NewPool returns an empty pool.
func NewPool(config Config) *Pool { return &Pool{config: config.orDefaults()} }

// Get lends an empty buffer, whose block has room for size bytes if an unused one
// has: Reset then allocates nothing. Of several the smallest that suffices is
// taken. It always succeeds, after Close too.
func (p *Pool) Get(size int) Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(size)
	p.stats.Outstanding++
	p.stats.Lent++
	b := p.pick(size)
	if b == nil {
		b = &block{pool: p}
	}
	return Buffer{block: b, generation: b.lend()}
}

// note remembers the size of a loan; mu must be held.
func (p *Pool) note(size int) {
	if p.loans++; p.loans > window {
		p.before, p.peak, p.loans = p.peak, 0, 1
	}
	p.peak = max(p.peak, size)
}

// pick takes the smallest idle block that suffices, else the last used, so that it
// grows; mu must be held.
func (p *Pool) pick(size int) *block {
	best := -1
	for i, b := range p.idle {
		if cap(b.mem) >= size && (best < 0 || cap(b.mem) <= cap(p.idle[best].mem)) {
			best = i
		}
	}
	if best < 0 {
		best = len(p.idle) - 1
	}
	if best < 0 {
		return nil
	}
	return p.remove(best)
}

// remove takes an idle block out; mu must be held.
func (p *Pool) remove(i int) *block {
	b := p.idle[i]
	last := len(p.idle) - 1
	copy(p.idle[i:], p.idle[i+1:])
	p.idle[last] = nil
	p.idle = p.idle[:last]
	p.idleBytes -= int64(cap(b.mem))
	return b
}

// grown counts an allocation by a lent buffer.
func (p *Pool) grown(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Allocated++
	p.peak = max(p.peak, size)
}

// put takes a block back.
func (p *Pool) put(b *block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Outstanding--
	size := int64(cap(b.mem))
	if p.closed || size == 0 || size > p.config.MaxIdleBytes || size > outlier*int64(max(p.peak, p.before)) {
		p.stats.Dropped++
		return
	}
	for len(p.idle) >= p.config.MaxIdle || p.idleBytes+size > p.config.MaxIdleBytes {
		p.remove(0)
		p.stats.Dropped++
	}
	b.idleSince = time.Now()
	p.idle = append(p.idle, b)
	p.idleBytes += size
	p.arm(p.config.IdleFor)
}

// arm lets the timer run, unless it does; mu must be held.
func (p *Pool) arm(after time.Duration) {
	switch {
	case p.armed:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(after, p.trim)
	default:
		p.timer.Reset(after)
	}
	p.armed = true
}

// trim drops the blocks that were unused for too long.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	now := time.Now()
	for len(p.idle) > 0 {
		if left := p.config.IdleFor - now.Sub(p.idle[0].idleSince); left > 0 {
			p.arm(left)
			return
		}
		p.remove(0)
		p.stats.Dropped++
	}
}

// Stats returns the counts up to now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Idle, s.IdleBytes, s.Misused = len(p.idle), p.idleBytes, p.misused.Load()
	return s
}

// Close drops the unused blocks; those that are lent go when they are released. It
// returns the number of buffers that still are.
func (p *Pool) Close() (outstanding int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.stats.Dropped += int64(len(p.idle))
	p.idle, p.idleBytes, p.armed = nil, 0, false
	return p.stats.Outstanding
}
