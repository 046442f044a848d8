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

func TestDefaults(t *testing.T) {
	assert.Equal(t, Options{Title: "raybridge", Width: 1280, Height: 720}, Options{}.withDefaults())
	assert.Equal(t, Options{Title: "x", Width: 10, Height: 20},
		Options{Title: "x", Width: 10, Height: 20}.withDefaults())
}
