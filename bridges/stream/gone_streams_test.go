package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Thousands of streams that come and go leave nothing behind at the server, nor at a client that
// was there. A new client is told of none.
func TestStreamsThatComeAndGo(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	add(t, s, "/stays")
	gone := make(chan string, 1)
	old := dial(t, s, stream.Options{Events: func(e stream.Event) {
		if e.Kind == stream.EventGone {
			gone <- e.Stream
		}
	}})
	const many = 3000
	for i := range many {
		name := fmt.Sprintf("/episode_%d/camera/image", i)
		out := add(t, s, name)
		s.RemoveStream(out)
		s.RemoveStream(out) // changes nothing
		require.Equal(t, name, take(t, gone))
		assert.Zero(t, out.Subscribers())
	}
	for _, c := range []*stream.Client{old, dial(t, s, stream.Options{})} {
		require.Len(t, c.Streams(), 1)
		assert.Equal(t, "/stays", c.Streams()[0].Name)
	}
	assert.Equal(t, 1, s.Known())
}

// Ids come again when all were used, and none that a stream has.
func TestIdsComeAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s := serve(t, stream.ServerConfig{})
	first := add(t, s, "/first")
	for range 1<<16 + 10 {
		s.RemoveStream(add(t, s, "/next"))
	}
	assert.Equal(t, uint16(1), first.ID())
	assert.Equal(t, uint16(14), add(t, s, "/last").ID())
}

// A name that has gone may come again with another type. Its listeners stay, and receive what
// comes of the new one; nothing is missing at its beginning.
func TestANameComesAgain(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	e := newEvents()
	c := dial(t, s, stream.Options{Events: func(event stream.Event) { e <- event }})
	out := add(t, s, "/front")
	e.of(t, stream.EventStream)
	types := make(chan string, 100)
	require.NoError(t, c.Listen(t.Context(), "/front", func(d *stream.Data) {
		assert.Zero(t, d.Missed)
		types <- d.Stream.Schema.Name
	}))
	publish(t, out, 0)
	assert.Equal(t, "raybridge_msgs/msg/Speed", take(t, types))
	s.RemoveStream(out)
	e.of(t, stream.EventGone)

	again := addOf[sample.Comfort](t, s, stream.Info{Name: "/front"}, nil)
	require.Eventually(t, func() bool { return again.Subscribers() == 1 }, limit, time.Millisecond)
	require.NoError(t, again.Publish(t.Context(), 0, &sample.Comfort{}))
	assert.Equal(t, "raybridge_msgs/msg/Comfort", take(t, types))
}

// Streams that the greeting has no room for follow it, however many there are.
func TestMoreStreamsThanAGreetingHolds(t *testing.T) {
	s := serve(t, stream.ServerConfig{})
	const many = 20
	for i := range many {
		_, err := s.AddStream(stream.Info{Name: fmt.Sprintf("/%d", i)}, &stream.Encoding{Schema: bridges.Schema{Name: "a", Data: make([]byte, 1<<20)}}, nil, nil)
		require.NoError(t, err)
	}
	c := dial(t, s, stream.Options{})
	assert.GreaterOrEqual(t, len(c.Streams()), 15)
	require.Eventually(t, func() bool { return len(c.Streams()) == many }, limit, time.Millisecond)
}
