package flow

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Buffer is one reference to a block of bytes: a smart pointer, to be passed by
// value and released once by each holder. The zero Buffer refers to no block; Reset
// gives it one, which the garbage collector frees. Buffers of a Pool give theirs
// back when their last reference is released.
//
// A block is written by its only holder. Once it is shared it is immutable, and
// any goroutine may read it. The methods of one Buffer variable are for one
// goroutine at a time.
type Buffer struct {
	block      *block
	generation uint32
	size       int
}

// block is memory with its count of references.
type block struct {
	pool *Pool // nil for a block of no pool
	mem  []byte
	// state is the generation in the upper 32 bits, the references in the lower. The
	// generation rises each time the block is lent, so that a reference of an
	// earlier loan is told from one of this.
	state atomic.Uint64
	// idleSince is when the block came back; guarded by pool.mu.
	idleSince time.Time
}

// lend starts a new generation with one reference.
func (b *block) lend() (generation uint32) {
	generation = uint32(b.state.Load()>>32) + 1
	b.state.Store(uint64(generation)<<32 | 1)
	return generation
}

// take changes the number of references by delta, for a holder of the generation.
// It reports the number left, and false if that holder has none.
func (b *block) take(generation uint32, delta int) (left uint32, ok bool) {
	for {
		old := b.state.Load()
		if uint32(old>>32) != generation || uint32(old) == 0 {
			return 0, false
		}
		left = uint32(int64(uint32(old)) + int64(delta))
		if b.state.CompareAndSwap(old, old&^0xffffffff|uint64(left)) {
			return left, true
		}
	}
}

// Reset makes the buffer size bytes long, of undefined content. Memory is allocated
// only when the block is too small, and is then exactly as large as asked for; the
// old content is gone. A shared block is left to its other holders.
func (b *Buffer) Reset(size int) {
	if b.block != nil && !b.exclusive() {
		pool := b.block.pool
		if b.Release(); pool != nil {
			*b = pool.Get(size)
		}
	}
	if b.block == nil {
		b.block = &block{}
		b.generation = b.block.lend()
	}
	if b.size = size; cap(b.block.mem) >= size {
		return
	}
	b.block.mem = make([]byte, size)
	if b.block.pool != nil {
		b.block.pool.grown(size)
	}
}

// exclusive reports whether this is the block's only reference.
func (b *Buffer) exclusive() bool {
	return b.block.state.Load() == uint64(b.generation)<<32|1
}

// Adopt makes mem, which an append to Bytes()[:n] may have moved to new memory, the
// buffer's content; mem is the buffer's from then on. The buffer must not be shared.
func (b *Buffer) Adopt(mem []byte) {
	if b.block == nil || !b.exclusive() {
		b.Reset(0)
	}
	moved := cap(mem) > cap(b.block.mem)
	b.block.mem, b.size = mem[:len(mem):cap(mem)], len(mem)
	if moved && b.block.pool != nil {
		b.block.pool.grown(cap(mem))
	}
}

// Bytes returns the content: Len bytes with room for Cap. It is valid until the
// reference is released.
func (b *Buffer) Bytes() []byte {
	if b.block == nil {
		return nil
	}
	return b.block.mem[:b.size]
}

// Len returns the number of bytes.
func (b *Buffer) Len() int { return b.size }

// Cap returns the size of the block.
func (b *Buffer) Cap() int {
	if b.block == nil {
		return 0
	}
	return cap(b.block.mem)
}

// IsZero reports whether the buffer refers to no block.
func (b *Buffer) IsZero() bool { return b.block == nil }

// Share returns another reference to the block, which its holder releases. A
// buffer that was released has none to share: the result is zero.
func (b *Buffer) Share() Buffer {
	if b.block == nil {
		return Buffer{}
	}
	if _, ok := b.block.take(b.generation, 1); !ok {
		b.block.misused()
		return Buffer{}
	}
	return *b
}

// Clone returns a buffer of no pool with a copy of the content.
func (b *Buffer) Clone() Buffer {
	var c Buffer
	c.Adopt(slices.Clone(b.Bytes()))
	return c
}

// Release gives the reference up and makes b zero. Releasing a zero Buffer does nothing, so the
// same variable may be released twice. A copy of a variable that was released already is
// recognised, as long as another holder still has the block. It changes nothing and is counted
// as Stats.Misused.
func (b *Buffer) Release() {
	block, generation := b.block, b.generation
	*b = Buffer{}
	if block == nil {
		return
	}
	left, ok := block.take(generation, -1)
	switch {
	case !ok:
		block.misused()
	case left == 0 && block.pool != nil:
		if checking {
			block.poison()
		}
		block.pool.put(block)
	}
}

// poison is what the bytes of a released block are overwritten with in checking builds.
const poison = 0xDB

func (b *block) poison() {
	for i := range b.mem {
		b.mem[i] = poison
	}
}

func (b *block) misused() {
	if b.pool != nil {
		b.pool.misused.Add(1)
	}
}

// PoolConfig bounds what a Pool keeps. The zero value stands for the defaults.
type PoolConfig struct {
	// MaxIdle is the number of unused blocks that are kept, MaxIdleBytes their size
	// together; 8 and 64 MiB by default.
	MaxIdle      int
	MaxIdleBytes int64
	// IdleFor is how long an unused block is kept; 10 s by default.
	IdleFor time.Duration
}

func (c PoolConfig) orDefaults() PoolConfig {
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
	// poolWindow is the number of loans after which a pool forgets how large they were.
	poolWindow = 64
	// poolOutlier is how many times larger than all recent loans a block must be to be
	// thrown away.
	poolOutlier = 4
)

// Pool lends blocks of memory that are used again. Its methods may be called
// from any goroutine.
type Pool struct {
	config  PoolConfig
	misused atomic.Int64

	mu        sync.Mutex
	idle      []*block  // guarded by mu: the longest unused first
	idleBytes int64     // guarded by mu
	stats     PoolStats // guarded by mu
	closed    bool      // guarded by mu
	timer     *time.Timer
	armed     bool // guarded by mu: timer is going to run
	// peak and before are the largest sizes asked for in this window and the one
	// before, loans the number in this one; guarded by mu.
	peak, before, loans int
}

// PoolStats tells what a pool did and holds.
type PoolStats struct {
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
func NewPool(config PoolConfig) *Pool { return &Pool{config: config.orDefaults()} }

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
	if p.loans++; p.loans > poolWindow {
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
	if p.closed || size == 0 || size > p.config.MaxIdleBytes || size > poolOutlier*int64(max(p.peak, p.before)) {
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
func (p *Pool) Stats() PoolStats {
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
