//go:build !cgo

package hostdev

import "github.com/raybridge/raybridge/gpu"

// Options choose the threads and their instructions; without cgo there are none.
type Options struct {
	ISA      string
	Threads  int
	CacheDir string
}

// ISAs returns none: without cgo there are no kernels.
func ISAs() []string { return nil }

// Open returns an opener whose error is gpu.ErrNotSupported.
func Open(Options) gpu.Opener {
	return func() (*gpu.Context, error) {
		return nil, &gpu.UnsupportedError{
			Feature: "host device in this build",
			Need:    "it was built without cgo: build with CGO_ENABLED=1 and a C compiler",
		}
	}
}
