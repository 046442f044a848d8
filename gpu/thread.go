package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
)

// Context is an OpenGL context that is current on the calling thread, with the
// driver on it.
type Context struct {
	Driver Driver
	// Close ends the context; called once, on the GL thread, after all objects are deleted.
	Close func() error
}

// Opener makes a context current on the thread it is called on. A machine
// without a usable OpenGL gets an UnsupportedError.
type Opener func() (*Context, error)

// Config holds what a Thread can be told at its start; the zero value is usable.
type Config struct {
	// Queue is how many functions of Go may wait at a time; 0 means 64. That is more than a
	// frame loop has under way, and few enough that ErrBusy is noticed.
	Queue int
	// OnError is given the errors of functions queued by Go, in order, on a
	// goroutine of its own (law G4). It must not wait for the Thread. Where the
	// GL thread produces them faster than OnError takes them, the rest are
	// counted in one error. (optional; nil logs them)
	OnError func(error)
	// Memory is asked before a buffer or a texture is made, and told when it is closed.
	// (optional; nil for no limit)
	Memory Memory
	// Log is told of each program that takes over a second to compile. The line depends on this
	// machine's speed. (optional; nil tells nobody)
	Log *slog.Logger
}

// Memory is a budget of bytes; *memory.Budget is one. Any goroutine may call it.
type Memory interface {
	// Take takes bytes for what is named, or returns an error and takes none.
	Take(what string, bytes int64) error
	// Give gives back bytes that were taken.
	Give(bytes int64)
}

// Thread owns the GL thread (law G1). It is one goroutine, locked to one OS thread, that runs
// the functions given to Do and Go in the order of their calls. All methods may be called from
// any goroutine.
type Thread struct {
	info Info
	tid  int // of the OS thread; 0 where it can't be told
	lost chan struct{}
	done chan struct{} // closed when the goroutine has ended
	gl   *current      // owned by the GL goroutine
	objs *registry
	errs *reporter
	end  error // of closing the context; written before done is closed

	room int // Config.Queue

	mu      sync.Mutex
	arrived sync.Cond
	queue   flow.Ring[work] // guarded by mu
	goes    int             // items of Go in queue; guarded by mu
	closing bool            // guarded by mu
	found   []error         // debug errors not yet asked for; guarded by mu
}

// maxDebugErrors bounds the debug errors kept for DebugErrors: the first ones
// name the cause, thousands more of a draw loop don't.
const maxDebugErrors = 64

// Start opens a context on a new GL thread, with the zero Config.
func Start(open Opener) (*Thread, error) { return Config{}.Start(open) }

// Start opens a context on a new GL thread and returns when it is ready. The
// error is the opener's, a *flow.PanicError if that panicked, or wraps ErrGoexit.
func (cfg Config) Start(open Opener) (*Thread, error) {
	if cfg.Queue <= 0 {
		cfg.Queue = 64
	}
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { slog.Error("gpu: work on the gl thread", "err", err) }
	}
	objs := newRegistry(cfg.Memory)
	t := &Thread{
		lost: make(chan struct{}), done: make(chan struct{}),
		objs: objs, gl: &current{objs: objs, log: cfg.Log}, room: cfg.Queue,
	}
	t.arrived.L = &t.mu
	opened := make(chan error, 1)
	go t.main(open, opened)
	err, answered := <-opened
	if !answered {
		err = fmt.Errorf("open opengl context: %w", ErrGoexit)
	}
	if err != nil {
		<-t.done
		return nil, err
	}
	t.errs = startReporter(cfg.OnError)
	return t, nil
}

// main is the GL goroutine. It never unlocks its OS thread, so the runtime
// ends that thread with it and no driver state of it is left for others.
func (t *Thread) main(open Opener, opened chan<- error) {
	defer close(t.done)
	defer close(opened) // without an answer if the opener ends the goroutine
	runtime.LockOSThread()
	t.tid = threadID()
	glctx, err := callOpener(open)
	if err != nil {
		opened <- err
		return
	}
	t.gl.driver = glctx.Driver
	t.info = glctx.Driver.Info()
	t.gl.limits = t.info.Limits
	opened <- nil
	// Deferred, so that it also runs below a Goexit that serve survived.
	defer func() {
		t.objs.deleteAll(glctx.Driver)
		t.end = ErrGoexit // unless the context's end returns
		t.end = callClose(glctx.Close)
	}()
	t.serve()
}

// callOpener turns a panic of open into an error.
func callOpener(open Opener) (glctx *Context, err error) {
	defer flow.Recover(&err)
	glctx, err = open()
	if err == nil && (glctx == nil || glctx.Driver == nil) {
		err = errors.New("open opengl context: the opener returned none")
	}
	return glctx, err
}

// callClose ends the context, if there is something to do, and turns a panic into an error.
func callClose(end func() error) (err error) {
	if end == nil {
		return nil
	}
	defer flow.Recover(&err)
	return end()
}

// serve runs functions until the thread is closed and none is left. A function that ends the
// goroutine with runtime.Goexit (a test's FailNow) must not take the context with it. Goexit
// cannot be stopped, but the deferred call continues to serve on this same OS thread.
func (t *Thread) serve() {
	ended := false
	defer func() {
		if !ended {
			t.serve()
		}
	}()
	for {
		w, ok := t.next()
		if !ok {
			break
		}
		t.run(w)
	}
	ended = true
}

// next waits for work; ok is false when the thread is closed and none is left.
func (t *Thread) next() (w work, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.queue.Len() == 0 {
		if t.closing {
			return work{}, false
		}
		t.arrived.Wait()
	}
	w = t.queue.Pop()
	if w.call == nil {
		t.goes--
	}
	return w, true
}

// run is one entry: delete what was closed, ask once whether the context is
// still there, then call the function. Its Ctx is dead when run returns.
func (t *Thread) run(w work) {
	if w.call != nil && !w.call.state.CompareAndSwap(callQueued, callRunning) {
		return
	}
	c := t.gl.newCtx()
	// The error is cleared only by a normal return: neither a panic nor a
	// Goexit can look like success.
	err := ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = flow.Panicked(v)
		}
		c.dead.Store(true)
		t.deliver(w, t.leave(err))
	}()
	t.enter()
	err = w.f(c)
}

func (t *Thread) enter() {
	t.objs.sweep(t.gl.driver)
	if t.gl.lost != nil {
		return
	}
	if err := t.gl.driver.Reset(); err != nil {
		t.lose(err)
	}
}

// lose makes err the answer of every later call.
func (t *Thread) lose(err error) {
	if !errors.Is(err, ErrContextLost) {
		err = fmt.Errorf("%w: %w", ErrContextLost, err)
	}
	t.gl.lost = err
	close(t.lost)
}

// leave starts what a function has put a fence behind, and adds to its error what its Ctx could not
// say. These are errors that the driver reported meanwhile (law G5), and that the context is lost.
func (t *Thread) leave(err error) error {
	if t.gl.fenced && t.gl.lost == nil {
		if failed := t.gl.submit(); failed != nil {
			err = errors.Join(err, fmt.Errorf("start the function's commands: %w", failed))
		}
	}
	if found := t.gl.driver.DebugErrors(); len(found) > 0 && t.gl.lost == nil {
		t.mu.Lock()
		t.found = append(t.found, found[:min(len(found), maxDebugErrors-len(t.found))]...)
		t.mu.Unlock()
		err = errors.Join(append([]error{err}, found...)...)
		// Without reset notification a failing command is what tells of a loss.
		if errors.Is(err, ErrContextLost) {
			t.lose(err)
		}
	}
	if t.gl.lost != nil && !errors.Is(err, ErrContextLost) {
		err = errors.Join(t.gl.lost, err)
	}
	return err
}

func (t *Thread) deliver(w work, err error) {
	if w.call != nil {
		w.call.done <- err
		return
	}
	if err == nil {
		return
	}
	if errors.Is(err, ErrContextLost) {
		if t.gl.lossTold {
			return // one report says it; Lost tells the owner
		}
		t.gl.lossTold = true
	}
	t.errs.report(err)
}

// Do runs f on the GL thread and waits for it or for ctx. The frame loop must
// not use it: it is for set-up, tests and shutdown.
//
// It returns f's error, a *flow.PanicError if f panicked, or ErrGoexit if f ended the goroutine. It
// returns ErrOnThread on the GL thread itself, ErrClosed after Close, and an error that wraps
// ErrContextLost once the context is lost. When ctx ends first, Do returns ctx's error at once.
// f is skipped if it has not begun. If it has, it runs to its end, and what it captured belongs
// to it.
func (t *Thread) Do(ctx context.Context, f func(*Ctx) error) error {
	if t.onThread() {
		return ErrOnThread
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run on the gl thread: %w", err)
	}
	call := &call{done: make(chan error, 1)}
	if err := t.push(work{f: f, call: call}); err != nil {
		return err
	}
	select {
	case err := <-call.done:
		return err
	case <-ctx.Done():
		call.state.CompareAndSwap(callQueued, callCancelled)
		select {
		case err := <-call.done:
			return err
		default:
			return fmt.Errorf("wait for the gl thread: %w", ctx.Err())
		}
	}
}

// Go queues f and returns at once; ErrBusy when the queue is full, ErrClosed after Close. An
// error of f is handed to Config.OnError. After a loss of the context f still runs, so that
// callers who wait for its work learn of it. Every call of its Ctx fails with ErrContextLost.
func (t *Thread) Go(f func(*Ctx) error) error { return t.push(work{f: f}) }

func (t *Thread) push(w work) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return ErrClosed
	}
	if w.call == nil {
		if t.goes >= t.room {
			return ErrBusy
		}
		t.goes++
	}
	t.queue.Push(w)
	t.arrived.Signal()
	return nil
}

func (t *Thread) onThread() bool { return t.tid != 0 && threadID() == t.tid }

// Info returns the context's description.
func (t *Thread) Info() Info { return t.info }

// Lost is closed when the context is found to be lost; the owner ends its run then.
func (t *Thread) Lost() <-chan struct{} { return t.lost }

// Err returns why the context is lost, an error that wraps ErrContextLost, and nil while it isn't.
func (t *Thread) Err() error {
	select {
	case <-t.lost:
		return t.gl.lost // which nobody writes any more
	default:
		return nil
	}
}

// Memory returns Config.Memory, nil for no limit. Callers may take what else goes with a thread's objects from it, too.
func (t *Thread) Memory() Memory { return t.objs.memory }

// MemoryBytes returns what the buffers and textures in use take. Any goroutine may ask.
func (t *Thread) MemoryBytes() int64 { return t.objs.bytes() }

// Live names the objects that were made and not closed, kind and label, sorted:
// what a leak check prints.
func (t *Thread) Live() []string { return t.objs.names() }

// DebugErrors returns and clears the errors that the driver's debug output
// reported while functions ran, at most 64 (law G5). The function that caused
// one also failed with it.
func (t *Thread) DebugErrors() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.found
	t.found = nil
	return found
}

// Close runs what is queued, deletes all objects, ends the context and waits
// for the goroutine and for OnError. Later calls wait and return the same
// error; on the GL thread it is ErrOnThread.
func (t *Thread) Close() error {
	if t.onThread() {
		return ErrOnThread
	}
	t.mu.Lock()
	t.closing = true
	t.arrived.Signal()
	t.mu.Unlock()
	<-t.done
	t.errs.stop()
	return t.end
}

// States of a call.
const (
	callQueued int32 = iota
	callRunning
	callCancelled
)

// call is one Do that waits. Its done channel belongs to it alone and has room
// for the answer, so the GL thread never waits for the caller.
type call struct {
	state atomic.Int32
	done  chan error
}

// work is one function for the GL thread; call is nil for Go's.
type work struct {
	f    func(*Ctx) error
	call *call
}

// reporter hands errors to a callback on a goroutine of its own, so that the
// callback can't hold up the GL thread (law G4).
type reporter struct {
	errs chan error
	done chan struct{}
	once sync.Once

	mu   sync.Mutex
	lost int // errors that found errs full; guarded by mu
}

// reportBacklog is how many errors may wait for a slow callback before the
// rest are only counted.
const reportBacklog = 64

func startReporter(f func(error)) *reporter {
	r := &reporter{errs: make(chan error, reportBacklog), done: make(chan struct{})}
	go r.run(f)
	return r
}

// run hands errors on until stop. Another goroutine takes over where f ends this one.
func (r *reporter) run(f func(error)) {
	ended := false
	defer func() {
		if ended {
			close(r.done)
		} else {
			go r.run(f)
		}
	}()
	for err := range r.errs {
		f(err)
		if n := r.takeLost(); n > 0 {
			f(fmt.Errorf("%d more errors of the gl thread were not reported", n))
		}
	}
	ended = true
}

// report never waits.
func (r *reporter) report(err error) {
	select {
	case r.errs <- err:
	default:
		r.mu.Lock()
		r.lost++
		r.mu.Unlock()
	}
}

func (r *reporter) takeLost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.lost
	r.lost = 0
	return n
}

// stop ends the goroutine after it has handed over what is queued; report must
// not be called any more.
func (r *reporter) stop() {
	r.once.Do(func() { close(r.errs) })
	<-r.done
}
