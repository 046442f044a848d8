package readback

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Pool reads GPU buffers and textures back without waiting for the GPU. D is
// the caller's data of a capture, E the element that the bytes are made of.
//
// Begin, Start, StartTick, Poll, Prepare and Holds are called on the GL thread;
// Process, ProcessThrough, Drain and Close never on it; the others from any
// goroutine. Nobody else may close the pool's GPU objects; close the pool
// before the gpu.Thread.
type Pool[D, E any] struct {
	cfg      Config
	complete func(*Capture[D, E], Lease[E], error)
	size     int // bytes of an element
	slots    []slot[D, E]
	ready    chan struct{} // has room for one
	closed   atomic.Bool   // set under mu
	done     chan struct{} // closed when the pool is closed and its last completion has returned

	// gl is held by whatever touches the slots' GPU objects: the GL thread's
	// calls, and Close at its end. It is taken before mu, never after it.
	gl struct {
		sync.Mutex
		mode     CopyMode // CopyAuto until the first capture
		timers   bool
		started  bool // mode and timers are known
		clock    gpuClock
		reserved *slot[D, E] // by Begin or a failed Start, for the next Start
		begun    bool        // reserved has its beginning marked
		next     int         // slot at which the search for a free one begins
		copied   uint64      // captures before it have their copy issued, or failed
	}

	// mu is held for a few instructions at a time, never over a GL call or a
	// completion. ring holds the captures [head, tail) in the order of Start:
	// [head, pending) are ready for Process, [pending, tail) in flight.
	mu struct {
		sync.Mutex
		ring                []*slot[D, E]
		head, pending, tail uint64
		finished            uint64        // completions that have returned
		running             bool          // a Process is under way
		limit               int64         // greatest stamp that it may complete
		elements            int           // per slot
		changed             chan struct{} // closed at the next change; nil when nobody waits
		stats               Stats
	}

	stuck              atomic.Int32 // slots in stageStuck; written with gl held
	checking           bool         // lend copies and poison them
	errFull, errClosed error        // made once: a full pool is no reason to allocate
}

// New makes a pool whose completion is called once for every capture, in the
// order of Start (laws R1, R2): with a lease that the completion releases or
// hands on, or with an error and a lease of nothing. It runs on the goroutine
// that calls Process, Drain or Close.
//
// GPU objects are made when first needed. Errors: ErrConfig, ErrSize for
// MaxElements, ErrElement (an *ElementError) for E.
func New[D, E any](cfg Config, completion func(*Capture[D, E], Lease[E], error)) (*Pool[D, E], error) {
	err := CheckElement[E]()
	if err == nil && completion == nil {
		err = fmt.Errorf("%w: the completion is nil", ErrConfig)
	}
	if err == nil {
		err = cfg.complete()
	}
	var e E
	p := &Pool[D, E]{cfg: cfg, complete: completion, size: int(unsafe.Sizeof(e)), checking: checking}
	if err == nil {
		err = p.checkElements(cfg.MaxElements)
	}
	if err != nil {
		return nil, fmt.Errorf("make readback pool %q: %w", cfg.Label, err)
	}
	p.slots = make([]slot[D, E], cfg.Slots)
	p.ready = make(chan struct{}, 1)
	p.done = make(chan struct{})
	p.mu.ring = make([]*slot[D, E], cfg.Slots)
	p.mu.elements = cfg.MaxElements
	p.errFull = fmt.Errorf("readback %q: %w", cfg.Label, ErrFull)
	p.errClosed = fmt.Errorf("readback %q: %w", cfg.Label, ErrClosed)
	if p.cfg.OnError == nil {
		p.cfg.OnError = func(err error) { slog.Error("readback: completion", "pool", cfg.Label, "err", err) }
	}
	return p, nil
}

func (p *Pool[D, E]) checkElements(n int) error {
	if n <= 0 || n > math.MaxInt/p.size {
		return fmt.Errorf("%w: %d elements of %d bytes", ErrSize, n, p.size)
	}
	return nil
}

// Resize changes how many elements a slot holds, for later captures; those in
// flight complete with their own size. The same size again changes nothing.
// Errors: ErrSize, ErrClosed.
func (p *Pool[D, E]) Resize(maxElements int) error {
	if err := p.checkElements(maxElements); err != nil {
		return fmt.Errorf("resize readback pool %q: %w", p.cfg.Label, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return p.errClosed
	}
	p.mu.elements = maxElements
	return nil
}

// MaxElements returns how many elements a slot holds.
func (p *Pool[D, E]) MaxElements() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.elements
}

// CopyMode returns when copies are issued: Config.CopyMode, or what Probe found
// once the first capture was begun.
func (p *Pool[D, E]) CopyMode() CopyMode {
	p.gl.Lock()
	defer p.gl.Unlock()
	if !p.gl.started {
		return p.cfg.CopyMode
	}
	return p.gl.mode
}

// Label returns the pool's name.
func (p *Pool[D, E]) Label() string { return p.cfg.Label }

// Pending returns how many captures were started whose completion hasn't
// returned yet.
func (p *Pool[D, E]) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.mu.tail - p.mu.finished)
}

// Ready receives a value after Poll has made captures ready, for a goroutine
// that calls Process. It holds one value however many became ready: call
// Process, then wait again. It is never closed; see Closed.
func (p *Pool[D, E]) Ready() <-chan struct{} { return p.ready }

// Closed is closed when Close was called and the last completion has returned.
func (p *Pool[D, E]) Closed() <-chan struct{} { return p.done }

// Drain waits until the completions of all captures that were started before
// the call have returned, or for ctx, and runs those that are due on its own
// goroutine. Somebody else must go on polling: without Poll, only ctx ends it
// (law R6). It returns nil or ctx's error, with the number still pending. A
// completion must not call it.
func (p *Pool[D, E]) Drain(ctx context.Context) error {
	p.mu.Lock()
	target := p.mu.tail
	p.mu.Unlock()
	for {
		p.Process()
		p.mu.Lock()
		if p.mu.finished >= target {
			p.mu.Unlock()
			return nil
		}
		if !p.mu.running && p.mu.head < p.mu.pending {
			p.mu.Unlock()
			continue // became ready since
		}
		if p.mu.changed == nil {
			p.mu.changed = make(chan struct{})
		}
		changed, left := p.mu.changed, target-p.mu.finished
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("drain readback pool %q with %d captures left: %w", p.cfg.Label, left, ctx.Err())
		}
	}
}

// changedLocked wakes Drain. p.mu must be held.
func (p *Pool[D, E]) changedLocked() {
	if p.mu.changed != nil {
		close(p.mu.changed)
		p.mu.changed = nil
	}
}

// Close completes all captures whose completion hasn't begun with ErrClosed,
// in order, on the caller's goroutine (law R6), and gives the GPU objects back;
// bytes that are lent stay valid until their leases are released. If a Process
// is under way on another goroutine, that one completes the rest, and Close
// waits for it. Closing again waits and returns nil.
//
// It must not be called by a completion, nor while a function on the GL thread
// that called Start is still filling in the capture's Data.
func (p *Pool[D, E]) Close() error {
	p.mu.Lock()
	first := !p.closed.Load()
	if first {
		p.closed.Store(true)
		p.changedLocked()
	}
	p.mu.Unlock()
	if first {
		// Deferred, so that it also runs if a completion ends this goroutine.
		defer p.release()
	}
	p.Process()
	<-p.done
	return nil
}

// release gives the GPU objects back; no capture is in flight any more.
func (p *Pool[D, E]) release() {
	p.gl.Lock()
	defer p.gl.Unlock()
	for i := range p.slots {
		p.slots[i].release()
	}
}
