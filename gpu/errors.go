package gpu

import (
	"errors"
	"fmt"
)

// Errors of GPU work; callers test them with errors.Is.
var (
	// ErrContextLost: the driver reset or the device went away. Every later
	// call fails with it; objects and pending readbacks are lost.
	ErrContextLost = errors.New("opengl context lost")
	// ErrDeadCtx: a *Ctx was kept and used after its function returned.
	ErrDeadCtx = errors.New("gpu.Ctx used outside the function it was given to")
	// ErrClosed: the thread was closed before the work could run.
	ErrClosed = errors.New("gpu thread is closed")
	// ErrBusy: Thread.Go's queue is full.
	ErrBusy = errors.New("gpu thread's queue is full")
	// ErrOnThread: Thread.Do was called on the GL thread itself, where it would wait for ever.
	ErrOnThread = errors.New("gpu.Thread.Do called on the gl thread")
	// ErrGoexit: a function ended its goroutine with runtime.Goexit, as a test's
	// FailNow does; functions for the GL thread return errors instead.
	ErrGoexit = errors.New("function on the gl thread called runtime.Goexit")
	// ErrObjectClosed: a command names an object that was closed.
	ErrObjectClosed = errors.New("gpu object is closed")
	// ErrNotSupported: this machine or driver lacks what was asked for; see UnsupportedError.
	ErrNotSupported = errors.New("not supported here")
)

// UnsupportedError says what the machine lacks and how to get it. It is
// ErrNotSupported to errors.Is: the program exits with status 3 and live
// tests skip on it.
type UnsupportedError struct {
	Feature string // what is missing: "OpenGL 4.5 core"
	Need    string // what to install or change
	Err     error  // (optional) the cause
}

func (e *UnsupportedError) Error() string {
	s := fmt.Sprintf("no %s: %s", e.Feature, e.Need)
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Is makes every UnsupportedError an ErrNotSupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrNotSupported }

// Unwrap returns the cause.
func (e *UnsupportedError) Unwrap() error { return e.Err }
