package buffer

import (
	"slices"
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

// Release gives the reference up and makes b zero. Releasing a zero Buffer does
// nothing, so the same variable may be released twice. A copy of a variable that
// was released already is recognised, as long as nobody else still holds the block:
// it changes nothing and is counted as Stats.Misused.
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
