// Package viewer is the window of `raybridge run --window`: the cameras, the
// lidars from above and in three dimensions, and a line of live figures.
//
// # Usage
//
// A Viewer is told which sensors there are by Watch, which listens to a
// pipeline, or by AddCamera and AddCloud. Show then runs it in a window until
// its context ends:
//
//	v, err := viewer.New(viewer.Options{Clock: p.Clock(), Quit: cancel})
//	err = v.Watch(p)
//	err = v.Show(ctx, ending, window, p.GL())
//
// # Concurrency
//
// What Watch, AddCamera and AddCloud listen with may be called from any
// goroutine: it copies the message and never waits. Everything else belongs to
// one goroutine, Show's while it runs.
//
// # Pictures
//
// The window's picture is composed on the CPU, so that Compose and Handle need
// neither OpenGL nor a display. A camera's picture is shown pixel for pixel
// wherever its pane has room for it. On the GL thread there is one upload and one
// present a shown picture, never more than one of them in its queue (law G2).
package viewer
