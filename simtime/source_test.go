package simtime_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// stopwatch is a user's source that follows neither scale nor pause.
type stopwatch struct{ start time.Time }

func (s stopwatch) Now() simtime.Stamp { return simtime.Stamp(time.Since(s.start)) }

// bent is a user's source that does everything a source can.
type bent struct {
	since time.Time
	base  int64
	scale simtime.Scale
}

func newBent() *bent { return &bent{since: time.Now()} }

func (b *bent) Now() simtime.Stamp {
	return simtime.Stamp(b.base + b.scale.Apply(int64(time.Since(b.since))))
}

func (b *bent) SetScale(s simtime.Scale) {
	now := time.Now()
	b.base += b.scale.Apply(int64(now.Sub(b.since)))
	b.since, b.scale = now, s
}

func (b *bent) Step(d int64) { b.base += d }

func userSources() map[string]func() simtime.Source {
	return map[string]func() simtime.Source{
		"stopwatch": func() simtime.Source { return stopwatch{time.Now()} },
		"bent":      func() simtime.Source { return newBent() },
	}
}

func TestUserWrittenSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: " StopWatch", Sources: userSources()})
		assert.Equal(t, "stopwatch", c.Source())
		require.NoError(t, c.WaitUntil(context.Background(), 25*ms))
		assert.GreaterOrEqual(t, c.Now(), simtime.Stamp(25*ms))
		c.Pause()
		stands := c.Now()
		time.Sleep(time.Second)
		assert.Equal(t, stands, c.Now(), "the clock stands even though its source doesn't")
		assert.ErrorIs(t, c.Step(1), simtime.ErrNotSteppable)
		assert.ErrorIs(t, c.Select("gps"), simtime.ErrUnknownSource)
		assert.ErrorContains(t, c.Select("gps"), "stopwatch")
		_, err := simtime.NewClock(simtime.Config{Source: "stopwatch", Sources: userSources(), Stepped: true})
		assert.ErrorIs(t, err, simtime.ErrNotSteppable)
	})
}

// A user's source that follows the scale isn't suspected of jumps for being fast, stepped far,
// or read seldom. One that does jump is found out.
func TestUserWrittenSourceThatFollowsTheScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: "bent", Scale: scale(t, "1000"), Sources: userSources()})
		jumps := 0
		c.Subscribe(func(change simtime.Change) {
			if change.Jump() {
				jumps++
			}
		})
		time.Sleep(time.Hour)
		assert.Equal(t, simtime.Stamp(1000*hour), c.Now())
		time.Sleep(time.Hour)
		require.NoError(t, c.SetScale(scale(t, "0.001")))
		c.Pause()
		require.NoError(t, c.Step(10*hour))
		assert.Equal(t, simtime.Stamp(2010*hour), c.Now())
		c.Resume()
		require.NoError(t, c.WaitUntil(context.Background(), simtime.Stamp(2010*hour+100)))
		assert.Equal(t, simtime.Stamp(2010*hour+500), c.Now(), "asked every half a millisecond at least")
		release := c.Hold()
		time.Sleep(time.Hour)
		release()
		assert.Equal(t, simtime.Stamp(2010*hour+500), c.Now())
		assert.Zero(t, jumps)

		c = newClock(t, simtime.Config{Source: "bent", Stepped: true, Sources: userSources()})
		c.Subscribe(func(simtime.Change) { jumps++ })
		time.Sleep(time.Hour)
		for k := range int64(5) {
			require.NoError(t, c.Advance(simtime.Stamp(k*10_000*ms)))
			assert.Equal(t, simtime.Stamp(k*10_000*ms), c.Now())
		}
		assert.Zero(t, jumps)
	})
}

func TestUserWrittenSourceThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source *bent
		c := newClock(t, simtime.Config{Source: "mine", Sources: map[string]func() simtime.Source{
			"mine": func() simtime.Source { source = newBent(); return source },
		}})
		changes := record(c)
		source.base += 1500 * ms
		assert.EqualValues(t, 1500*ms, c.Pace())
		source.base -= 500 * ms
		assert.EqualValues(t, 1000*ms, c.Now())
		assert.Zero(t, c.Lag(math.MaxInt64))
		var from, to []int64
		for _, change := range changes() {
			assert.Equal(t, simtime.Jumped, change.Kind)
			from, to = append(from, int64(change.From)), append(to, int64(change.To))
		}
		assert.Equal(t, []int64{0, 1500 * ms}, from)
		assert.Equal(t, []int64{1500 * ms, 1000 * ms}, to)
	})
}

func TestBadSources(t *testing.T) {
	made := func() simtime.Source { return newBent() }
	for name, sources := range map[string]map[string]func() simtime.Source{
		"no name":       {" ": made},
		"a built-in's":  {"Engine": made},
		"an alias":      {"DOTNET_system": made},
		"twice":         {"mine": made, "Mine ": made},
		"no function":   {"mine": nil},
		"made no value": {"mine": func() simtime.Source { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simtime.NewClock(simtime.Config{Source: "mine", Sources: sources})
			assert.ErrorIs(t, err, simtime.ErrBadSource)
		})
	}
	empty := map[string]func() simtime.Source{"mine": func() simtime.Source { return nil }}
	c := newClock(t, simtime.Config{Sources: empty})
	assert.ErrorIs(t, c.Select("mine"), simtime.ErrBadSource)
	assert.Equal(t, simtime.Engine, c.Source())
}

// broken is a source that panics.
type broken struct{ healthy bool }

func (b *broken) Now() simtime.Stamp {
	if !b.healthy {
		panic("no signal")
	}
	return 7
}

// A panic of a user's source is its reader's, and no lock stays held.
func TestSourceThatPanics(t *testing.T) {
	b := &broken{healthy: true}
	c := newClock(t, simtime.Config{Source: "gps", Sources: map[string]func() simtime.Source{
		"gps": func() simtime.Source { return b },
	}})
	b.healthy = false
	for name, read := range map[string]func(){
		"Now": func() { c.Now() }, "Pace": func() { c.Pace() }, "Lag": func() { c.Lag(0) }, "Pause": c.Pause,
		"Hold":      func() { c.Hold() },
		"WaitUntil": func() { _ = c.WaitUntil(context.Background(), 1) },
		"SetScale":  func() { _ = c.SetScale(simtime.RealTime) },
		"Advance":   func() { _ = c.Advance(1) },
	} {
		assert.PanicsWithValue(t, "no signal", read, name)
	}
	b.healthy = true
	assert.EqualValues(t, 7, c.Now())
	assert.False(t, c.Paused())
}
