package readback

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
)

// poison is what the bytes of a lease are overwritten with after its release in checking
// builds. In most types it is a negative number with a huge magnitude.
const poison = 0xDB

// maxHolders is how many leases of one capture can be out at a time.
const maxHolders = 31

// A memory's word has its holders in the lower half, a bit each. They are the pool's own, from
// Start until the completion has returned, and the leases'. Above them are the loan's number
// and, in the top bit, whether the pool has given the memory up.
const (
	poolHold    = 1 << maxHolders
	numberAt    = 32
	numberBits  = 1<<31 - 1
	givenUp     = 1 << 63
	holdersBits = 1<<numberAt - 1
)

// memory is the lendable part of a slot: its bytes and who holds them.
type memory[E any] struct {
	// word decides all that happens to the memory. It is free when no holder's bit
	// is set; a lease with another number is stale. The one whose swap leaves a word
	// that is given up and has no holders ends the staging buffer, and nobody else.
	word atomic.Uint64

	// staging is written by the GL thread while the memory is free, data and
	// lent by Process while only the pool holds it.
	staging *gpu.Buffer // nil until first used
	data    []E
	lent    bool // checking builds: data is a copy that dies with the last lease
}

// numberOf returns the loan's number in a word.
func numberOf(word uint64) uint32 { return uint32(word>>numberAt) & numberBits }

// free reports whether nobody holds the memory.
func (m *memory[E]) free() bool { return m.word.Load()&holdersBits == 0 }

// number returns the loan's number. The pool or a lease must hold the memory.
func (m *memory[E]) number() uint32 { return numberOf(m.word.Load()) }

// claim gives free memory that isn't given up to the pool, under a new number. GL
// thread only.
func (m *memory[E]) claim() {
	number := (numberOf(m.word.Load()) + 1) & numberBits
	m.word.Store(uint64(number)<<numberAt | poolHold)
}

// lend makes a lease of the memory. The pool or another lease must hold it.
func (m *memory[E]) lend(number uint32) (Lease[E], bool) {
	for {
		w := m.word.Load()
		holders := uint32(w)
		free := ^holders &^ poolHold
		if numberOf(w) != number || holders == 0 || free == 0 {
			return Lease[E]{}, false
		}
		bit := uint8(bits.TrailingZeros32(free))
		if m.word.CompareAndSwap(w, w|1<<bit) {
			return Lease[E]{memory: m, number: number, bit: bit}, true
		}
	}
}

// holdStep is a place in drop or giveUp, between what others may see of them.
// Checking builds let tests stop there.
type holdStep uint8

const (
	dropLoaded   holdStep = iota // the word was read
	dropRead                     // what the holder knows was read
	dropSwapped                  // the hold is over
	dropPoisoned                 // the lent copy is poison
	dropSteps
	giveUpLoaded // the word was read
)

// drop ends one hold and reports whether there was one.
func (m *memory[E]) drop(number uint32, bit uint8) bool {
	for {
		w := m.word.Load()
		reach(dropLoaded)
		if numberOf(w) != number || w&(1<<bit) == 0 {
			return false
		}
		// What is read here belongs to the holder only until the swap.
		data, lent := m.data, m.lent
		left := w &^ (1 << bit)
		reach(dropRead)
		if !m.word.CompareAndSwap(w, left) {
			continue
		}
		reach(dropSwapped)
		if lent && uint32(left)&^poolHold == 0 && bit != maxHolders {
			fillPoison(data)
		}
		reach(dropPoisoned)
		m.endUnheld(left)
		return true
	}
}

// giveUp ends the staging buffer, now or when the last hold of it ends. The pool must
// be closed: the memory isn't claimed any more.
func (m *memory[E]) giveUp() {
	for {
		w := m.word.Load()
		reach(giveUpLoaded)
		if m.word.CompareAndSwap(w, w|givenUp) {
			m.endUnheld(w | givenUp)
			return
		}
	}
}

// endUnheld ends the staging buffer if the word, which the caller has just stored,
// says that nobody needs it any more.
func (m *memory[E]) endUnheld(word uint64) {
	if word&givenUp != 0 && word&holdersBits == 0 {
		m.staging.Close()
	}
}

// Lease lends the bytes of one capture (law R5). The zero Lease lends nothing. A Lease is a
// small value that may be copied, but each lease is one loan: its last holder releases it once.
// Its methods may be called from any goroutine; Slice's result must not be used after Release.
type Lease[E any] struct {
	memory *memory[E]
	number uint32
	bit    uint8
}

// Slice returns the capture's elements without copying, nil after Release and
// after the gpu.Thread's end, which takes the mapped memory with it. It is memory
// that the driver mapped for reading: writing to it is undefined.
func (l Lease[E]) Slice() []E {
	if !l.held() || l.memory.staging.Bytes() == nil {
		return nil
	}
	return l.memory.data
}

func (l Lease[E]) held() bool {
	if l.memory == nil {
		return false
	}
	w := l.memory.word.Load()
	return numberOf(w) == l.number && w&(1<<l.bit) != 0
}

// AppendTo appends a copy of the elements to dst: the form that is safe to
// keep. It doesn't release the lease.
func (l Lease[E]) AppendTo(dst []E) []E { return append(dst, l.Slice()...) }

// Retain makes another lease of the same bytes, released on its own, for
// handing them to several holders. It is false when l was released already, or
// when 31 leases of the capture are out.
func (l Lease[E]) Retain() (Lease[E], bool) {
	if !l.held() {
		return Lease[E]{}, false
	}
	return l.memory.lend(l.number)
}

// Release ends the lease; the slot is free for a new capture when all of its
// leases are. Releasing again does nothing.
func (l Lease[E]) Release() {
	if l.memory != nil {
		l.memory.drop(l.number, l.bit)
	}
}

// view makes the elements of mapped bytes. CheckElement has made sure that
// every pattern of bytes is a value of E.
func view[E any](b []byte) []E {
	var e E
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(e)))
}

func fillPoison[E any](data []E) {
	b := gpu.BytesOf(data)
	for i := range b {
		b[i] = poison
	}
}
