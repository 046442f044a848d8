package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// recorded is a run at 100 Hz with ticks that were so many microseconds late; of
// those that are negative none was published.
func recorded(late ...int64) (*clockRun, *simtime.ClockPublisherStats) {
	r := &clockRun{rate: simtime.Hz(100)}
	stats := &simtime.ClockPublisherStats{}
	for k, us := range late {
		if us < 0 {
			stats.Missed++
			continue
		}
		r.deadlines, r.late = append(r.deadlines, int64(k)*10_000_000), append(r.late, time.Duration(us)*time.Microsecond)
		stats.Published++
		stats.Lateness.Add(time.Duration(us) * time.Microsecond)
	}
	r.ended = int64(len(late)-1) * 10_000_000
	return r, stats
}

func TestClockRecord(t *testing.T) {
	// The fourth tick came 25 ms late, so that two more were missed.
	r, stats := recorded(10, 30, 20, 25_000, -1, -1, 20, 40, 50, 30)
	require.NoError(t, r.check(stats))
	assert.EqualValues(t, 10, r.due())
	assert.Equal(t, 0.01, r.lateness(0))
	assert.Equal(t, 0.03, r.lateness(0.5))
	assert.Equal(t, 0.05, r.lateness(0.875))
	assert.Equal(t, 25.0, r.lateness(0.88))
	assert.Equal(t, 25.0, r.lateness(1))
	assert.EqualValues(t, 1, r.lateByPeriod())
	// 10.02, 9.99, 34.98, 30 - 24.98, 10.02, 10.01, 9.98 ms between messages.
	assert.InDelta(t, 34.98, percentile(r.periods(), 1), 1e-9)
	assert.InDelta(t, 10.01, percentile(r.periods(), 0.5), 1e-9)
	assert.InDelta(t, 5.02, percentile(r.periods(), 0), 1e-9)

	assert.EqualValues(t, 2, r.missed)

	// The last tick comes 25 ms late: nobody waits for the two that are due by then.
	r, stats = recorded(10, -1, 25_000)
	r.ended, stats.Missed = 45_000_000, 3
	require.NoError(t, r.check(stats))
	assert.EqualValues(t, 1, r.missed)
	assert.EqualValues(t, 3, r.due())
	stats.Missed = 4
	require.ErrorIs(t, r.check(stats), errClockRecord)

	var steady []int64
	for i := range int64(100) {
		steady = append(steady, 100+2*i) // 2 µs more at every tick
	}
	r, stats = recorded(steady...)
	require.NoError(t, r.check(stats))
	assert.Equal(t, 180.0, r.drift())
}

// A record and statistics that don't agree are no figures.
func TestClockRecordMustAgree(t *testing.T) {
	for name, spoil := range map[string]func(*clockRun, *simtime.ClockPublisherStats){
		"nothing published":     func(r *clockRun, _ *simtime.ClockPublisherStats) { r.late, r.deadlines = nil, nil },
		"failures":              func(_ *clockRun, s *simtime.ClockPublisherStats) { s.Failed = 1 },
		"published uncounted":   func(_ *clockRun, s *simtime.ClockPublisherStats) { s.Published-- },
		"missed, but not":       func(_ *clockRun, s *simtime.ClockPublisherStats) { s.Missed++ },
		"left out, uncounted":   func(r *clockRun, _ *simtime.ClockPublisherStats) { r.deadlines[2] += 10_000_000 },
		"a deadline that moved": func(r *clockRun, _ *simtime.ClockPublisherStats) { r.deadlines[1]++ },
		"a deadline twice":      func(r *clockRun, _ *simtime.ClockPublisherStats) { r.deadlines[2] = r.deadlines[1] },
		"late and not recorded": func(_ *clockRun, s *simtime.ClockPublisherStats) {
			for range 9 {
				s.Lateness.Add(time.Second)
			}
		},
		"published with no late": func(r *clockRun, _ *simtime.ClockPublisherStats) { r.late = []time.Duration{0, 0, 0} },
	} {
		t.Run(name, func(t *testing.T) {
			r, stats := recorded(10, 10, 10)
			spoil(r, stats)
			assert.ErrorIs(t, r.check(stats), errClockRecord)
		})
	}
}

func TestQuantile(t *testing.T) {
	assert.Zero(t, quantile([]int64(nil), 0.5))
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	for q, want := range map[float64]int64{0: 1, 0.005: 1, 0.01: 1, 0.5: 50, 0.501: 51, 0.99: 99, 1: 100} {
		assert.Equal(t, want, quantile(hundred, q), "%g", q)
	}
}

// All ticks are in the histogram, each in the class that holds it. A line has no more points
// than there is room for, and all peaks.
func TestClockCharts(t *testing.T) {
	late := make([]int64, 0, 10_000)
	for i := range int64(10_000) {
		late = append(late, 20+i%7)
	}
	late[4321] = 3_000
	r, stats := recorded(late...)
	require.NoError(t, r.check(stats))
	l := &lateClock{clockCase: clockCase{named: named{"idle"}, rate: r.rate}, runs: []*clockRun{r}}

	line := l.overTime()
	assert.LessOrEqual(t, len(line.X), chartPoints)
	assert.Contains(t, line.Y, 3.0)
	assert.InDelta(t, 43.2, line.X[432], 1e-9)

	classes, sum := l.histogram(), 0.0
	for i, share := range classes.Y {
		sum += share
		if share > 0 {
			lower, upper := classes.X[i], classes.X[i+1]
			assert.True(t, lower <= 0.0261 && upper >= 0.0199 || lower <= 3.0001 && upper >= 2.9999, "%g to %g ms", lower, upper)
		}
	}
	assert.InDelta(t, 100, sum, 1e-9)
}

func TestSwapRedBlue(t *testing.T) {
	assert.Equal(t, []byte{9, 3, 2, 1, 6, 5, 4}, swapRedBlue([]byte{9}, []byte{1, 2, 3, 4, 5, 6}))
}
