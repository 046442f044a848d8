package window

import "sync/atomic"

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
