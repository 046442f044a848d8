//go:build cgo && !nowindow

package glfwctx

import (
	"errors"
	"fmt"
	"image"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-gl/glfw/v3.3/glfw"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore"
)

// Window is a window that Main opened. Its methods may be called from any
// goroutine, unless they take a *gpu.Ctx; none may be called after run returned.
type Window struct {
	win    *glfw.Window
	debug  bool
	inbox  *inbox
	closed chan struct{}
	once   sync.Once // closes closed

	size    atomic.Uint64 // framebuffer, width in the upper half
	current atomic.Bool   // the context is current on a GL thread

	driver *glcore.Driver // GL thread only

	mu    sync.Mutex
	title string // to be set by Main's thread, "" for none; guarded by mu
	ended bool   // Main has stopped listening; guarded by mu
}

// Main opens a window, runs run on a goroutine of its own and pumps the
// window's events until run has returned; it returns run's error. It must be
// called from main(), with the main goroutine locked to the main thread where
// the system insists. run closes its gpu.Thread before it returns. A machine
// without a display or without OpenGL 4.5 gets a *gpu.UnsupportedError, and
// run is not called. One Main at a time.
func Main(opts Options, run func(*Window) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, err := open(opts.withDefaults())
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		err := errors.New("the window's function ended its goroutine")
		defer func() {
			result <- err
			glfw.PostEmptyEvent()
		}()
		err = run(w)
	}()
	err = w.pump(result)
	w.stopListening()
	<-woken // GLFW must outlive the last PostEmptyEvent
	if w.current.Load() {
		return errors.Join(err, ErrThreadOpen) // destroying its window would pull the context from under it
	}
	glfw.Terminate() // destroys the window
	return err
}

// pump handles events until run has returned.
func (w *Window) pump(result <-chan error) error {
	for {
		select {
		case err := <-result:
			return err
		default:
			glfw.WaitEvents()
			w.applyTitle()
		}
	}
}

// open makes the window, its context current nowhere. GLFW's Go binding
// answers a missing display with nil and panics at the next call: the guard
// makes errors of both.
func open(opts Options) (w *Window, err error) {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" {
		return nil, noDisplay(errors.New("DISPLAY is not set"))
	}
	defer func() {
		if v := recover(); v != nil {
			glfw.Terminate()
			w, err = nil, noDisplay(fmt.Errorf("%v", v))
		}
	}()
	if err := glfw.Init(); err != nil {
		return nil, noDisplay(err)
	}
	hint(opts.Debug)
	win, err := glfw.CreateWindow(opts.Width, opts.Height, opts.Title, nil, nil)
	if err != nil {
		glfw.Terminate()
		return nil, &gpu.UnsupportedError{
			Feature: "OpenGL 4.5 core in a window",
			Need:    "a display whose driver has it (Mesa 18 or newer, any vendor driver since 2015), or run headless",
			Err:     err,
		}
	}
	w = &Window{win: win, debug: opts.Debug, inbox: newInbox(), closed: make(chan struct{})}
	w.setSize(win.GetFramebufferSize())
	w.listen()
	return w, nil
}

func noDisplay(cause error) error {
	return &gpu.UnsupportedError{
		Feature: "display for a window",
		Need:    "set DISPLAY to an X server, use a virtual one (apt-get install xvfb, dnf install xorg-x11-server-Xvfb, pacman -S xorg-server-xvfb; xvfb-run), or run headless",
		Err:     cause,
	}
}

func hint(debug bool) {
	glfw.WindowHint(glfw.ContextVersionMajor, 4)
	glfw.WindowHint(glfw.ContextVersionMinor, 5)
	glfw.WindowHint(glfw.OpenGLProfile, glfw.OpenGLCoreProfile)
	glfw.WindowHint(glfw.OpenGLForwardCompatible, glfw.True)
	glfw.WindowHint(glfw.ContextRobustness, glfw.LoseContextOnReset)
	glfw.WindowHint(glfw.DepthBits, 0) // pictures arrive finished
	glfw.WindowHint(glfw.StencilBits, 0)
	if debug {
		glfw.WindowHint(glfw.OpenGLDebugContext, glfw.True)
	}
}

// Open is the gpu.Opener of the window's context, for one gpu.Thread.
func (w *Window) Open() (*gpu.Context, error) {
	if !w.current.CompareAndSwap(false, true) {
		return nil, errors.New("open window's context: it is current on another thread")
	}
	w.win.MakeContextCurrent()
	glfw.SwapInterval(0) // waiting for the screen would hold up captures (law G4)
	driver, err := glcore.New(glfw.GetProcAddress, glcore.Options{Device: "GLX window", Debug: w.debug})
	if err != nil {
		w.release()
		return nil, err
	}
	w.driver = driver
	return &gpu.Context{Driver: driver, Close: func() error { w.release(); return nil }}, nil
}

func (w *Window) release() {
	glfw.DetachCurrentContext()
	w.current.Store(false)
}

// Present draws a texture over the whole window, row 0 at the top, and shows
// it. It doesn't wait for the screen. Its colours are shown as they are, so
// they are sRGB-encoded.
func (w *Window) Present(c *gpu.Ctx, t *gpu.Texture) error {
	width, height := w.Size()
	if width == 0 || height == 0 {
		return nil // minimised
	}
	if err := c.Present(t, width, height); err != nil {
		return fmt.Errorf("present %q: %w", t.Label(), err)
	}
	w.win.SwapBuffers()
	return nil
}

// Snapshot returns what Present would show of t now, in the window's size. It
// waits for the GPU: for tests and saved pictures.
func (w *Window) Snapshot(c *gpu.Ctx, t *gpu.Texture) (*image.RGBA, error) {
	width, height := w.Size()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	if len(picture.Pix) == 0 {
		return picture, nil
	}
	if err := c.Present(t, width, height); err != nil {
		return nil, fmt.Errorf("draw %q: %w", t.Label(), err)
	}
	if err := w.driver.ReadBackBuffer(width, height, picture.Pix); err != nil {
		return nil, fmt.Errorf("read the window: %w", err)
	}
	return picture, nil
}

// Size returns the framebuffer's size in pixels; 0, 0 while minimised.
func (w *Window) Size() (width, height int) {
	size := w.size.Load()
	return int(size >> 32), int(uint32(size))
}

func (w *Window) setSize(width, height int) {
	w.size.Store(uint64(width)<<32 | uint64(uint32(height)))
}

// Events is the user's input, in order. When the program takes none for
// long, the newest are dropped, cursor moves first.
func (w *Window) Events() <-chan Event { return w.inbox.events }

// Dropped counts events that found the queue full.
func (w *Window) Dropped() int { return int(w.inbox.dropped.Load()) }

// Closed is closed when the user asks to close the window. It stays on the
// screen until run returns.
func (w *Window) Closed() <-chan struct{} { return w.closed }

// SetTitle changes the window's title soon.
func (w *Window) SetTitle(title string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.title = title
	glfw.PostEmptyEvent()
}

func (w *Window) applyTitle() {
	w.mu.Lock()
	title := w.title
	w.title = ""
	w.mu.Unlock()
	if title != "" {
		w.win.SetTitle(title)
	}
}

func (w *Window) stopListening() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
