//go:build !cgo || nowindow

package glfwctx

import (
	"image"

	"github.com/raybridge/raybridge/gpu"
)

// Window is never made in builds without windows.
type Window struct{}

// errNoWindows is the answer of a build without GLFW.
var errNoWindows = &gpu.UnsupportedError{
	Feature: "window",
	Need:    "this build left windows out: build with cgo and without -tags nowindow, or run headless",
}

// Main returns an error that is gpu.ErrNotSupported: this build has no windows.
func Main(Options, func(*Window) error) error { return errNoWindows }

// Open implements gpu.Opener.
func (w *Window) Open() (*gpu.Context, error) { return nil, errNoWindows }

// Events returns no channel.
func (w *Window) Events() <-chan Event { return nil }

// Dropped returns 0.
func (w *Window) Dropped() int { return 0 }

// Closed returns no channel.
func (w *Window) Closed() <-chan struct{} { return nil }

// Size returns 0, 0.
func (w *Window) Size() (width, height int) { return 0, 0 }

// SetTitle does nothing.
func (w *Window) SetTitle(string) {}

// Present fails.
func (w *Window) Present(*gpu.Ctx, *gpu.Texture) error { return errNoWindows }

// Snapshot fails.
func (w *Window) Snapshot(*gpu.Ctx, *gpu.Texture) (*image.RGBA, error) { return nil, errNoWindows }
