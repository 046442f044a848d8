// Package glfwctx opens an OpenGL 4.5 core context in a window; it is the only
// importer of GLFW. Main owns the thread that it is called on, which is the
// process's main thread on systems that insist (macOS): it pumps the window's
// events and hands input over a channel. The context is current on the GL
// thread, never on Main's.
//
//	err := glfwctx.Main(glfwctx.Options{Title: "raybridge"}, func(w *glfwctx.Window) error {
//		thread, err := gpu.Start(w.Open)
//		if err != nil {
//			return err
//		}
//		defer thread.Close()
//		...
//	})
//
// Builds with the tag nowindow, or without cgo, have the same API; Main says
// there that windows were left out.
package glfwctx

import "errors"

// Options describe the window; the zero value is usable.
type Options struct {
	Title         string // "" means "raybridge"
	Width, Height int    // screen coordinates; 0 means 1280 x 720
	// Debug asks for a debug context (KHR_debug): slower, for tests.
	Debug bool
}

func (o Options) withDefaults() Options {
	if o.Title == "" {
		o.Title = "raybridge"
	}
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 1280, 720
	}
	return o
}

// ErrThreadOpen says that run returned from Main before it closed the gpu.Thread that
// has the window's context.
var ErrThreadOpen = errors.New("window's gpu.Thread is still open: close it before returning to glfwctx.Main")
