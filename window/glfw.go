//go:build cgo && linux && !nowindow

package window

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-gl/glfw/v3.3/glfw"
	"golang.org/x/sys/unix"

	"github.com/raybridge/raybridge/gpu/glcore"
)

// mainThread is what Main's goroutine does for the others.
var mainThread = struct {
	calls   chan func()
	serving atomic.Bool
	taken   atomic.Bool // by a window
}{calls: make(chan func())}

// Main runs program on a goroutine of its own and keeps the calling goroutine's thread for
// windows until program has returned. It must be called from main(), whose package locks the
// main thread as the package documentation shows. Open works only meanwhile.
func Main(program func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mainThread.serving.Store(true)
	defer mainThread.serving.Store(false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		program()
	}()
	for {
		select {
		case f := <-mainThread.calls:
			f()
		case <-ended:
			return
		}
	}
}

// Window is an open window. Any goroutine may call its methods.
type Window struct {
	inbox  *inbox
	closed chan struct{}
	once   sync.Once     // closes closed
	ended  chan struct{} // the main thread has left the window
	calls  chan func()   // for the main thread
	bell   *os.File      // an eventfd: the main thread has calls, or is to leave

	size    atomic.Uint64 // in pictures' pixels, width in the upper half
	hidden  atomic.Bool
	closing atomic.Bool // Close was called
	lost    atomic.Bool // the display is gone

	// The fields below are the main thread's.
	win     *glfw.Window
	display display
	canvas  canvas
	scale   float64         // the screen's pixels in one of ours
	place   image.Rectangle // before it filled the screen, in the screen's pixels
}

// Open opens a window on the display that the environment variable DISPLAY names. Without a
// display, on one without GLX, and where OpenGL isn't that of a device which the process has
// opened, the error is a *gpu.UnsupportedError. There may be one window at a time.
func Open(opts Options) (*Window, error) {
	switch {
	case !mainThread.serving.Load():
		return nil, errors.New("open window: main() doesn't run window.Main")
	case displayGone():
		return nil, fmt.Errorf("open window: %w", ErrDisplayGone)
	case !mainThread.taken.CompareAndSwap(false, true):
		return nil, errors.New("open window: another is open, close it first")
	}
	bell, err := newBell()
	if err != nil {
		mainThread.taken.Store(false)
		return nil, fmt.Errorf("open window: %w", err)
	}
	w := &Window{inbox: newInbox(), closed: make(chan struct{}), ended: make(chan struct{}), calls: make(chan func(), 1), bell: bell}
	opened := make(chan error, 2)
	mainThread.calls <- func() {
		err := w.create(opts.withDefaults())
		if err == nil {
			opened <- nil
			w.pump()
		}
		bell.Close()
		mainThread.taken.Store(false)
		close(w.ended)
		opened <- err
	}
	if err := <-opened; err != nil {
		return nil, err
	}
	return w, nil
}

func newBell() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return os.NewFile(uintptr(fd), "bell"), nil
}

// create makes the window and shows it. Main thread.
func (w *Window) create(opts Options) (err error) {
	leave, err := look()
	if err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil { // GLFW's binding answers errors of its own so
			err = noDisplay(fmt.Errorf("GLFW: %v", v))
		}
		if err != nil && !displayGone() {
			glfw.Terminate()
		}
	}()
	err = glfw.Init()
	leave()
	if err != nil {
		return noDisplay(err)
	}
	w.display = theDisplay()
	w.display.guard()
	setHints()
	if w.win, err = glfw.CreateWindow(opts.Width, opts.Height, opts.Title, nil, nil); err != nil || w.win == nil {
		return noGLX(cmp.Or(err, errors.New("GLFW made no window")))
	}
	w.win.MakeContextCurrent()
	glfw.SwapInterval(0) // who waits for the screen hears no user
	if err := glcore.Load(glfw.GetProcAddress); err != nil {
		return err
	}
	if err := w.canvas.create(); err != nil {
		return fmt.Errorf("create window: %w", err)
	}
	scale, _ := w.win.GetContentScale()
	w.scale = max(1, float64(scale))
	w.setSize(w.win.GetFramebufferSize())
	w.listen()
	return nil
}

func setHints() {
	for hint, value := range map[glfw.Hint]int{
		glfw.ContextVersionMajor: 3, glfw.ContextVersionMinor: 3,
		glfw.OpenGLProfile: glfw.OpenGLCoreProfile, glfw.OpenGLForwardCompatible: glfw.True,
		glfw.DepthBits: 0, glfw.StencilBits: 0, // pictures arrive finished
		glfw.ScaleToMonitor: glfw.True, glfw.AutoIconify: glfw.False,
	} {
		glfw.WindowHint(hint, value)
	}
	glfw.WindowHintString(glfw.X11ClassName, "raybridge")
	glfw.WindowHintString(glfw.X11InstanceName, "raybridge")
}

// pump handles events and calls until the window is to be closed, or its display is gone.
// Main thread.
func (w *Window) pump() {
	for !w.closing.Load() {
		select {
		case f := <-w.calls:
			f()
		default:
			w.wait()
		}
		if !displayGone() {
			glfw.PollEvents()
		}
		if displayGone() {
			// GLFW stays as it is: its functions may wait for answers.
			w.lost.Store(true)
			w.askToClose()
			return
		}
	}
	w.canvas.delete()
	glfw.DetachCurrentContext()
	glfw.Terminate() // destroys the window
}

// wait waits for an event or the bell. GLFW's own way never returns once the display is gone.
func (w *Window) wait() {
	if w.display.pending() || displayGone() {
		return
	}
	fds := []unix.PollFd{
		{Fd: w.display.descriptor(), Events: unix.POLLIN},
		{Fd: int32(w.bell.Fd()), Events: unix.POLLIN},
	}
	if n, err := unix.Poll(fds, -1); err != nil || n == 0 {
		return // a signal; the caller asks again
	}
	if fds[1].Revents != 0 {
		var count [8]byte
		_, _ = w.bell.Read(count[:]) // it can be read; what it counts doesn't matter
	}
}

// ring has the main thread look at its calls, and whether it is to leave.
func (w *Window) ring() {
	_, _ = w.bell.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) // it fails once the main thread has left
}

// do runs f on the main thread and returns what it returns.
func (w *Window) do(f func() error) error {
	answer := make(chan error, 1)
	select {
	case w.calls <- func() { answer <- f() }:
		w.ring()
	case <-w.ended:
	}
	select {
	case err := <-answer:
		if displayGone() {
			return ErrDisplayGone
		}
		return err
	case <-w.ended:
		if w.lost.Load() {
			return ErrDisplayGone
		}
		return errors.New("the window is closed")
	}
}

func (w *Window) askToClose() { w.once.Do(func() { close(w.closed) }) }

// Show shows a picture, its top-left corner in the window's; what is beyond the window
// is not seen, and alpha is taken as opaque. It returns once the server has it: the
// picture is the caller's again. The error is the display's: ErrDisplayGone once it is.
func (w *Window) Show(picture *image.RGBA) error {
	err := w.do(func() error {
		if err := w.canvas.take(picture); err != nil {
			return err
		}
		w.draw()
		return nil
	})
	if err != nil {
		return fmt.Errorf("show picture: %w", err)
	}
	return nil
}

// draw paints the canvas. Main thread.
func (w *Window) draw() {
	width, height := w.win.GetFramebufferSize()
	w.canvas.draw(width, height, w.scale)
	w.win.SwapBuffers()
	w.display.sync()
}

// SetTitle changes the window's title.
func (w *Window) SetTitle(title string) {
	_ = w.do(func() error { // a closed window has none
		w.win.SetTitle(title)
		return nil
	})
}

// SetFullScreen has the window fill the screen that it is on, or gives it its place back.
func (w *Window) SetFullScreen(on bool) {
	_ = w.do(func() error { // a closed window fills nothing
		if on {
			w.fill()
		} else if w.win.GetMonitor() != nil {
			w.win.SetMonitor(nil, w.place.Min.X, w.place.Min.Y, w.place.Dx(), w.place.Dy(), 0)
		}
		return nil
	})
}

// fill has the window fill the screen that holds its middle, else the first. Main thread.
func (w *Window) fill() {
	monitors := glfw.GetMonitors()
	if w.win.GetMonitor() != nil || len(monitors) == 0 {
		return
	}
	x, y := w.win.GetPos()
	width, height := w.win.GetSize()
	w.place = image.Rect(x, y, x+width, y+height)
	on := monitors[0]
	for _, m := range monitors {
		if w.place.Min.Add(w.place.Size().Div(2)).In(area(m)) {
			on = m
		}
	}
	if mode := on.GetVideoMode(); mode != nil {
		w.win.SetMonitor(on, 0, 0, mode.Width, mode.Height, mode.RefreshRate)
	}
}

// area is what a monitor shows of the desktop.
func area(m *glfw.Monitor) image.Rectangle {
	x, y := m.GetPos()
	if mode := m.GetVideoMode(); mode != nil {
		return image.Rect(x, y, x+mode.Width, y+mode.Height)
	}
	return image.Rectangle{}
}

// Size returns the window's size in pixels of pictures; 0, 0 while it is minimised.
func (w *Window) Size() (width, height int) {
	if w.hidden.Load() {
		return 0, 0
	}
	size := w.size.Load()
	return int(size >> 32), int(uint32(size))
}

// setSize takes a size in the screen's pixels. Main thread.
func (w *Window) setSize(width, height int) {
	width, height = w.pixels(width), w.pixels(height)
	w.size.Store(uint64(width)<<32 | uint64(uint32(height)))
}

// pixels is how many of ours cover a length of the screen's.
func (w *Window) pixels(n int) int { return int(float64(n)/w.scale + 0.999) }

// Events is the user's input, in order. When the program takes none for
// long, cursor moves are dropped first, then the oldest events.
func (w *Window) Events() <-chan Event { return w.inbox.events }

// Dropped counts events that found the queue full.
func (w *Window) Dropped() int { return int(w.inbox.dropped.Load()) }

// Closed is closed when the user asks to close the window, or when the display is gone,
// which Err tells. The window stays on the screen until Close.
func (w *Window) Closed() <-chan struct{} { return w.closed }

// Err returns ErrDisplayGone once that has happened, else nil.
func (w *Window) Err() error {
	if w.lost.Load() {
		return ErrDisplayGone
	}
	return nil
}

// Close takes the window from the screen. It must be called once.
func (w *Window) Close() {
	w.closing.Store(true)
	w.ring()
	<-w.ended
}

// listen sets the callbacks that GLFW runs on the main thread, within PollEvents.
func (w *Window) listen() {
	w.win.SetCloseCallback(func(*glfw.Window) { w.askToClose() })
	w.win.SetRefreshCallback(func(*glfw.Window) { w.draw() })
	w.win.SetIconifyCallback(func(_ *glfw.Window, iconified bool) { w.hidden.Store(iconified) })
	w.win.SetFramebufferSizeCallback(func(_ *glfw.Window, width, height int) {
		w.setSize(width, height)
		w.inbox.put(Event{Kind: Resize, Width: w.pixels(width), Height: w.pixels(height)})
	})
	w.win.SetKeyCallback(func(_ *glfw.Window, key glfw.Key, scancode int, action glfw.Action, mods glfw.ModifierKey) {
		if key := keyOf(key, glfw.GetKeyName(key, scancode)); key > 0 {
			w.inbox.put(Event{Kind: keyKinds[action], Key: key, Mods: modsOf(mods)})
		}
	})
	w.win.SetMouseButtonCallback(func(_ *glfw.Window, b glfw.MouseButton, action glfw.Action, mods glfw.ModifierKey) {
		x, y := w.cursor(w.win.GetCursorPos())
		w.inbox.put(Event{Kind: buttonKinds[action], Button: Button(b), Mods: modsOf(mods), X: x, Y: y})
	})
	w.win.SetCursorPosCallback(func(_ *glfw.Window, x, y float64) {
		x, y = w.cursor(x, y)
		w.inbox.put(Event{Kind: MouseMove, X: x, Y: y})
	})
	w.win.SetScrollCallback(func(_ *glfw.Window, left, up float64) {
		x, y := w.cursor(w.win.GetCursorPos())
		w.inbox.put(Event{Kind: Scroll, X: x, Y: y, ScrollX: -left, ScrollY: up})
	})
}

var (
	keyKinds    = map[glfw.Action]EventKind{glfw.Press: KeyDown, glfw.Repeat: KeyRepeat, glfw.Release: KeyUp}
	buttonKinds = map[glfw.Action]EventKind{glfw.Press: MouseDown, glfw.Release: MouseUp}
)

// keyOf returns the key that types a character without modifiers, as GLFW tells it; where that
// isn't one of ASCII, the key of the place.
func keyOf(place glfw.Key, types string) Key {
	switch {
	case place == glfw.KeyKPEnter:
		return KeyEnter
	case len(types) == 1 && types[0] >= ' ' && types[0] <= '~':
		return Key(strings.ToUpper(types)[0])
	}
	return Key(place)
}

func modsOf(m glfw.ModifierKey) Mods {
	var out Mods
	for key, mod := range map[glfw.ModifierKey]Mods{
		glfw.ModShift: ModShift, glfw.ModControl: ModControl, glfw.ModAlt: ModAlt, glfw.ModSuper: ModSuper,
	} {
		if m&key != 0 {
			out |= mod
		}
	}
	return out
}

// cursor turns a place on the screen into one on pictures.
func (w *Window) cursor(x, y float64) (px, py float64) { return x / w.scale, y / w.scale }
