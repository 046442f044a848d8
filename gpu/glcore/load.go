//go:build cgo

package glcore

// // go-gl names libGL, or libEGL with its build tag egl, for a loader of its own, which calls
// // one of the two functions below. They forward to the library, opened when they are first
// // called. So what is linked is there, --as-needed leaves the library out, and a program starts
// // without it. Drivers must find their own functions of these names: these are hidden.
// #cgo linux LDFLAGS: -Wl,--as-needed -ldl
// #cgo linux CFLAGS: -D_GNU_SOURCE
// #ifdef __linux__
// #include <dlfcn.h>
// #include <stddef.h>
//
// typedef void (*function)(void);
// typedef function (*finder)(const char *name);
//
// static function find(const char *library, const char *by, const char *name) {
// 	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
// 	finder get = handle ? (finder)dlsym(handle, by) : NULL;
// 	return get ? get(name) : NULL;
// }
//
// __attribute__((visibility("hidden"))) function glXGetProcAddress(const unsigned char *name) {
// 	return find("libGL.so.1", "glXGetProcAddress", (const char *)name);
// }
//
// __attribute__((visibility("hidden"))) function eglGetProcAddress(const char *name) {
// 	return find("libEGL.so.1", "eglGetProcAddress", name);
// }
//
// static void keepLibrary(void *function) {
// 	Dl_info info;
// 	if (dladdr(function, &info) && info.dli_fname) {
// 		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
// 	}
// }
// #else
// static void keepLibrary(void *function) {}
// #endif
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// Loader finds a GL function by name: eglGetProcAddress. Names without a function have nil.
type Loader func(name string) unsafe.Pointer

// table says which library's functions the process has.
var table struct {
	sync.Mutex
	probes map[string]unsafe.Pointer // addresses of some functions; nil before the first Load
}

// probes are functions that tell one library from another.
var probes = []string{"glGetString", "glTexSubImage2D", "glBlitFramebuffer", "glClientWaitSync", "glDispatchCompute", "glNamedBufferStorage"}

// Load fills the process's table of OpenGL's functions from the loader of the context that is
// current on the calling thread. Once that has succeeded it only compares, since the
// functions may be running on other threads. A context whose loader has others can't be used.
// The error is a *gpu.UnsupportedError that names the first function of OpenGL 4.5 core without an
// address, or one of another library.
func Load(loader Loader) error {
	table.Lock()
	defer table.Unlock()
	if table.probes != nil {
		return compare(loader)
	}
	if err := gl.InitWithProcAddrFunc(loader); err != nil {
		return &gpu.UnsupportedError{
			Feature: "OpenGL 4.5 core",
			Need:    "a driver that has it (Mesa 18 or newer, any vendor driver since 2015)",
			Err:     fmt.Errorf("load function %w", err),
		}
	}
	table.probes = make(map[string]unsafe.Pointer, len(probes))
	for _, name := range probes {
		table.probes[name] = loader(name)
		// GLFW unloads OpenGL's library with its window: the table would point to nothing.
		C.keepLibrary(table.probes[name])
	}
	return nil
}

// compare tells whether a loader's functions are the table's. It is called with the lock.
func compare(loader Loader) error {
	for _, name := range probes {
		if loader(name) != table.probes[name] {
			return &gpu.UnsupportedError{
				Feature: "OpenGL from two libraries in one program",
				Need:    "libglvnd, through which all drivers of a system are one; else one of the two alone: a window, or a device that computes by OpenGL",
				Err:     fmt.Errorf("the context that was opened before has another %s", name),
			}
		}
	}
	return nil
}
