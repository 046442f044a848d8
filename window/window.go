// Package window shows pictures in a window of an X server, XWayland's too, and hands its
// user's input to the program. The window is GLFW's (github.com/go-gl/glfw/v3.3/glfw). Its
// OpenGL 3.3 context shows pictures alone; what computes has another context, or none.
//
// GLFW has the process's main thread, which main() gives it. The program runs on a goroutine
// of its own, and any goroutine may open a window:
//
//	func init() { runtime.LockOSThread() } // main() keeps the main thread
//
//	func main() { window.Main(program) }
//
//	func program() {
//		w, err := window.Open(window.Options{Title: "raybridge"})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer w.Close()
//		for {
//			select {
//			case e := <-w.Events():
//				...
//			case <-w.Closed():
//				return
//			case picture := <-pictures:
//				if err := w.Show(picture); err != nil {
//					log.Fatal(err)
//				}
//			}
//		}
//	}
//
// # Pixels
//
// Sizes and places are in pixels of the pictures shown. On a dense screen, whose Xft.dpi is
// above 96, each covers more than one of the screen's, so that a window looks as large
// everywhere.
//
// # Builds without windows
//
// With the build tag nowindow, or without cgo, Open says that windows were left out.
// Such a program needs no library of X11 to start.
package window

import (
	"errors"
	"sync/atomic"
)

// Options describe the window; the zero value is usable.
type Options struct {
	Title         string // "" means "raybridge"
	Width, Height int    // pixels; 0 means 1280 x 720
}

func (o Options) withDefaults() Options {
	if o.Title == "" {
		o.Title = "raybridge"
	}
	if o.Width <= 0 || o.Height <= 0 {
		o.Width, o.Height = 1280, 720
	}
	return o
}

// ErrDisplayGone says that the X server ended, or the connection to it. The process can open
// no other window then: libX11 keeps the broken connection.
var ErrDisplayGone = errors.New("the connection to the display is lost")

// EventKind says which fields of an Event count.
type EventKind uint8

// The kinds of events, with the fields that count.
const (
	KeyDown   EventKind = iota + 1 // Key, Mods
	KeyRepeat                      // Key, Mods
	KeyUp                          // Key, Mods
	MouseDown                      // Button, X, Y, Mods
	MouseUp                        // Button, X, Y, Mods
	MouseMove                      // X, Y
	Scroll                         // X, Y, ScrollX, ScrollY
	Resize                         // Width, Height
)

// Event is one input of the user.
type Event struct {
	Kind   EventKind
	Key    Key
	Mods   Mods
	Button Button
	// X and Y are the cursor's place in pixels from the top-left corner.
	X, Y             float64
	ScrollX, ScrollY float64 // steps of the wheel, up and right positive
	Width, Height    int     // the window's new size in pixels
}

// Key is a key by what it types without modifiers. It is the code of a capital letter or of
// another character of ASCII ('A', '1', ' '). A key that types none of them, such as a letter
// of another script, is called as on the American keyboard. Others have GLFW's numbers.
type Key int

// Keys without a character.
const (
	KeyEscape    Key = 256
	KeyEnter     Key = 257
	KeyTab       Key = 258
	KeyBackspace Key = 259
	KeyRight     Key = 262
	KeyLeft      Key = 263
	KeyDownArrow Key = 264
	KeyUpArrow   Key = 265
	KeyF11       Key = 300
)

// Mods are the modifier keys held.
type Mods uint8

// The modifier keys.
const (
	ModShift Mods = 1 << iota
	ModControl
	ModAlt
	ModSuper
)

// Button is a mouse button.
type Button uint8

// The mouse buttons.
const (
	ButtonLeft Button = iota
	ButtonRight
	ButtonMiddle
)

// inbox is the bounded queue of events between the main thread, which must not wait for a
// busy program, and the program.
type inbox struct {
	events  chan Event
	dropped atomic.Int64
}

// inboxSize holds two seconds of a fast hand.
const inboxSize = 256

func newInbox() *inbox { return &inbox{events: make(chan Event, inboxSize)} }

// put never waits. Cursor moves give way first: once the queue is half full a
// later one says as much as those that are dropped. A full queue loses its oldest
// event, since the user's latest wish counts: a key that is released now must not seem held.
// Main thread.
func (b *inbox) put(e Event) {
	if e.Kind == MouseMove && len(b.events) >= inboxSize/2 {
		b.dropped.Add(1)
		return
	}
	for {
		select {
		case b.events <- e:
			return
		default:
		}
		select {
		case <-b.events:
			b.dropped.Add(1)
		default: // the program took one meanwhile
		}
	}
}
