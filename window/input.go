package window

import (
	"fmt"
	"image"
	"sync/atomic"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

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
// another character of ASCII ('A', '1', ' '), or one of the names below.
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

// inbox is the bounded queue of events between the goroutine that reads them, which
// must not wait for a busy program, and the program.
type inbox struct {
	events  chan Event
	dropped atomic.Int64
}

// inboxSize holds two seconds of a fast hand.
const inboxSize = 256

func newInbox() *inbox { return &inbox{events: make(chan Event, inboxSize)} }

// put never waits. Cursor moves give way first: once the queue is half full a
// later one says as much as those that are dropped.
func (b *inbox) put(e Event) {
	if e.Kind == MouseMove && len(b.events) >= inboxSize/2 {
		b.dropped.Add(1)
		return
	}
	select {
	case b.events <- e:
	default:
		b.dropped.Add(1)
	}
}

// inputMask has the events that the server is asked for.
const inputMask = xproto.EventMaskKeyPress | xproto.EventMaskKeyRelease | xproto.EventMaskButtonPress | xproto.EventMaskButtonRelease |
	xproto.EventMaskPointerMotion | xproto.EventMaskStructureNotify | xproto.EventMaskExposure | xproto.EventMaskFocusChange

// listen hands on events until the connection ends.
func (w *Window) listen() {
	defer close(w.ended)
	for {
		event, err := w.conn.WaitForEvent()
		switch {
		case event != nil:
			w.handle(event)
		case err == nil:
			w.lost.Store(!w.closing.Load())
			w.askToClose()
			return
		}
		// An error is of a request that nobody waited for; the window does without it.
	}
}

func (w *Window) askToClose() {
	select {
	case <-w.closed:
	default:
		close(w.closed)
	}
}

func (w *Window) handle(event xgb.Event) {
	switch e := event.(type) {
	case xproto.KeyPressEvent:
		w.press(e.Detail, e.State)
	case xproto.KeyReleaseEvent:
		w.release(e.Detail, modsOf(e.State))
	case xproto.ButtonPressEvent:
		w.button(MouseDown, e.Detail, e.State, e.EventX, e.EventY)
	case xproto.ButtonReleaseEvent:
		w.button(MouseUp, e.Detail, e.State, e.EventX, e.EventY)
	case xproto.MotionNotifyEvent:
		w.inbox.put(Event{Kind: MouseMove, X: float64(e.EventX), Y: float64(e.EventY)})
	case xproto.FocusOutEvent:
		for code := range w.keys.held { // their releases go elsewhere
			w.release(code, 0)
		}
	case xproto.ConfigureNotifyEvent:
		w.resized(int(e.Width), int(e.Height))
	case xproto.ExposeEvent:
		x, y := int(e.X), int(e.Y)
		w.canvas.repaint(image.Rect(x, y, x+int(e.Width), y+int(e.Height)))
	case xproto.MapNotifyEvent:
		w.hidden.Store(false)
	case xproto.UnmapNotifyEvent:
		w.hidden.Store(true)
	case xproto.MappingNotifyEvent:
		_ = w.keys.read(w.conn) // without it the keys are those of before
	case xproto.ClientMessageEvent:
		if e.Type == w.atoms.protocols && e.Format == 32 && xproto.Atom(e.Data.Data32[0]) == w.atoms.deleteWindow {
			w.askToClose()
		}
	}
}

func (w *Window) resized(width, height int) {
	if old := w.size.Load(); int(old>>32) == width && int(uint32(old)) == height {
		return // it was moved
	}
	w.setSize(width, height)
	w.inbox.put(Event{Kind: Resize, Width: width, Height: height})
}

func (w *Window) press(code xproto.Keycode, state uint16) {
	key := w.keys.keys[code]
	if key == 0 {
		return
	}
	kind := KeyDown
	if w.keys.held[code] {
		kind = KeyRepeat
	}
	w.keys.held[code] = true
	w.inbox.put(Event{Kind: kind, Key: key, Mods: modsOf(state)})
}

func (w *Window) release(code xproto.Keycode, mods Mods) {
	if w.keys.held[code] {
		delete(w.keys.held, code)
		w.inbox.put(Event{Kind: KeyUp, Key: w.keys.keys[code], Mods: mods})
	}
}

// The wheel's steps are presses of buttons 4 to 7.
var scrolls = map[xproto.Button][2]float64{4: {0, 1}, 5: {0, -1}, 6: {-1, 0}, 7: {1, 0}}

var buttons = map[xproto.Button]Button{1: ButtonLeft, 2: ButtonMiddle, 3: ButtonRight}

func (w *Window) button(kind EventKind, number xproto.Button, state uint16, x, y int16) {
	e := Event{Kind: kind, X: float64(x), Y: float64(y), Mods: modsOf(state)}
	if by, ok := scrolls[number]; ok {
		if kind == MouseDown {
			e.Kind, e.ScrollX, e.ScrollY, e.Mods = Scroll, by[0], by[1], 0
			w.inbox.put(e)
		}
		return
	}
	if button, ok := buttons[number]; ok {
		e.Button = button
		w.inbox.put(e)
	}
}

func modsOf(state uint16) Mods {
	var m Mods
	for mask, mod := range map[uint16]Mods{
		xproto.ModMaskShift: ModShift, xproto.ModMaskControl: ModControl, xproto.ModMask1: ModAlt, xproto.ModMask4: ModSuper,
	} {
		if state&mask != 0 {
			m |= mod
		}
	}
	return m
}

// keyboard knows what the keys are called and which are held.
type keyboard struct {
	first, last xproto.Keycode
	keys        map[xproto.Keycode]Key
	held        map[xproto.Keycode]bool
}

func (k *keyboard) init(conn *xgb.Conn, setup *xproto.SetupInfo) error {
	k.first, k.last, k.held = setup.MinKeycode, setup.MaxKeycode, map[xproto.Keycode]bool{}
	if err := k.read(conn); err != nil {
		return fmt.Errorf("read the keyboard: %w", err)
	}
	detectRepeats(conn)
	return nil
}

// read asks for the keys' symbols. Of a key's symbols the first that Key has a number for
// counts, so that letters are found on keyboards that type another script too.
func (k *keyboard) read(conn *xgb.Conn) error {
	reply, err := xproto.GetKeyboardMapping(conn, k.first, byte(k.last-k.first)+1).Reply()
	if err != nil {
		return err
	}
	k.keys = map[xproto.Keycode]Key{}
	perKey := int(reply.KeysymsPerKeycode)
	for i, symbol := range reply.Keysyms {
		code := k.first + xproto.Keycode(i/perKey)
		if key := keyOf(symbol); key != 0 && k.keys[code] == 0 {
			k.keys[code] = key
		}
	}
	return nil
}

// Symbols of keys without a character (X11/keysymdef.h).
var symbols = map[xproto.Keysym]Key{
	0xff08: KeyBackspace, 0xff09: KeyTab, 0xff0d: KeyEnter, 0xff8d: KeyEnter, 0xff1b: KeyEscape,
	0xff51: KeyLeft, 0xff52: KeyUpArrow, 0xff53: KeyRight, 0xff54: KeyDownArrow,
}

// keyOf returns the key of a symbol, 0 for none. The symbols of ASCII are its codes.
func keyOf(symbol xproto.Keysym) Key {
	switch {
	case symbol >= 'a' && symbol <= 'z':
		return Key(symbol - 'a' + 'A')
	case symbol >= ' ' && symbol <= '~':
		return Key(symbol)
	}
	return symbols[symbol]
}

// detectRepeats asks the keyboard extension (XKB 1.0) to repeat a held key as presses
// alone. Without it each repetition is a release and a press.
func detectRepeats(conn *xgb.Conn) {
	const name = "XKEYBOARD"
	extension, err := xproto.QueryExtension(conn, uint16(len(name)), name).Reply()
	if err != nil || !extension.Present {
		return
	}
	const (
		useExtension, perClientFlags = 0, 21
		coreKeyboard                 = 0x100
		detectableAutoRepeat         = 1
	)
	for _, request := range [][]byte{
		append([]byte{extension.MajorOpcode, useExtension, 2, 0}, 1, 0, 0, 0), // version 1.0
		append([]byte{extension.MajorOpcode, perClientFlags, 7, 0}, words(coreKeyboard, detectableAutoRepeat, detectableAutoRepeat, 0, 0, 0)...),
	} {
		cookie := conn.NewCookie(true, true)
		conn.NewRequest(request, cookie)
		if _, err := cookie.Reply(); err != nil {
			return
		}
	}
}
