//go:build cgo && linux && !nowindow

package window

// #cgo LDFLAGS: -lX11
// #define _DEFAULT_SOURCE
// #include <X11/Xlib.h>
// #include <stdatomic.h>
// #include <stdlib.h>
// #include <unistd.h>
//
// enum { FINE, NO_DISPLAY, NO_GLX };
//
// static int look(void **display) {
// 	XInitThreads(); // before anything else, by libX11's rules; GLFW calls it again
// 	if (!(*display = XOpenDisplay(NULL))) {
// 		return NO_DISPLAY;
// 	}
// 	int opcode, event, error;
// 	return XQueryExtension(*display, "GLX", &opcode, &event, &error) ? FINE : NO_GLX;
// }
//
// static void leave(void *display) { XCloseDisplay(display); }
//
// static atomic_int gone;
//
// static int ignoreError(Display *display, XErrorEvent *event) { return 0; }
// static int ignoreEnd(Display *display) { return 0; } // its default writes to the standard error
//
// // C's exit, which the race detector calls at the end, runs the driver's handlers, and these
// // may wait for the display. The last one registered runs first.
// static void exitNow(int status, void *data) { _exit(status); }
//
// static void noteEnd(Display *display, void *data) {
// 	atomic_store(&gone, 1);
// #ifdef __GLIBC__
// 	on_exit(exitNow, NULL);
// #endif
// }
//
// static void guard(void *display) {
// 	XSetErrorHandler(ignoreError);
// 	XSetIOErrorHandler(ignoreEnd);
// 	XSetIOErrorExitHandler(display, noteEnd, NULL);
// }
//
// static int isGone(void) { return atomic_load(&gone); }
// static int connection(void *display) { return ConnectionNumber((Display *)display); }
// static int pending(void *display) { return XPending(display); }
// static void synchronise(void *display) { XSync(display, False); }
import "C"

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/go-gl/glfw/v3.3/glfw"

	"github.com/raybridge/raybridge/gpu"
)

// A server that begins again takes no connections for a moment. Xvfb does so whenever its last
// client has left.
const (
	looks    = 10
	lookWait = 50 * time.Millisecond
)

// look says why there can be no window on the display that DISPLAY names. GLFW itself writes
// that to the standard error, returns nil, and panics at the next call. Without an error,
// leave is to be called once GLFW has its own connection: a server without clients begins again.
func look() (leave func(), err error) {
	name := os.Getenv("DISPLAY")
	if name == "" {
		return nil, noDisplay(errors.New("DISPLAY is not set"))
	}
	var display unsafe.Pointer
	found := C.look(&display)
	for i := 1; i < looks && found == C.NO_DISPLAY; i++ {
		time.Sleep(lookWait)
		found = C.look(&display)
	}
	switch found {
	case C.NO_DISPLAY:
		return nil, noDisplay(fmt.Errorf("no X server takes connections at DISPLAY=%s", name))
	case C.NO_GLX:
		C.leave(display)
		return nil, noGLX(fmt.Errorf("the X server at DISPLAY=%s has no extension GLX, as over ssh -X and in some VNC servers", name))
	}
	return func() { C.leave(display) }, nil
}

func noDisplay(cause error) error {
	return &gpu.UnsupportedError{
		Feature: "display for a window",
		Need:    "set DISPLAY to an X server, use a virtual one (apt-get install xvfb, dnf install xorg-x11-server-Xvfb, pacman -S xorg-server-xvfb; xvfb-run), or run headless",
		Err:     cause,
	}
}

func noGLX(cause error) error {
	return &gpu.UnsupportedError{
		Feature: "OpenGL 3.3 in a window (GLX)",
		Need: "a display that has it, such as the machine's own or Xvfb's, with its driver (apt-get install libgl1 libgl1-mesa-dri, " +
			"dnf install mesa-libGL mesa-dri-drivers, pacman -S libglvnd mesa), or run headless",
		Err: cause,
	}
}

// display is GLFW's connection. Its functions are for the main thread.
type display struct{ pointer unsafe.Pointer }

func theDisplay() display { return display{unsafe.Pointer(glfw.GetX11Display())} }

// guard keeps libX11 from ending the process, which it does by default after a request that
// fails, and when the X server ends. displayGone tells of the latter.
func (d display) guard() { C.guard(d.pointer) }

// descriptor is the connection's file descriptor.
func (d display) descriptor() int32 { return int32(C.connection(d.pointer)) }

// pending tells whether events have been read that nobody has handled. The descriptor doesn't:
// who waited for an answer may have read what came behind it.
func (d display) pending() bool { return C.pending(d.pointer) > 0 }

// sync waits until the server has handled all requests.
func (d display) sync() { C.synchronise(d.pointer) }

// displayGone tells whether a guarded display's connection has ended. Nothing of GLFW may be
// called then.
func displayGone() bool { return C.isGone() != 0 }
