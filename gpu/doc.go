// Package gpu is the contract between raybridge and OpenGL 4.5 core: one
// thread that owns the context, a token for being on it, and the objects and
// commands that sensors and the readback pool need. It has no cgo; gpu/glcore
// implements the Driver on a real context, gpu/gputest on scripts.
//
// # The GL thread
//
// OpenGL contexts belong to an OS thread. A Thread has one (law G1), and
// Thread.Do, which waits, and Thread.Go, which never does, are the only doors
// to it. A function that came through gets a *Ctx, which works until the
// function returns. A hop costs tens of microseconds: a frame loop makes one a
// tick (law G2).
//
// Functions on the GL thread issue commands and return; they don't wait, and no
// callback of a user runs there (law G4). They report with errors: a panic or a
// runtime.Goexit (a test's FailNow) comes back as an error too, and the thread
// goes on.
//
// # Objects
//
// What a Ctx makes is used with a Ctx, but closed from any goroutine: Close
// queues the deletion (law G3). A command with a closed object fails with
// ErrObjectClosed, one out of range with an error that names the object, and
// what only the driver notices fails the function that caused it (law G5).
//
// # A lost context
//
// Once a driver resets or a device goes away, each Ctx fails with
// ErrContextLost, fences fail, and Thread.Lost is closed. Functions still run,
// so that whoever waits for their work learns of it. There is no way back: the
// owner closes the Thread.
package gpu
