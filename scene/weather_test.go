package scene_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

// TestWeatherHasTheHistorysTicks: it changes with a tick, is known as long as the tick is, and begins again.
func TestWeatherHasTheHistorysTicks(t *testing.T) {
	fog, rain := weather.State{Visibility: 100}, weather.State{Rain: 5}
	h := scene.NewHistory(&scene.Scene{}, nil, 4)
	assert.ErrorIs(t, h.BeginWeather(weather.State{Wetness: math.NaN()}), weather.ErrValue)
	require.NoError(t, h.BeginWeather(fog))
	h.Record(0)
	require.NoError(t, h.Weather().Set(rain))
	assert.Equal(t, fog, h.Weather().At(10))
	for stamp := simtime.Stamp(10); stamp < 40; stamp += 10 {
		h.Record(stamp)
	}
	assert.Equal(t, fog, h.Weather().At(9))
	assert.Equal(t, rain, h.Weather().At(10))
	h.Record(40) // the tick of 0 is gone
	assert.Equal(t, rain, h.Weather().At(9))
	h.Restart()
	h.Record(0)
	assert.Equal(t, fog, h.Weather().At(10))
}
