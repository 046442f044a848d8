package eglctx

import "fmt"

// Device is one EGL device of this machine.
type Device struct {
	// Number is what Options.Device takes: hardware devices count from 0,
	// software ones have -1. Without cgo there are none.
	Number   int
	Software bool
	// File is the device's DRM node, "/dev/dri/card0", and Renderer the
	// driver's name for it; empty where EGL doesn't tell.
	File, Renderer string

	handle deviceHandle
}

func (d Device) String() string {
	s := fmt.Sprintf("EGL device %d", d.Number)
	if d.Software {
		s = "EGL software device"
	}
	for _, detail := range []string{d.Renderer, d.File} {
		if detail != "" {
			s += ", " + detail
		}
	}
	return s
}

// UnusableError is a GPU that EGL lists and that can't be used. Err says which, and why.
type UnusableError struct{ Err error }

func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause, which may be a *gpu.UnsupportedError.
func (e *UnusableError) Unwrap() error { return e.Err }

// Unusable lists the GPUs that an error of Open tells of, in the order in which they were tried.
func Unusable(err error) (list []*UnusableError) {
	switch e := any(err).(type) {
	case *UnusableError:
		return []*UnusableError{e}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			list = append(list, Unusable(cause)...)
		}
	case interface{ Unwrap() error }:
		return Unusable(e.Unwrap())
	}
	return list
}
