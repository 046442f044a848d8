package gpu

import "context"

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

// Thread owns the GL thread (law G1): one goroutine, locked to one OS thread.
type Thread struct {
	grave graveyard
}

// Start opens a context on a new GL thread.
func Start(open Opener) (*Thread, error) { panic("not yet") }

// Do runs f on the GL thread and waits for it or for ctx. The frame loop must
// not use it: it is for set-up, tests and shutdown.
func (t *Thread) Do(ctx context.Context, f func(*Ctx) error) error { panic("not yet") }

// Go queues f and returns at once; ErrBusy when the queue is full, ErrClosed
// after Close. An error of f is handed to the thread's OnError.
func (t *Thread) Go(f func(*Ctx) error) error { panic("not yet") }

// Info returns the context's description. Any goroutine may call it.
func (t *Thread) Info() Info { panic("not yet") }

// Close runs what is queued, deletes all objects, ends the context and waits for the goroutine.
func (t *Thread) Close() error { panic("not yet") }
