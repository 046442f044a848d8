package osi

import (
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// breeze writes a Wind.
func breeze(from, speed float64) message {
	m := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(from))
	return protowire.AppendFixed64(protowire.AppendTag(m, 2, protowire.Fixed64Type), math.Float64bits(speed))
}

// TestEnvironment: classes are taken by their middles, and what tells nothing leaves the weather as it is.
func TestEnvironment(t *testing.T) {
	layer := func(class uint64) message { return message{}.number(1, class) }
	for name, c := range map[string]struct {
		conditions message
		want       *weather.State
	}{
		"nothing":            {nil, nil},
		"a night":            {message{}.number(1, 2), nil},
		"unknown, and other": {message{}.number(6, 0).number(7, 1).put(10, layer(1)), nil},
		"beyond the classes": {message{}.number(6, 9).number(7, 10).put(10, layer(12)), nil},
		"clear":              {message{}.number(6, 2).number(7, 2).put(10, layer(2)), &weather.State{}},
		"moderate rain":      {message{}.number(6, 5), &weather.State{Rain: 5, Wetness: math.Sqrt(0.2), Cloud: 1}},
		"extreme rain":       {message{}.number(6, 8), &weather.State{Rain: 149, Wetness: 1, Cloud: 1}},
		"thick fog":          {message{}.number(7, 8), &weather.State{Visibility: 125}},
		"dense fog":          {message{}.number(7, 9), &weather.State{Visibility: 25}},
		"good visibility":    {message{}.number(7, 3), &weather.State{Visibility: 25_000}},
		"rain with the sun":  {message{}.number(6, 4).put(10, layer(4)), &weather.State{Rain: 1.2, Wetness: math.Sqrt(1.2 / 25), Cloud: 0.25}},
		"eight oktas":        {message{}.put(10, layer(10)), &weather.State{Cloud: 1}},
		"an obscured sky":    {message{}.put(10, layer(11)), &weather.State{Cloud: 1}},
		"a north wind":       {message{}.put(11, breeze(0, 5)), &weather.State{Wind: weather.Wind{Y: -5}}},
		"a west wind":        {message{}.put(11, breeze(math.Pi/2, 5)), &weather.State{Wind: weather.Wind{X: 5}}},
	} {
		frames, err := read(t, write(t, "a.osi", framed(truthAt(0), truthAt(1e8).put(12, c.conditions), truthAt(2e8))), world.Options{})
		require.ErrorIs(t, err, io.EOF, name)
		require.Len(t, frames, 3)
		assert.Nil(t, frames[0].Weather)
		assert.Nil(t, frames[2].Weather)
		if c.want == nil {
			assert.Nil(t, frames[1].Weather, name)
			continue
		}
		require.NotNil(t, frames[1].Weather, name)
		got := *frames[1].Weather
		assert.InDelta(t, c.want.Wind.X, got.Wind.X, 1e-12, name)
		assert.InDelta(t, c.want.Wind.Y, got.Wind.Y, 1e-12, name)
		got.Wind = c.want.Wind
		assert.Equal(t, *c.want, got, name)
	}
	for text, bad := range map[string]message{
		"environmental conditions: weather is not usable: wind.x is 150": message{}.put(11, breeze(math.Pi/2, 150)),
		"environmental conditions: weather is not usable: wind.x is NaN": message{}.put(11, breeze(0, math.NaN())),
		"environmental conditions: wind: value is not usable: direction": message{}.put(11, breeze(math.Inf(1), 1)),
		"environmental conditions: it is damaged":                        message("\x30"),
		"environmental conditions: clouds: it is damaged":                message{}.put(10, message("\x08")),
	} {
		_, err := read(t, write(t, "a.osi", framed(truthAt(0), truthAt(1e8).put(12, bad))), world.Options{})
		assert.ErrorContains(t, err, text)
	}
}
