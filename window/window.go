// Package window shows pictures in a window of an X server, XWayland's too, and hands its
// user's input to the program. It speaks the X protocol itself: no library is linked or
// opened, and no thread or OpenGL context is taken.
//
//	w, err := window.Open(window.Options{Title: "raybridge"})
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	for {
//		select {
//		case e := <-w.Events():
//			...
//		case <-w.Closed():
//			return nil
//		case picture := <-pictures:
//			if err := w.Show(picture); err != nil {
//				return err
//			}
//		}
//	}
package window

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/raybridge/raybridge/gpu"
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

// Window is an open window. Any goroutine may call its methods.
type Window struct {
	conn   *xgb.Conn
	id     xproto.Window
	atoms  atoms
	keys   keyboard // the listening goroutine's
	inbox  *inbox
	closed chan struct{}
	ended  chan struct{} // the listening goroutine has returned

	size    atomic.Uint64 // width in the upper half
	hidden  atomic.Bool
	closing atomic.Bool // Close was called
	lost    atomic.Bool // the connection ended by itself

	canvas canvas
}

// atoms are the server's numbers of names.
type atoms struct{ protocols, deleteWindow, netName, utf8 xproto.Atom }

// quiet keeps the protocol's package from writing to the standard error: what it tells
// there comes as errors and events too.
var quiet = sync.OnceFunc(func() { xgb.Logger = log.New(io.Discard, "", 0) })

// Open opens a window on the display that the environment variable DISPLAY names. Without a
// display, or on one that shows no true colours, the error is a *gpu.UnsupportedError.
func Open(opts Options) (*Window, error) {
	opts = opts.withDefaults()
	quiet()
	if os.Getenv("DISPLAY") == "" {
		return nil, noDisplay(errors.New("DISPLAY is not set"))
	}
	conn, err := xgb.NewConn()
	if err != nil {
		return nil, noDisplay(err)
	}
	w := &Window{conn: conn, inbox: newInbox(), closed: make(chan struct{}), ended: make(chan struct{})}
	if err := w.create(opts); err != nil {
		conn.Close()
		return nil, err
	}
	go w.listen()
	return w, nil
}

func noDisplay(cause error) error {
	return &gpu.UnsupportedError{
		Feature: "display for a window",
		Need:    "set DISPLAY to an X server, use a virtual one (apt-get install xvfb, dnf install xorg-x11-server-Xvfb, pacman -S xorg-server-xvfb; xvfb-run), or run headless",
		Err:     cause,
	}
}

// create makes the window and shows it.
func (w *Window) create(opts Options) error {
	setup := xproto.Setup(w.conn)
	screen := setup.DefaultScreen(w.conn)
	colors, err := trueColors(setup, screen)
	if err != nil {
		return err
	}
	if w.id, err = xproto.NewWindowId(w.conn); err != nil {
		return fmt.Errorf("create window: %w", err)
	}
	width, height := min(opts.Width, maxSide), min(opts.Height, maxSide)
	// Values stand in the order of their bits. Contents keep their place when the size
	// changes, and what has none yet is black.
	err = xproto.CreateWindowChecked(w.conn, screen.RootDepth, w.id, screen.Root, 0, 0, uint16(width), uint16(height), 0,
		xproto.WindowClassInputOutput, screen.RootVisual, xproto.CwBackPixel|xproto.CwBitGravity|xproto.CwEventMask,
		[]uint32{screen.BlackPixel, xproto.GravityNorthWest, inputMask}).Check()
	if err != nil {
		return fmt.Errorf("create window: %w", err)
	}
	w.setSize(width, height)
	if err := w.canvas.init(w, colors, int(setup.MaximumRequestLength)*4); err != nil {
		return err
	}
	if err := w.describe(opts.Title); err != nil {
		return err
	}
	if err := w.keys.init(w.conn, setup); err != nil {
		return err
	}
	if err := xproto.MapWindowChecked(w.conn, w.id).Check(); err != nil {
		return fmt.Errorf("show window: %w", err)
	}
	return nil
}

// maxSide bounds widths and heights, which the protocol has 16 bits for, some of them signed.
const maxSide = 1<<15 - 1

// describe tells the window manager what it must know (ICCCM 4.1.2).
func (w *Window) describe(title string) error {
	for name, atom := range map[string]*xproto.Atom{
		"WM_PROTOCOLS": &w.atoms.protocols, "WM_DELETE_WINDOW": &w.atoms.deleteWindow,
		"_NET_WM_NAME": &w.atoms.netName, "UTF8_STRING": &w.atoms.utf8,
	} {
		reply, err := xproto.InternAtom(w.conn, false, uint16(len(name)), name).Reply()
		if err != nil {
			return fmt.Errorf("describe window: %w", err)
		}
		*atom = reply.Atom
	}
	const inputHint = 1
	w.setProperty(w.atoms.protocols, xproto.AtomAtom, 32, words(uint32(w.atoms.deleteWindow)))
	w.setProperty(xproto.AtomWmHints, xproto.AtomWmHints, 32, words(inputHint, 1, 0, 0, 0, 0, 0, 0, 0))
	w.setProperty(xproto.AtomWmClass, xproto.AtomString, 8, []byte("raybridge\x00raybridge\x00"))
	w.SetTitle(title)
	return nil
}

// setProperty queues a property's change; format is the bits of an element.
func (w *Window) setProperty(property, kind xproto.Atom, format byte, data []byte) {
	xproto.ChangeProperty(w.conn, xproto.PropModeReplace, w.id, property, kind, format, uint32(len(data)*8/int(format)), data)
}

func words(values ...uint32) []byte {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		xgb.Put32(data[4*i:], v)
	}
	return data
}

// SetTitle changes the window's title.
func (w *Window) SetTitle(title string) {
	w.setProperty(w.atoms.netName, w.atoms.utf8, 8, []byte(title))
	w.setProperty(xproto.AtomWmName, xproto.AtomString, 8, []byte(title))
}

// Size returns the window's size in pixels; 0, 0 while it is minimised.
func (w *Window) Size() (width, height int) {
	if w.hidden.Load() {
		return 0, 0
	}
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

// Closed is closed when the user asks to close the window, or when the display is gone,
// which Err tells. The window stays on the screen until Close.
func (w *Window) Closed() <-chan struct{} { return w.closed }

// ErrDisplayGone says that the X server ended, or the connection to it.
var ErrDisplayGone = errors.New("the connection to the display is lost")

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
	w.conn.Close()
	<-w.ended
}
