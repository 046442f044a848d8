//go:build !cgo

package eglctx

import "github.com/raybridge/raybridge/gpu"

// Options choose a device; without cgo there is no device.
type Options struct {
	Device string
	Debug  bool
}

// deviceHandle is nothing without cgo.
type deviceHandle struct{}

// errNoCgo is the answer of a build without cgo.
var errNoCgo = &gpu.UnsupportedError{
	Feature: "OpenGL in this build",
	Need:    "it was built without cgo: build with CGO_ENABLED=1 and a C compiler",
}

// Devices returns an error that is gpu.ErrNotSupported.
func Devices() ([]Device, error) { return nil, errNoCgo }

// Open returns an opener whose error is gpu.ErrNotSupported.
func Open(Options) gpu.Opener {
	return func() (*gpu.Context, error) { return nil, errNoCgo }
}
