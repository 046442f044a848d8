package simtime_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func schedule(t *testing.T, text string, start int64) *simtime.Schedule {
	t.Helper()
	s, err := simtime.NewSchedule(rate(t, text), simtime.Stamp(start))
	require.NoError(t, err)
	return s
}

// instants calls Due at the given times and returns what fired.
func instants(s *simtime.Schedule, times ...int64) []int64 {
	fired := []int64{}
	for _, now := range times {
		if at, due := s.Due(simtime.Stamp(now)); due {
			fired = append(fired, int64(at))
		}
	}
	return fired
}

const ms = 1_000_000

func TestScheduleFiresOnItsGrid(t *testing.T) {
	s := schedule(t, "13.4", 0)
	for k := int64(0); k < 1_000_000; k++ {
		at, due := s.Due(s.Next())
		if want := k * 5_000_000_000 / 67; !due || at != simtime.Stamp(want) {
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
	s, err := simtime.NewSchedule(lidar, simtime.Stamp(lidar.Period()))
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
	assert.Zero(t, l.Next())
	assert.Equal(t, []simtime.Stamp{0}, slices.Collect(l.Until(5*ms)))
	assert.EqualValues(t, 10*ms, l.Next())
	assert.Empty(t, slices.Collect(l.Until(9*ms)))
	assert.Equal(t, []simtime.Stamp{10 * ms, 20 * ms, 30 * ms}, slices.Collect(l.Until(33*ms)))
	_, err = simtime.NewFixedLoop(simtime.Rate{}, 0)
	assert.ErrorIs(t, err, simtime.ErrRate)
}

// TestEvery: instants are exactly a period apart, however many there were.
func TestEvery(t *testing.T) {
	for _, d := range []time.Duration{1, 7, time.Millisecond, 10 * time.Millisecond, 33_333_333, time.Second, 3_000_000_001, time.Hour} {
		r, err := simtime.Every(d)
		require.NoError(t, err)
		for _, k := range []int64{0, 1, 2, 1_000_003} {
			assert.Equal(t, simtime.Stamp(k*int64(d)), r.At(k), "%v", d)
			assert.Equal(t, k, r.IndexAt(simtime.Stamp(k*int64(d))), "%v", d)
		}
	}
	for _, d := range []time.Duration{0, -1, 10_000_000_001} {
		_, err := simtime.Every(d)
		assert.ErrorIs(t, err, simtime.ErrRate, "%v", d)
	}
}

// allRates are 1 to 100 Hz, and some beyond and between, as num/den.
func allRates() map[string][2]int64 {
	rates := map[string][2]int64{
		"0.1": {1, 10}, "0.3": {3, 10}, "13.4": {67, 5}, "29.97": {2997, 100}, "99.9": {999, 10}, "250": {250, 1}, "1000": {1000, 1}, "12345.6": {61728, 5},
	}
	for hz := int64(1); hz <= 100; hz++ {
		rates[strconv.FormatInt(hz, 10)] = [2]int64{hz, 1}
	}
	return rates
}

// T3, on the frame's update: with frames of any length a sensor fires at the frame in which an
// instant of its grid has come. It fires once, and is told the last.
func TestScheduleOnUpdates(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for text, f := range allRates() {
		rng := rand.New(rand.NewPCG(seed, 0))
		s := schedule(t, text, 0)
		grid := func(k int64) int64 { return k * 1_000_000_000 * f[1] / f[0] }
		k, skipped := int64(-1), uint64(0) // the instant last fired
		for now := int64(0); now < 20_000*ms; now += 1 + rng.Int64N(40*ms) {
			last := k
			for grid(k+1) <= now {
				k++
			}
			at, due := s.Due(simtime.Stamp(now))
			if due != (k > last) || due && at != simtime.Stamp(grid(k)) {
				t.Fatalf("seed %d, %s Hz at %d: %d, %v; want %d, %v", seed, text, now, at, due, grid(k), k > last)
			}
			if due {
				skipped += uint64(k - last - 1)
			}
			if _, again := s.Due(simtime.Stamp(now)); again {
				t.Fatalf("seed %d, %s Hz at %d: fired twice in an update", seed, text, now)
			}
		}
		assert.Equal(t, skipped, s.Skipped(), "seed %d, %s Hz", seed, text)
	}
}

// On the fixed-step loop of 100 Hz a sensor fires for every instant up to that
// rate, and with every step beyond it.
func TestScheduleOnFixedSteps(t *testing.T) {
	for text, f := range allRates() {
		loop, err := simtime.NewFixedLoop(simtime.Hz(100), 0)
		require.NoError(t, err)
		s := schedule(t, text, 0)
		fired, steps := int64(0), int64(0)
		for frame := int64(0); frame < 60_000*ms; frame += 16_666_667 {
			for step := range loop.Until(simtime.Stamp(frame)) {
				steps++
				if at, due := s.Due(step); due {
					fired++
					assert.LessOrEqual(t, at, step)
					assert.Greater(t, at, step-simtime.Stamp(max(10*ms, 1_000_000_000*f[1]/f[0])))
				}
			}
		}
		require.EqualValues(t, 5999, steps, "up to 59.98 s")
		assert.Equal(t, min(59_980*f[0]/(1000*f[1])+1, steps), fired, "%s Hz", text)
	}
}

// A loop after the clock, through scales and a pause. The instants are those of the grid of
// simulation time, and nothing fires while it stands.
func TestScheduleAtAnyPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		s := schedule(t, "13.4", 0)
		var fired []int64
		pauses := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			for c.WaitUntil(ctx, s.Next()) == nil {
				if at, due := s.Due(c.Now()); due {
					fired = append(fired, int64(at))
				}
			}
		}()
		for _, text := range []string{"0.1", "1", "10", "0.333333333"} {
			require.NoError(t, c.SetScale(scale(t, text)))
			time.Sleep(10 * time.Second)
			c.Pause()
			synctest.Wait()
			before := len(fired)
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Len(t, fired, before, "while paused")
			pauses++
			c.Resume()
		}
		c.Pause()
		synctest.Wait()
		require.Equal(t, 4, pauses)
		// 1 s + 10 s + 100 s + 3.33333333 s of simulation time have passed.
		assert.EqualValues(t, 114_333_333_330, c.Now())
		require.Len(t, fired, 114_333_333_330*67/5_000_000_000+1)
		for k, at := range fired {
			if want := int64(k) * 5_000_000_000 / 67; at != want {
				t.Fatalf("instant %d is %d, want %d", k, at, want)
			}
		}
		assert.Zero(t, s.Skipped())
	})
}

// A fixed loop continues where a jump of the clock leads, either way.
func TestFixedLoopAfterJump(t *testing.T) {
	l, err := simtime.NewFixedLoop(simtime.Hz(100), 0)
	require.NoError(t, err)
	steps := func(now int64) (list []int64) {
		for at := range l.Until(simtime.Stamp(now)) {
			list = append(list, int64(at))
		}
		return list
	}
	assert.Len(t, steps(1000*ms), 101)
	l.Realign(95 * ms)
	assert.Equal(t, []int64{100 * ms, 110 * ms}, steps(115*ms))
	l.Realign(1_700_000_000_000 * ms)
	assert.Equal(t, []int64{1_700_000_000_000 * ms}, steps(1_700_000_000_001*ms))
	for range l.Until(1_700_000_000_030 * ms) {
		break
	}
	assert.Equal(t, []int64{1_700_000_000_020 * ms, 1_700_000_000_030 * ms}, steps(1_700_000_000_030*ms), "after breaking off")
}
