package readback

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// Defaults of Config.
const (
	// DefaultSlots lets one capture be made, one be copied and one be read at a time.
	DefaultSlots = 3
	// DefaultTimeout is longer than a frame of a realtime run, shorter than a user's patience.
	DefaultTimeout = 5 * time.Second
	// NoTimeout lets the GPU take its time: no capture depends on the host's clock.
	NoTimeout time.Duration = math.MaxInt64
	// MaxSlots bounds the memory that a mistyped Config asks for.
	MaxSlots = 1024
)

// Config holds what a Pool is made with. MaxElements is required; the zero
// value of the others is usable.
type Config struct {
	// Label names the pool in errors, in OpenGL debug output and in leak
	// reports. (optional)
	Label string
	// Slots is how many captures may be in flight, ready or lent at a time
	// (law R4), 1 to MaxSlots. (optional; default DefaultSlots)
	Slots int
	// MaxElements is how many elements a slot holds, > 0; see Resize.
	MaxElements int
	// Timeout is how long the GPU may take to reach a fence, by the host's clock, which runs
	// while the program is stopped, too. Poll checks it. (optional; default DefaultTimeout)
	Timeout time.Duration
	// CopyMode is when copies are issued. (optional; default CopyAuto)
	CopyMode CopyMode
	// NoTimers leaves out the GPU timestamps of captures, where the driver has them.
	NoTimers bool
	// Tick returns the tick's time in simulation nanoseconds, the stamp of captures begun by
	// StartTick. It is called on the GL thread. (optional)
	Tick func() simtime.Stamp
	// Notify is called by Poll, on the GL thread and with no lock held, after captures became
	// ready: it wakes the goroutine that calls Process. It must neither wait nor call the pool.
	// (optional)
	Notify func()
	// OnError is given each *flow.PanicError of a completion, on the goroutine that
	// ran it. (optional; nil logs them)
	OnError func(error)
}

func (cfg *Config) complete() error {
	if cfg.Slots == 0 {
		cfg.Slots = DefaultSlots
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	switch {
	case cfg.Slots < 0 || cfg.Slots > MaxSlots:
		return fmt.Errorf("%w: %d slots, want 1 to %d", ErrConfig, cfg.Slots, MaxSlots)
	case cfg.Timeout < 0:
		return fmt.Errorf("%w: timeout %v is negative", ErrConfig, cfg.Timeout)
	case cfg.CopyMode > CopyAfterFence:
		return fmt.Errorf("%w: unknown %v", ErrConfig, cfg.CopyMode)
	}
	return nil
}

// Pool reads GPU buffers and textures back without waiting for the GPU. D is
// the caller's data of a capture, E the element that the bytes are made of.
//
// Begin, Target, Start, StartTick, Poll, Prepare and Holds are called on the GL thread. Process,
// ProcessThrough, Drain and Close are never called on it; the others from any goroutine. Nobody
// else may close the pool's GPU objects; close the pool before the gpu.Thread.
type Pool[D, E any] struct {
	cfg      Config
	complete func(*Capture[D, E], Lease[E], error)
	size     int // bytes of an element
	slots    []slot[D, E]
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
		limit               simtime.Stamp // greatest stamp that it may complete
		elements            int           // per slot
		changed             chan struct{} // closed at the next change; nil when nobody waits
		stats               Stats
	}

	stuck              atomic.Int32 // slots in stageStuck; written with gl held
	checking           bool         // lend copies and poison them
	errFull, errClosed error        // made once: a full pool is not a reason to allocate
}

// New makes a pool whose completion is called once for every capture, in the order of Start
// (laws R1, R2). It gets a lease that it releases or hands on, or an error and a lease of
// nothing. It runs on the goroutine that calls Process, Drain or Close.
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

// Pending returns how many captures were started whose completion hasn't
// returned yet.
func (p *Pool[D, E]) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.mu.tail - p.mu.finished)
}

// Drain waits until the completions of all captures that were started before the call have
// returned, or until ctx ends. It runs those that are due on its own goroutine. Another
// goroutine must continue to poll: without Poll, only ctx ends it (law R6). It returns nil or
// ctx's error, with the number still pending. A completion must not call it.
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

// Close completes all captures whose completion hasn't begun with ErrClosed, in order, on the
// caller's goroutine (law R6). It gives the GPU objects back; bytes that are lent stay valid
// until their leases are released. If a Process is under way on another goroutine, that one
// completes the rest, and Close waits for it. Closing again waits and returns nil.
//
// A completion must not call it. Nor may it be called while a function on the GL thread that
// called Start is still filling in the capture's Data.
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

// Prepare makes the staging buffers of all free slots and takes the
// measurement of CopyAuto, so that the first captures don't pay for it. It is
// optional. GL thread. Errors: ErrClosed, those of making GPU objects, one that
// wraps gpu.ErrContextLost.
func (p *Pool[D, E]) Prepare(c *gpu.Ctx) error {
	if err := c.Err(); err != nil {
		return err
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	elements, err := p.open()
	if err != nil {
		return fmt.Errorf("prepare %w", err)
	}
	p.decide(c)
	for i := range p.slots {
		if s := &p.slots[i]; s.stage == stageIdle && s.memory.free() {
			if err := s.prepare(c, p.cfg.Label, elements*p.size, p.gl.timers); err != nil {
				return fmt.Errorf("prepare readback %q, %d elements of %d bytes in each of %d slots: %w", p.cfg.Label, elements, p.size, len(p.slots), err)
			}
		}
	}
	return nil
}

// Begin reserves a slot for the next Start and marks where the capture's GPU
// work begins, so that Times.GPUBegin stands before the compute dispatch. It
// is optional, and answers ErrFull before any work is spent on a capture that
// would be lost. Begin again, without Start, marks a new beginning. GL thread.
// Errors: ErrFull, ErrClosed, those of making GPU objects.
func (p *Pool[D, E]) Begin(c *gpu.Ctx) error {
	if err := c.Err(); err != nil {
		return p.refuse(err)
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	p.gl.begun = false
	_, err := p.reserve(c)
	return err
}

// Target returns the memory of the next Start where commands can write it themselves
// (gpu.Info.HostMemory), and otherwise nil. What they write there needs no copy: Start is given
// this buffer, or a part of it that begins at a whole element. It has room for MaxElements, holds
// what an earlier capture left, and must not be written after Start. GL thread. Errors: those of
// Begin.
func (p *Pool[D, E]) Target(c *gpu.Ctx) (*gpu.Buffer, error) {
	if err := c.Err(); err != nil {
		return nil, p.refuse(err)
	}
	if !c.Info().HostMemory {
		return nil, nil
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	s, err := p.reserve(c)
	if err != nil {
		return nil, err
	}
	return s.memory.staging, nil
}

// StartTick is Start with the time of Config.Tick as the capture stamp; without it, it fails with
// ErrConfig. It is SVL Simulator's StartReadback(resource), whose pool takes the time itself, and
// is here for sensors that are carried over from there. Start is for callers that have the stamp at hand.
// GL thread.
func (p *Pool[D, E]) StartTick(c *gpu.Ctx, src Source) (*Capture[D, E], error) {
	if p.cfg.Tick == nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w: no stamp: set Config.Tick, or give one to Start", p.cfg.Label, ErrConfig))
	}
	return p.Start(c, src, p.cfg.Tick())
}

// Start asks for the bytes of src as the commands issued so far leave them. It returns at once
// with the capture, whose Data the caller fills in. stamp is the capture stamp in simulation
// nanoseconds, which travels with it (law R3). The GPU begins at the latest when the function on
// the GL thread returns; a long one calls Ctx.Flush. GL thread.
//
// An error means that no capture was made and no completion will be called. It is ErrFull,
// ErrClosed, ErrSource, ErrSize, one that wraps gpu.ErrContextLost, or one of making GPU
// objects. ErrSize says that the source is smaller than asked, not a whole number of elements,
// or more than the pool's MaxElements.
func (p *Pool[D, E]) Start(c *gpu.Ctx, src Source, stamp simtime.Stamp) (*Capture[D, E], error) {
	if err := c.Err(); err != nil {
		return nil, p.refuse(err)
	}
	bytes, err := src.bytes()
	if err == nil && bytes%p.size != 0 {
		err = fmt.Errorf("%w: %d bytes are no whole number of elements of %d bytes", ErrSize, bytes, p.size)
	}
	if err != nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	p.gl.Lock()
	defer p.gl.Unlock()
	s, err := p.slotFor(c, &src)
	p.gl.begun = false
	if err != nil {
		return nil, err
	}
	elements := bytes / p.size
	if room := s.memory.staging.Size() / p.size; elements > room {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w: %d elements, the pool's slots hold %d: Resize it",
			p.cfg.Label, ErrSize, elements, room))
	}
	s.source = src
	if err := p.issue(c, s); err != nil {
		s.stage, s.source = stageIdle, Source{}
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	return p.enqueue(c, s, elements, stamp)
}

// slotFor returns the slot of a capture: that of Target, where its memory is the source. p.gl must be
// held.
func (p *Pool[D, E]) slotFor(c *gpu.Ctx, src *Source) (*slot[D, E], error) {
	s := p.gl.reserved
	if s == nil || src.buffer == nil || src.buffer != s.memory.staging {
		s, err := p.reserve(c)
		if err == nil {
			s.inPlace, s.first = false, 0
		}
		return s, err
	}
	if _, err := p.open(); err != nil {
		return nil, p.refuse(err)
	}
	if src.offset%p.size != 0 {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w: byte %d of the target is within an element of %d bytes",
			p.cfg.Label, ErrSize, src.offset, p.size))
	}
	s.inPlace, s.first = true, src.offset/p.size
	return s, nil
}

// issue puts the capture's commands into the stream: the copy, if it goes
// before the fence, the end mark, and the fence.
func (p *Pool[D, E]) issue(c *gpu.Ctx, s *slot[D, E]) error {
	s.stage = stageSource
	switch {
	case s.inPlace:
		s.stage = stageCopy
	case p.gl.mode == CopyBeforeFence:
		s.stage = stageCopy
		if err := s.source.copyTo(c, s.memory.staging); err != nil {
			return err
		}
	}
	if s.timed {
		s.timed = c.Timestamp(s.end) == nil
	}
	err := s.mark(c, time.Now())
	s.spoiled = err != nil && s.stage == stageCopy
	return err
}

// enqueue hands the capture over to Poll and Process.
func (p *Pool[D, E]) enqueue(c *gpu.Ctx, s *slot[D, E], elements int, stamp simtime.Stamp) (*Capture[D, E], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		s.stage, s.source = stageIdle, Source{}
		p.mu.stats.Refused++
		return nil, p.errClosed
	}
	var zero D
	k := &s.capture
	k.Data, k.stamp, k.elements = zero, stamp, elements
	k.times = Times{Started: s.seen.Started}
	s.outcome, s.err = nil, nil
	s.memory.claim()
	if s.stage == stageSource {
		s.held = true
		c.Hold(s.source.object())
	} else {
		s.source = Source{}
	}
	p.mu.ring[p.mu.tail%uint64(len(p.mu.ring))] = s
	p.mu.tail++
	p.mu.stats.Started++
	p.gl.reserved = nil
	return k, nil
}

// open returns the elements that a slot holds, or ErrClosed.
func (p *Pool[D, E]) open() (elements int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return 0, p.errClosed
	}
	return p.mu.elements, nil
}

// reserve returns the slot of Begin or a free one, ready for commands and with
// its beginning marked. p.gl must be held.
func (p *Pool[D, E]) reserve(c *gpu.Ctx) (*slot[D, E], error) {
	elements, err := p.open()
	if err != nil {
		return nil, p.refuse(err)
	}
	p.decide(c)
	s := p.gl.reserved
	if s == nil {
		s = p.findFree()
	}
	if s == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.stats.Full++
		return nil, p.errFull
	}
	if err := s.prepare(c, p.cfg.Label, elements*p.size, p.gl.timers); err != nil {
		return nil, p.refuse(fmt.Errorf("start readback %q: %w", p.cfg.Label, err))
	}
	if !p.gl.begun {
		s.seen = Times{Started: time.Now()}
		s.timed = p.gl.timers && c.Timestamp(s.begin) == nil
		p.gl.begun = true
	}
	p.gl.reserved = s
	return s, nil
}

// findFree looks for a slot without a holder; it returns nil if all are held. Slots are taken
// in turn, so that memory that was just released rests longest.
func (p *Pool[D, E]) findFree() *slot[D, E] {
	for i := range p.slots {
		at := (p.gl.next + i) % len(p.slots)
		if s := &p.slots[at]; s.stage == stageIdle && s.memory.free() {
			p.gl.next = at + 1
			return s
		}
	}
	return nil
}

// decide settles the copy mode and the timers on the first call.
func (p *Pool[D, E]) decide(c *gpu.Ctx) {
	if p.gl.started {
		return
	}
	p.gl.started = true
	p.gl.timers = !p.cfg.NoTimers && c.Info().TimestampBits > 0
	p.gl.mode = p.cfg.CopyMode
	if p.gl.mode == CopyAuto {
		p.gl.mode = Probe(c).Mode
	}
}

// refuse counts a capture that wasn't made.
func (p *Pool[D, E]) refuse(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.stats.Refused++
	return err
}

// Holds reports whether a capture's copy from src is still to be issued, so that src must not
// be written. It is always false where copies go before the fence. GL thread.
func (p *Pool[D, E]) Holds(src gpu.Source) bool {
	p.gl.Lock()
	defer p.gl.Unlock()
	for i := range p.slots {
		if s := &p.slots[i]; s.held && s.source.object() == src {
			return true
		}
	}
	return false
}
