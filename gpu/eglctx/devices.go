//go:build cgo

package eglctx

// // Where libdl is a part of libc (glibc since 2.34, musl) this adds no library.
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "egl.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
)

// deviceHandle is EGL's own name for a device.
type deviceHandle = C.EGLDeviceEXT

// maxDevices bounds the enumeration; machines have a dozen GPUs at most.
const maxDevices = 64

// EGL_EXT_device_query_name and EGL_EXT_device_drm.
const (
	eglRendererEXT      = 0x335F
	eglDRMDeviceFileEXT = 0x3233
)

// Devices lists the machine's EGL devices, hardware first. An EGL that can't
// enumerate has none; the error is a *gpu.UnsupportedError where there is no
// EGL driver at all. Any goroutine may call it.
func Devices() ([]Device, error) {
	extensions, err := clientExtensions()
	if err != nil {
		return nil, err
	}
	if !extensions.has("EGL_EXT_device_base") && !extensions.has("EGL_EXT_device_enumeration") {
		return nil, nil
	}
	var handles [maxDevices]C.EGLDeviceEXT
	count := int(C.rbDevices(&handles[0], maxDevices))
	var hardware, software []Device
	for i := range max(count, 0) {
		d := describe(handles[i])
		if d.Software {
			d.Number = -1
			software = append(software, d)
			continue
		}
		d.Number = len(hardware)
		hardware = append(hardware, d)
	}
	return append(hardware, software...), nil
}

func describe(h C.EGLDeviceEXT) Device {
	extensions := extensionSet(deviceString(h, C.EGL_EXTENSIONS))
	d := Device{handle: h, Software: extensions.has("EGL_MESA_device_software")}
	if extensions.has("EGL_EXT_device_drm") {
		d.File = deviceString(h, eglDRMDeviceFileEXT)
	}
	if extensions.has("EGL_EXT_device_query_name") {
		d.Renderer = deviceString(h, eglRendererEXT)
	}
	return d
}

func deviceString(h C.EGLDeviceEXT, name C.EGLint) string {
	s := C.rbDeviceString(h, name)
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// extensionSet is EGL's list of names, separated by blanks.
type extensionSet string

func (s extensionSet) has(name string) bool {
	for f := range strings.FieldsSeq(string(s)) {
		if f == name {
			return true
		}
	}
	return false
}

// needDriver names the packages that bring an EGL driver.
const needDriver = "install a driver; for software OpenGL: apt-get install libegl1 libgl1-mesa-dri, " +
	"dnf install mesa-libEGL mesa-dri-drivers, pacman -S libglvnd mesa; for a GPU its vendor's driver with EGL"

// libraryName is EGL's by the Linux ABI; libglvnd and all drivers without it have it.
const libraryName = "libEGL.so.1"

// loaded opens EGL's library, once a process.
var loaded = sync.OnceValue(func() error { return load(libraryName) })

// load opens a library as EGL's. It stays open: drivers don't take being unloaded.
func load(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if reason := C.rbOpen(name); reason != nil {
		return &gpu.UnsupportedError{Feature: "EGL", Need: needDriver, Err: errors.New(C.GoString(reason))}
	}
	return nil
}

// clientExtensions asks what EGL can do without a display. Every way to a context
// begins here, so that the library is open in all that follows.
func clientExtensions() (extensionSet, error) {
	if err := loaded(); err != nil {
		return "", err
	}
	s := C.rbClientExtensions()
	if s == nil {
		return "", &gpu.UnsupportedError{
			Feature: "EGL 1.5", Need: needDriver, Err: lastError("query client extensions"),
		}
	}
	return extensionSet(C.GoString(s)), nil
}

var errorNames = map[C.EGLint]string{
	C.EGL_NOT_INITIALIZED: "EGL_NOT_INITIALIZED",
	C.EGL_BAD_ACCESS:      "EGL_BAD_ACCESS",
	C.EGL_BAD_ALLOC:       "EGL_BAD_ALLOC",
	C.EGL_BAD_ATTRIBUTE:   "EGL_BAD_ATTRIBUTE",
	C.EGL_BAD_CONFIG:      "EGL_BAD_CONFIG",
	C.EGL_BAD_CONTEXT:     "EGL_BAD_CONTEXT",
	C.EGL_BAD_DISPLAY:     "EGL_BAD_DISPLAY",
	C.EGL_BAD_MATCH:       "EGL_BAD_MATCH",
	C.EGL_BAD_PARAMETER:   "EGL_BAD_PARAMETER",
	C.EGL_CONTEXT_LOST:    "EGL_CONTEXT_LOST",
}

// lastError says what failed with eglGetError's reason of this thread.
func lastError(verb string) error {
	code := C.eglGetError()
	if code == C.EGL_SUCCESS {
		return fmt.Errorf("%s: EGL gives no reason", verb)
	}
	if name, ok := errorNames[code]; ok {
		return fmt.Errorf("%s: %s", verb, name)
	}
	return fmt.Errorf("%s: egl error %#x", verb, int(code))
}
