//go:build !cgo || !linux || nowindow

package window

import (
	"image"

	"github.com/raybridge/raybridge/gpu"
)

// Main runs program.
func Main(program func()) { program() }

// Window is never made in builds without windows.
type Window struct{}

// errNoWindows is the answer of a build without GLFW.
var errNoWindows = &gpu.UnsupportedError{
	Feature: "window in this program",
	Need:    "build it for Linux, with cgo and without the tag nowindow, as make build does, or run headless",
}

// Open returns an error that is gpu.ErrNotSupported: this build has no windows.
func Open(Options) (*Window, error) { return nil, errNoWindows }

// Show fails.
func (w *Window) Show(*image.RGBA) error { return errNoWindows }

// SetTitle does nothing.
func (w *Window) SetTitle(string) {}

// SetFullScreen does nothing.
func (w *Window) SetFullScreen(bool) {}

// Size returns 0, 0.
func (w *Window) Size() (width, height int) { return 0, 0 }

// Events returns no channel.
func (w *Window) Events() <-chan Event { return nil }

// Dropped returns 0.
func (w *Window) Dropped() int { return 0 }

// Closed returns no channel.
func (w *Window) Closed() <-chan struct{} { return nil }

// Err returns nil.
func (w *Window) Err() error { return nil }

// Close does nothing.
func (w *Window) Close() {}
