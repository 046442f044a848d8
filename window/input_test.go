package window

import (
	"testing"

	"github.com/jezek/xgb/xproto"
	"github.com/stretchr/testify/assert"
)

func TestInboxDropsMovesFirst(t *testing.T) {
	b := newInbox()
	for range inboxSize {
		b.put(Event{Kind: MouseMove})
	}
	assert.Len(t, b.events, inboxSize/2)
	for range inboxSize {
		b.put(Event{Kind: KeyDown, Key: 'P'})
	}
	assert.Len(t, b.events, inboxSize)
	assert.EqualValues(t, inboxSize, b.dropped.Load())
	for range inboxSize / 2 {
		<-b.events
	}
	for range inboxSize / 2 {
		assert.Equal(t, KeyDown, (<-b.events).Kind, "keys survive moves")
	}
}

func TestDefaults(t *testing.T) {
	assert.Equal(t, Options{Title: "raybridge", Width: 1280, Height: 720}, Options{}.withDefaults())
	assert.Equal(t, Options{Title: "x", Width: 10, Height: 20},
		Options{Title: "x", Width: 10, Height: 20}.withDefaults())
}

func TestKeysByTheirSymbols(t *testing.T) {
	for symbol, want := range map[xproto.Keysym]Key{
		'a': 'A', 'z': 'Z', 'A': 'A', '1': '1', ' ': ' ', '/': '/',
		0xff1b: KeyEscape, 0xff0d: KeyEnter, 0xff53: KeyRight,
		0x06d6: 0, // a letter of another script
		0:      0,
	} {
		assert.Equal(t, want, keyOf(symbol), "%#x", symbol)
	}
	assert.Equal(t, ModShift|ModAlt, modsOf(xproto.ModMaskShift|xproto.ModMask1))
	assert.Equal(t, ModControl|ModSuper, modsOf(xproto.ModMaskControl|xproto.ModMask4|xproto.ModMaskLock))
}
