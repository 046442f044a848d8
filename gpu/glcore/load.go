//go:build cgo

package glcore

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// Loader finds a GL function by name: eglGetProcAddress. Names without a function have nil.
type Loader func(name string) unsafe.Pointer

// table says how far the process's functions are loaded.
var table struct {
	sync.Mutex
	loaded bool
}

// Load fills the process's table of OpenGL's functions from the loader of the context that is
// current on the calling thread. Once that has succeeded it does nothing: the functions may be
// called on other threads at any time. The error is a *gpu.UnsupportedError that names the
// first function of OpenGL 4.5 core without an address.
func Load(loader Loader) error {
	table.Lock()
	defer table.Unlock()
	if table.loaded {
		return nil
	}
	if err := gl.InitWithProcAddrFunc(loader); err != nil {
		return &gpu.UnsupportedError{
			Feature: "OpenGL 4.5 core",
			Need:    "a driver that has it (Mesa 18 or newer, any vendor driver since 2015)",
			Err:     fmt.Errorf("load function %w", err),
		}
	}
	table.loaded = true
	return nil
}
