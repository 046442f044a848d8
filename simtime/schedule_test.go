package simtime_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

func schedule(t *testing.T, text string, start int64) *simtime.Schedule {
	t.Helper()
	s, err := simtime.NewSchedule(rate(t, text), start)
	require.NoError(t, err)
	return s
}

// instants calls Due at the given times and returns what fired.
func instants(s *simtime.Schedule, times ...int64) []int64 {
	fired := []int64{}
	for _, now := range times {
		if at, due := s.Due(now); due {
			fired = append(fired, at)
		}
	}
	return fired
}

const ms = int64(1_000_000)

func TestScheduleFiresOnItsGrid(t *testing.T) {
	s := schedule(t, "13.4", 0)
	for k := int64(0); k < 1_000_000; k++ {
		at, due := s.Due(s.Next())
		if want := k * 5_000_000_000 / 67; !due || at != want {
			t.Fatalf("instant %d: got %d, want %d", k, at, want)
		}
		if _, again := s.Due(at); again {
			t.Fatalf("instant %d fired twice", k)
		}
	}
	assert.Zero(t, s.Skipped())
}

func TestScheduleStart(t *testing.T) {
	assert.EqualValues(t, 0, schedule(t, "10", 0).Next())
	assert.EqualValues(t, 100*ms, schedule(t, "10", 1).Next())
	assert.EqualValues(t, 100*ms, schedule(t, "10", 100*ms).Next())
	lidar := rate(t, "10")
	s, err := simtime.NewSchedule(lidar, int64(lidar.Period()))
	require.NoError(t, err)
	assert.EqualValues(t, 100*ms, s.Next())
	_, err = simtime.NewSchedule(simtime.Rate{}, 0)
	assert.ErrorIs(t, err, simtime.ErrRate)
}

// A loop that is late gets one instant, the last that has come, and keeps phase.
func TestScheduleSkipsInsteadOfBursting(t *testing.T) {
	s := schedule(t, "10", 0)
	got := instants(s, 0, 16*ms, 99*ms, 101*ms, 450*ms, 451*ms, 460*ms, 500*ms)
	assert.Equal(t, []int64{0, 100 * ms, 400 * ms, 500 * ms}, got)
	assert.EqualValues(t, 2, s.Skipped())
}

func TestScheduleChangesRate(t *testing.T) {
	s := schedule(t, "10", 0)
	assert.Equal(t, []int64{0, 100 * ms}, instants(s, 0, 100*ms))
	require.NoError(t, s.SetRate(rate(t, "20"), 100*ms))
	assert.EqualValues(t, 150*ms, s.Next(), "100 ms has been fired")
	assert.Equal(t, []int64{150 * ms, 200 * ms}, instants(s, 150*ms, 200*ms))
	require.NoError(t, s.SetRate(rate(t, "4"), 210*ms))
	assert.Equal(t, []int64{250 * ms}, instants(s, 220*ms, 250*ms))
	require.NoError(t, s.SetRate(rate(t, "10"), 300*ms))
	assert.EqualValues(t, 300*ms, s.Next(), "an instant that is now, not yet fired")
	assert.ErrorIs(t, s.SetRate(simtime.Rate{}, 0), simtime.ErrRate)
	assert.Equal(t, rate(t, "10"), s.Rate())
	assert.Zero(t, s.Skipped())
}

func TestScheduleAfterJump(t *testing.T) {
	s := schedule(t, "10", 0)
	assert.Equal(t, []int64{1000 * ms}, instants(s, 1000*ms))
	assert.Equal(t, []int64{300 * ms, 400 * ms}, instants(s, 250*ms, 300*ms, 400*ms), "the clock went back to 250 ms")
	before := s.Skipped()
	s.Realign(1_700_000_000_050 * ms)
	assert.EqualValues(t, 1_700_000_000_100*ms, s.Next())
	assert.Equal(t, before, s.Skipped())
}

func TestFixedLoop(t *testing.T) {
	l, err := simtime.NewFixedLoop(simtime.Hz(100), 0)
	require.NoError(t, err)
	assert.Equal(t, []int64{0}, slices.Collect(l.Until(5*ms)))
	assert.Empty(t, slices.Collect(l.Until(9*ms)))
	assert.Equal(t, []int64{10 * ms, 20 * ms, 30 * ms}, slices.Collect(l.Until(33*ms)))
	_, err = simtime.NewFixedLoop(simtime.Rate{}, 0)
	assert.ErrorIs(t, err, simtime.ErrRate)
}
