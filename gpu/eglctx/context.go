//go:build cgo

package eglctx

// #include <stdlib.h>
// #include "egl.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore"
)

// context is an EGL context that is current on one thread. Its display stays
// initialised: displays are shared by the whole process, so ending one here
// would take it from contexts of other threads.
type context struct {
	display C.EGLDisplay
	context C.EGLContext
	surface C.EGLSurface // none where the display needs none
}

// openDisplay makes an OpenGL 4.5 core context on a display current on the
// calling thread, with the driver on it.
func openDisplay(display C.EGLDisplay, name string, opts Options) (*gpu.Context, error) {
	if display == 0 {
		return nil, unusable(name, lastError("get display"))
	}
	var major, minor C.EGLint
	if C.eglInitialize(display, &major, &minor) == C.EGL_FALSE {
		return nil, unusable(name, lastError("initialise display"))
	}
	if C.eglBindAPI(C.EGL_OPENGL_API) == C.EGL_FALSE {
		return nil, unusable(name, lastError("bind the OpenGL API"))
	}
	config := C.rbChooseConfig(display)
	if config == 0 {
		return nil, unusable(name, errors.New("it has no configuration for OpenGL off screen"))
	}
	c := &context{display: display}
	if err := c.create(config, name, opts.Debug); err != nil {
		return nil, err
	}
	if err := c.makeCurrent(config); err != nil {
		c.close()
		return nil, unusable(name, err)
	}
	driver, err := glcore.New(procAddress, glcore.Options{Device: name, Debug: opts.Debug})
	if err != nil {
		c.close()
		return nil, err
	}
	return &gpu.Context{Driver: driver, Close: c.close}, nil
}

// unusable is the error of a device that EGL lists but can't open.
func unusable(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// create asks for a context that is lost, not undefined, after a reset of the GPU. It does
// without that where the driver doesn't know it.
func (c *context) create(config C.EGLConfig, name string, debug bool) error {
	wish := C.rbContextWish{core45: 1, loseOnReset: 1}
	if debug {
		wish.debug = 1
	}
	if c.context = C.rbCreateContext(c.display, config, wish); c.context != nil {
		return nil
	}
	wish.loseOnReset = 0
	if c.context = C.rbCreateContext(c.display, config, wish); c.context != nil {
		return nil
	}
	cause := lastError("create an OpenGL 4.5 core context")
	if version, renderer := c.offered(config); version != "" {
		return glcore.TooOld(version, renderer)
	}
	return unusable(name, cause)
}

// offered returns the version and renderer of a driver that refuses 4.5 core;
// empty where it has no OpenGL at all.
func (c *context) offered(config C.EGLConfig) (version, renderer string) {
	probe := &context{display: c.display}
	if probe.context = C.rbCreateContext(c.display, config, C.rbContextWish{}); probe.context == nil {
		return "", ""
	}
	defer probe.close()
	if probe.makeCurrent(config) != nil {
		return "", ""
	}
	return glcore.Identify(procAddress)
}

// makeCurrent needs no surface where EGL_KHR_surfaceless_context is there;
// elsewhere a pbuffer of one pixel serves.
func (c *context) makeCurrent(config C.EGLConfig) error {
	extensions := extensionSet("")
	if s := C.eglQueryString(c.display, C.EGL_EXTENSIONS); s != nil {
		extensions = extensionSet(C.GoString(s))
	}
	if !extensions.has("EGL_KHR_surfaceless_context") {
		attributes := [...]C.EGLint{C.EGL_WIDTH, 1, C.EGL_HEIGHT, 1, C.EGL_NONE}
		c.surface = C.eglCreatePbufferSurface(c.display, config, &attributes[0])
		if c.surface == nil {
			return lastError("create a pbuffer")
		}
	}
	if C.eglMakeCurrent(c.display, c.surface, c.surface, c.context) == C.EGL_FALSE {
		return lastError("make the context current")
	}
	return nil
}

// close ends the context on the thread that it is current on.
func (c *context) close() error {
	var errs []error
	if C.eglMakeCurrent(c.display, nil, nil, nil) == C.EGL_FALSE {
		errs = append(errs, lastError("release the context"))
	}
	if c.surface != nil && C.eglDestroySurface(c.display, c.surface) == C.EGL_FALSE {
		errs = append(errs, lastError("destroy the pbuffer"))
	}
	if C.eglDestroyContext(c.display, c.context) == C.EGL_FALSE {
		errs = append(errs, lastError("destroy the context"))
	}
	if C.eglReleaseThread() == C.EGL_FALSE {
		errs = append(errs, lastError("release the thread"))
	}
	return errors.Join(errs...)
}

// procAddress is the glcore.Loader of every EGL context.
func procAddress(name string) unsafe.Pointer {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.eglGetProcAddress(s)
}
