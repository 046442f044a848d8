package weather_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

var (
	dry = weather.State{}
	fog = weather.State{Visibility: 100}
	wet = weather.State{Rain: 5}
)

// TestHistoryHoldsFromTickToTick: a weather that is set counts from the next tick on, and those of before are known
// as long as ticks are.
func TestHistoryHoldsFromTickToTick(t *testing.T) {
	h := weather.NewHistory(dry)
	assert.Equal(t, dry, h.At(0))
	h.Record(0, 0)
	require.NoError(t, h.Set(fog))
	assert.Equal(t, dry, h.At(1e9), "it is to come")
	assert.Equal(t, fog, h.Coming())
	h.Record(10, 0)
	h.Record(20, 0)
	require.NoError(t, h.Set(dry))
	require.NoError(t, h.Set(wet), "the last one counts")
	h.Record(30, 0)
	want := map[simtime.Stamp]weather.State{-1: dry, 0: dry, 9: dry, 10: fog, 29: fog, 30: wet, 1e9: wet}
	for at, state := range want {
		assert.Equal(t, state, h.At(at), "at %d", at)
	}
	_, now, changes := h.Course()
	assert.Equal(t, wet, now)
	assert.EqualValues(t, 2, changes)
	h.Record(40, 10) // the tick of 0 is gone
	assert.Equal(t, fog, h.At(0))
	h.Record(50, 40)
	assert.Equal(t, wet, h.At(0))
}

// TestHistoryOfEqualWeathers: the same weather again doesn't count as a change.
func TestHistoryOfEqualWeathers(t *testing.T) {
	h := weather.NewHistory(fog)
	h.Record(0, 0)
	require.NoError(t, h.Set(fog))
	h.Record(10, 0)
	_, _, changes := h.Course()
	assert.Zero(t, changes)
}

// TestHistoryRefuses what isn't usable, and keeps what was set before.
func TestHistoryRefuses(t *testing.T) {
	h := weather.NewHistory(dry)
	require.NoError(t, h.Set(fog))
	require.ErrorIs(t, h.Set(weather.State{Rain: math.NaN()}), weather.ErrValue)
	h.Record(0, 0)
	assert.Equal(t, fog, h.At(0))
}

// TestHistoryAfterAJump: what holds at the tick that the clock has jumped to holds from there, and before.
func TestHistoryAfterAJump(t *testing.T) {
	for _, to := range []simtime.Stamp{5, 1000} {
		h := weather.NewHistory(dry)
		h.Record(10, 10)
		require.NoError(t, h.Set(fog))
		h.Record(20, 10)
		require.NoError(t, h.Set(wet))
		h.Record(30, 10)
		h.Record(to, to)
		for _, at := range []simtime.Stamp{0, to, to + 1} {
			assert.Equal(t, wet, h.At(at), "at %d after a jump to %d", at, to)
		}
	}
}

// TestHistoryRestarts with the weather that it began with.
func TestHistoryRestarts(t *testing.T) {
	h := weather.NewHistory(fog)
	require.NoError(t, h.Set(wet))
	h.Record(10, 0)
	require.NoError(t, h.Set(dry))
	h.Restart()
	h.Record(0, 0)
	assert.Equal(t, fog, h.At(0))
	assert.Equal(t, fog, h.At(10))
}

// TestCourse begins with the weather of the first tick, whatever was to be before it, and goes on over restarts.
func TestCourse(t *testing.T) {
	type course struct {
		begin, end weather.State
		changes    int64
	}
	h := weather.NewHistory(fog)
	told := func() (c course) {
		c.begin, c.end, c.changes = h.Course()
		return c
	}
	require.NoError(t, h.Set(dry))
	assert.Equal(t, course{fog, fog, 0}, told())
	h.Record(0, 0)
	assert.Equal(t, course{dry, dry, 0}, told(), "no instant had fog")
	require.NoError(t, h.Set(wet))
	h.Record(10, 0)
	assert.Equal(t, course{dry, wet, 1}, told())
	h.Restart()
	h.Record(0, 0)
	assert.Equal(t, course{dry, fog, 1}, told())
}
