package stage_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
	"github.com/raybridge/raybridge/world"
)

// TestAFramesWeather holds from the step's first instant on, until another frame has another.
func TestAFramesWeather(t *testing.T) {
	p := plaza(t, 1)
	fog := weather.State{Visibility: 100}
	p.step(t, world.Frame{Until: tick})
	p.step(t, world.Frame{Until: 2 * tick, Weather: &fog})
	p.step(t, world.Frame{Until: 3 * tick})
	p.step(t, world.Frame{Until: 4 * tick, Weather: &weather.State{}})
	for at, want := range []weather.State{{}, {}, fog, fog, {}} {
		assert.Equal(t, want, p.history.Weather().At(simtime.Stamp(at*tick)), "at tick %d", at)
	}
}

// TestAWorldsWeatherWins over the one that the run was to begin with, and the log has both.
func TestAWorldsWeatherWins(t *testing.T) {
	p := plaza(t, 1)
	require.NoError(t, p.history.BeginWeather(weather.State{Visibility: 100}))
	p.step(t, world.Frame{Until: tick, Weather: &weather.State{Rain: 5}})
	assert.Contains(t, p.log.String(), `own="visibility 100 m" world="rain 5 mm/h"`)
	before := p.log.String()
	p.step(t, world.Frame{Until: 2 * tick, Weather: &weather.State{}})
	assert.Equal(t, before, p.log.String(), "it changes, as weathers do")
}

// TestBadWeatherRefusesTheFrame as a whole.
func TestBadWeatherRefusesTheFrame(t *testing.T) {
	for text, bad := range map[string]weather.State{
		"weather is not usable: rain is NaN, the range is 0 to 300 mm/h":      {Rain: math.NaN()},
		"weather is not usable: visibility is 0.5, the range is 1 to 1e9 m":   {Visibility: 0.5},
		"weather is not usable: wind.y is -101, the range is -100 to 100 m/s": {Wind: weather.Wind{Y: -101}},
	} {
		p := plaza(t, 1)
		_, err := p.Check(&world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}, Weather: &bad}, 0)
		require.ErrorIs(t, err, world.ErrValue)
		require.ErrorIs(t, err, weather.ErrValue)
		var where *world.ActorError
		require.ErrorAs(t, err, &where)
		assert.Equal(t, world.ListWeather, where.List)
		assert.EqualError(t, err, text)
		p.step(t, world.Frame{Until: tick, Spawn: []world.Spawn{sedan("a", at(0, 0, 0))}})
		assert.Equal(t, weather.State{}, p.history.Weather().At(tick))
	}
}
