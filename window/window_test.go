package window

import (
	"testing"

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

// TestInboxKeepsTheLatest has the program take nothing for a while: a key that was released
// meanwhile isn't held afterwards.
func TestInboxKeepsTheLatest(t *testing.T) {
	b := newInbox()
	for range inboxSize {
		b.put(Event{Kind: KeyRepeat, Key: 'W'})
	}
	b.put(Event{Kind: KeyUp, Key: 'W'})
	b.put(Event{Kind: KeyDown, Key: ' '})
	assert.Len(t, b.events, inboxSize)
	assert.EqualValues(t, 2, b.dropped.Load())
	for range inboxSize - 2 {
		<-b.events
	}
	assert.Equal(t, Event{Kind: KeyUp, Key: 'W'}, <-b.events)
	assert.Equal(t, Event{Kind: KeyDown, Key: ' '}, <-b.events)
}

func TestDefaults(t *testing.T) {
	assert.Equal(t, Options{Title: "raybridge", Width: 1280, Height: 720}, Options{}.withDefaults())
	assert.Equal(t, Options{Title: "x", Width: 10, Height: 20},
		Options{Title: "x", Width: 10, Height: 20}.withDefaults())
}
