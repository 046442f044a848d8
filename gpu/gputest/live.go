//go:build cgo

package gputest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/hostdev"
)

// live is the context that the tests of one package, hence one process, share. Compiling
// shaders again for each test would cost more than the tests.
var live struct {
	sync.Mutex
	opened bool
	thread *gpu.Thread
	err    error // why no context could be made
}

// Main runs a package's tests and exits. Afterwards it fails the run if a GPU
// object is left that nobody closed.
func Main(m *testing.M) {
	code := m.Run()
	if err := closeLive(); err != nil {
		fmt.Fprintln(os.Stderr, "gputest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Thread returns the package's shared GL thread, with a synchronous debug
// context; the test must not close it. The test skips where this machine has
// no OpenGL, and fails instead if REQUIRE_GL=1. When the test ends, each error
// that debug output reported meanwhile fails it (law G5); a test that provokes
// errors fetches them with Thread.DebugErrors before. GL_DEVICE names the
// device as eglctx.Options does, or is host for the host device, or as-gpu for
// what AsGPU has.
func Thread(t testing.TB) *gpu.Thread {
	t.Helper()
	thread, err := openLive()
	if err != nil {
		if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
			t.Skipf("no live OpenGL: %v", err)
		}
		t.Fatalf("open a live OpenGL context (REQUIRE_GL=%s): %v", os.Getenv("REQUIRE_GL"), err)
	}
	t.Cleanup(func() {
		for _, err := range thread.DebugErrors() {
			t.Errorf("OpenGL reported: %v", err)
		}
	})
	return thread
}

// Do runs f on the thread and fails the test with its error. It must be called
// on the test's goroutine; f returns errors, it must not end the test.
func Do(t testing.TB, thread *gpu.Thread, f func(*gpu.Ctx) error) {
	t.Helper()
	if err := thread.Do(context.Background(), f); err != nil {
		t.Fatalf("on the gl thread: %v", err)
	}
}

// Opener returns what opens the device that GL_DEVICE names, for tests that need one of their own.
// With REQUIRE_GLSLANG=1, OpenGL makes no program that Validate refuses. GL_DEVICE=as-gpu is AsGPU's.
func Opener() gpu.Opener {
	device := os.Getenv("GL_DEVICE")
	switch device {
	case "host":
		return hostdev.Open(hostdev.Options{})
	case "as-gpu":
		return posing(open(""))
	}
	return open(device)
}

// open opens an OpenGL device.
func open(device string) gpu.Opener {
	open := eglctx.Open(eglctx.Options{Device: device, Debug: true})
	return func() (*gpu.Context, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		if err := asked(c.Driver.Info().Renderer); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if os.Getenv("REQUIRE_GLSLANG") == "1" {
			c.Driver = validating{c.Driver}
		}
		return c, nil
	}
}

// AsGPU starts a thread of the test's own on OpenGL that says it is a GPU's. So what is chosen for GPUs is
// tried where there is none.
func AsGPU(t testing.TB) *gpu.Thread {
	t.Helper()
	device := os.Getenv("GL_DEVICE")
	if device == "host" || device == "as-gpu" {
		device = ""
	}
	thread, err := gpu.Start(posing(open(device)))
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	if err != nil {
		t.Fatalf("open a live OpenGL context: %v", err)
	}
	t.Cleanup(func() {
		for _, err := range thread.DebugErrors() {
			t.Errorf("OpenGL reported: %v", err)
		}
		for _, name := range thread.Live() {
			t.Errorf("leak: %s was not closed", name)
		}
		if err := thread.Close(); err != nil {
			t.Errorf("close the thread that poses as a GPU's: %v", err)
		}
	})
	return thread
}

// posing has a driver say that it is a GPU's.
func posing(open gpu.Opener) gpu.Opener {
	return func() (*gpu.Context, error) {
		c, err := open()
		if err == nil {
			c.Driver = asGPU{c.Driver}
		}
		return c, err
	}
}

// asGPU is a driver that says it is a GPU's.
type asGPU struct{ gpu.Driver }

// Info implements gpu.Driver.
func (d asGPU) Info() gpu.Info {
	info := d.Driver.Info()
	info.Software = false
	return info
}

// asked returns an error if Mesa doesn't draw with the driver that GALLIUM_DRIVER names, so that tests
// which are to run on zink don't pass on another.
func asked(renderer string) error {
	if want := os.Getenv("GALLIUM_DRIVER"); !strings.HasPrefix(strings.ToLower(renderer), want) {
		return fmt.Errorf("GALLIUM_DRIVER=%s, but the renderer is %s", want, renderer)
	}
	return nil
}

// validating is a driver that makes only programs that Validate lets pass.
type validating struct{ gpu.Driver }

// CreateProgram implements gpu.Driver.
func (d validating) CreateProgram(p gpu.ProgramDesc) (gpu.Handle, error) {
	h, err := d.Driver.CreateProgram(p)
	if err != nil {
		return 0, err
	}
	if err := Validate(p); err != nil {
		d.Driver.Delete(gpu.ObjectProgram, h)
		return 0, err
	}
	return h, nil
}

func openLive() (*gpu.Thread, error) {
	live.Lock()
	defer live.Unlock()
	if !live.opened {
		live.opened = true
		live.thread, live.err = gpu.Start(Opener())
	}
	return live.thread, live.err
}

// closeLive ends the shared thread and reports what is left on it.
func closeLive() error {
	live.Lock()
	defer live.Unlock()
	if live.thread == nil {
		return nil
	}
	var errs []error
	for _, name := range live.thread.Live() {
		errs = append(errs, fmt.Errorf("leak: %s was not closed", name))
	}
	if testing.Verbose() {
		printNotes(live.thread)
	}
	errs = append(errs, live.thread.Close())
	live.thread = nil
	return errors.Join(errs...)
}

// printNotes shows the driver's performance warnings, which fail nothing.
func printNotes(thread *gpu.Thread) {
	_ = thread.Do(context.Background(), func(c *gpu.Ctx) error {
		for _, note := range c.DebugNotes() {
			fmt.Fprintln(os.Stderr, "gputest: OpenGL notes:", note)
		}
		return nil
	})
}
