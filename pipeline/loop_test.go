package pipeline_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// jumps records the jumps of a clock.
type jumps struct {
	mu   sync.Mutex
	list []simtime.Change
}

func watchJumps(t *testing.T, c *simtime.Clock) *jumps {
	t.Helper()
	j := &jumps{}
	t.Cleanup(c.Subscribe(func(change simtime.Change) {
		if change.Jump() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.list = append(j.list, change)
		}
	}))
	return j
}

func (j *jumps) seen() []simtime.Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.list)
}

// onSource is a realtime pipeline in the background, once /clock has been published. It has a
// sensor that computes at 100 Hz and one that captures at 20 Hz.
func onSource(t *testing.T, source string, prepare func(*simtime.Clock)) (p *pipeline.Pipeline, to *peer, seen *jumps, end func()) {
	t.Helper()
	to = &peer{}
	p = newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: source, Bridges: to.registry()})
	addScripted(t, p, laggyID, "captured", "20")
	addScripted(t, p, plainID, "computed", "100")
	to.attach(t, p, "")
	prepare(p.Clock())
	end = inBackground(t, p)
	to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
	return p, to, watchJumps(t, p.Clock()), end
}

// onGrids asserts that each sensor's stamps lie on its grid and rise from jump to
// jump.
func onGrids(t *testing.T, to *peer, jumpsBack int) {
	t.Helper()
	for topic, period := range map[string]int64{"/computed": 10 * ms, "/captured": 50 * ms} {
		stamps, back := to.stamps(topic), 0
		for i, s := range stamps {
			assert.Zero(t, s%period, "%s: %d is off the grid", topic, s)
			if i > 0 && s <= stamps[i-1] {
				back++
			}
		}
		assert.Equal(t, jumpsBack, back, "%s: %v", topic, stamps)
	}
}

// TestAnSS2RunIsDrivenFromOutside sets the time as a scenario simulator does: in
// frames, then to another time, then back.
func TestAnSS2RunIsDrivenFromOutside(t *testing.T) {
	p, to, seen, end := onSource(t, simtime.SS2, func(*simtime.Clock) {})
	assert.Zero(t, p.Clock().Now(), "until it is set")
	frame := func(from, at int64) {
		before := len(to.stamps("/computed"))
		require.NoError(t, p.Clock().Set(at/1e9, uint32(at%1e9)))
		to.awaitStamp(t, "/computed", simtime.Stamp(at/(10*ms)*10*ms))
		if due := at / (50 * ms) * 50 * ms; due > 0 {
			to.awaitStamp(t, "/captured", simtime.Stamp(due))
		}
		assert.LessOrEqual(t, len(to.stamps("/computed"))-before, 2, "from %d to %d: a burst", from, at)
		assert.Equal(t, simtime.Stamp(at), p.Clock().Now())
	}
	const step = 33_333_333
	at := int64(0)
	for at < 300*ms {
		frame(at, at+step)
		at += step
	}
	onGrids(t, to, 0)
	assert.Empty(t, seen.seen())

	there := 1000 * int64(time.Second)
	frame(there, there) // the grids' instant there fires too
	frame(there, there+step)
	require.NoError(t, p.Clock().Set(5, 0))
	back := func(topic string) {
		to.await(t, topic+" of the time set back to", func(got []delivery) bool {
			return slices.ContainsFunc(got, func(d delivery) bool { return d.topic == topic && d.stamp == simtime.Stamp(5*int64(time.Second)) })
		})
	}
	back("/computed")
	back("/captured")
	end()
	onGrids(t, to, 1)
	clockFirst(t, to.deliveries())
	for i, want := range []struct{ from, to int64 }{{at, there}, {there + step, 5 * int64(time.Second)}} {
		require.Greater(t, len(seen.seen()), i)
		got := seen.seen()[i]
		assert.Equal(t, simtime.Jumped, got.Kind)
		assert.Equal(t, simtime.Stamp(want.from), got.From)
		assert.Equal(t, simtime.Stamp(want.to), got.To)
	}
	assert.Len(t, seen.seen(), 2)
	assert.InDelta(t, float64(at+step)/1e9, p.Summary().SimS, 1e-9, "a jump is not simulated")
}

// Law S5: what the clock leaps over is not silent.
func TestSkippedInstantsAreCounted(t *testing.T) {
	p, to, _, end := onSource(t, simtime.SS2, func(*simtime.Clock) {})
	require.NoError(t, p.Clock().Set(0, 95_000_000))
	to.awaitStamp(t, "/computed", 90*ms)
	end()
	summary := p.Summary()
	i := slices.IndexFunc(summary.Sensors, func(s carry.SensorSummary) bool { return s.Topic == "/computed" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, flow.Drops{flow.CauseSkipped: 8}, summary.Sensors[i].Drops, "10 to 80 ms")
}

func TestARos2RunFollowsAGivenClock(t *testing.T) {
	var ros atomic.Int64
	ros.Store(7 * int64(time.Second))
	p, to, seen, end := onSource(t, simtime.ROS2, func(c *simtime.Clock) { c.FollowROS(func() simtime.Stamp { return simtime.Stamp(ros.Load()) }) })
	at := ros.Load()
	for range 10 {
		at = ros.Add(20 * ms)
		to.awaitStamp(t, "/computed", simtime.Stamp(at))
		assert.Equal(t, simtime.Stamp(at), p.Clock().Now())
	}
	to.awaitStamp(t, "/captured", simtime.Stamp(at))
	assert.Empty(t, seen.seen())
	ros.Store(int64(time.Second)) // somebody plays a bag again
	to.await(t, "what fires then", func(got []delivery) bool {
		return slices.ContainsFunc(got, func(d delivery) bool { return d.topic == "/captured" && d.stamp == simtime.Stamp(time.Second) })
	})
	end()
	onGrids(t, to, 1)
	clockFirst(t, to.deliveries())
	require.Len(t, seen.seen(), 1)
	assert.Equal(t, simtime.Stamp(at), seen.seen()[0].From)
	assert.EqualValues(t, time.Second, seen.seen()[0].To)
	assert.Equal(t, []int64{7200 * ms, 1000 * ms}, to.stamps("/captured")[len(to.stamps("/captured"))-2:])
}

// TestSourcesAreSelectedWhileRunning goes through them; two of the changes go back
// in time, one forward by decades.
func TestSourcesAreSelectedWhileRunning(t *testing.T) {
	p, to, seen, end := onSource(t, simtime.Engine, func(*simtime.Clock) {})
	p.Clock().Pause()
	require.NoError(t, p.Clock().Step(3*int64(time.Second)))
	p.Clock().Resume()
	to.awaitStamp(t, "/captured", simtime.Stamp(3*int64(time.Second)))
	epoch := time.Now().Add(-time.Hour).UnixNano()
	early := func(stamp simtime.Stamp) bool { return stamp < simtime.Stamp(3*int64(time.Second)) }

	for _, s := range []struct {
		source string
		on     func(stamp simtime.Stamp) bool
	}{
		{simtime.Simulation, early},
		{simtime.System, func(stamp simtime.Stamp) bool { return stamp > simtime.Stamp(epoch) }},
		{simtime.SS2, early},
	} {
		n := len(to.deliveries())
		require.NoError(t, p.Clock().Select(s.source))
		if s.source == simtime.SS2 {
			require.NoError(t, p.Clock().Set(2, 0))
		}
		// All from the first clock of the source on is the source's.
		follows := func(got []delivery) []delivery {
			if k := slices.IndexFunc(got[n:], func(d delivery) bool { return d.topic == "/clock" && s.on(d.stamp) }); k >= 0 {
				return got[n+k:]
			}
			return nil
		}
		for _, topic := range []string{"/computed", "/captured"} {
			to.await(t, topic+" on "+s.source, func(got []delivery) bool {
				return slices.ContainsFunc(follows(got), func(d delivery) bool { return d.topic == topic })
			})
		}
		for _, d := range follows(to.deliveries()) {
			// What is captured before a jump forward may go out after it.
			assert.True(t, s.on(d.stamp) || s.source == simtime.System && early(d.stamp), "%s: %v", s.source, d)
		}
	}
	end()
	onGrids(t, to, 2)
	clockFirst(t, to.deliveries())
	var sources []string
	for _, c := range seen.seen() {
		sources = append(sources, c.Source+" "+c.Kind.String())
	}
	assert.Equal(t, []string{
		"simulation source changed", "system source changed", "ss2 source changed", "ss2 jumped",
	}, sources)
}

// TestWhatWasCapturedBeforeAJumpBackGoesOutBefore: with a GPU that is behind, to a
// file and to the network, again and again. Behind the new time's clock old samples
// would be ahead of it, and hold up those of the new time.
func TestWhatWasCapturedBeforeAJumpBackGoesOutBefore(t *testing.T) {
	for name, kind := range map[string]bridges.Kind{"file": bridges.KindFile, "network": bridges.KindNetwork} {
		t.Run(name, func(t *testing.T) {
			to := &peer{kind: kind}
			behind := &script{capture: func(string, sensors.Tick) error {
				time.Sleep(8 * time.Millisecond)
				return nil
			}}
			p := newScripted(t, behind, pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.System, Bridges: to.registry()})
			addScripted(t, p, laggyID, "captured", "100")
			addScripted(t, p, plainID, "computed", "500")
			to.attach(t, p, "")
			end := inBackground(t, p)
			for range 3 {
				epoch := time.Now().Add(-time.Hour).UnixNano()
				to.awaitStamp(t, "/captured", simtime.Stamp(epoch))
				n := len(to.deliveries())
				require.NoError(t, p.Clock().Select(simtime.Simulation))
				// While it runs: what is stuck goes out at the end.
				to.await(t, "samples of the new time", func(got []delivery) bool {
					return len(got) > n && slices.ContainsFunc(got[n:], func(d delivery) bool {
						return d.topic == "/captured" && d.stamp >= 20*ms && d.stamp < simtime.Stamp(epoch)
					})
				})
				require.NoError(t, p.Clock().Select(simtime.System))
				n = len(to.deliveries())
				to.await(t, "samples of the old time", func(got []delivery) bool {
					return len(got) > n && slices.ContainsFunc(got[n:], func(d delivery) bool { return d.topic == "/captured" && d.stamp > simtime.Stamp(epoch) })
				})
			}
			end()
			clockFirst(t, to.deliveries())
			for _, row := range p.Summary().Sensors {
				assert.Empty(t, row.Drops["queue_full"], row.Topic)
			}
		})
	}
}

// TestARunBeginsWithTheTimeThatWasSet: what is due then fires, once, unlike at the
// start of a clock that goes by itself.
func TestARunBeginsWithTheTimeThatWasSet(t *testing.T) {
	p, to, _, end := onSource(t, simtime.SS2, func(c *simtime.Clock) { require.NoError(t, c.Set(1000, 0)) })
	to.awaitStamp(t, "/captured", 1000_000*ms)
	require.NoError(t, p.Clock().Set(1000, 50_000_000))
	to.awaitStamp(t, "/captured", 1000_050*ms)
	end()
	assert.Equal(t, []int64{1000_000 * ms, 1000_050 * ms}, to.stamps("/captured"))
}

// TestAJumpIsFollowedOnce: also by a run that has gone there and fired before it is
// told of the jump, because the clock tells somebody slow first.
func TestAJumpIsFollowedOnce(t *testing.T) {
	tell := make(chan struct{})
	p, to, _, end := onSource(t, simtime.SS2, func(c *simtime.Clock) {
		c.Subscribe(func(simtime.Change) { <-tell })
	})
	set := make(chan error, 1)
	go func() { set <- p.Clock().Set(5, 0) }()
	to.awaitStamp(t, "/computed", 5000*ms)
	to.awaitStamp(t, "/captured", 5000*ms)
	close(tell)
	require.NoError(t, <-set)
	n := len(to.deliveries())
	to.await(t, "what is captured and published then", func(got []delivery) bool { return len(got) >= n+5 })
	require.NoError(t, p.Clock().Set(5, 50_000_000))
	to.awaitStamp(t, "/captured", 5050*ms)
	end()
	assert.Equal(t, []int64{5000 * ms, 5050 * ms}, to.stamps("/captured"))
	onGrids(t, to, 0)
}

// TestAJumpBackFreesAFullQueue: a loop that waits for room, until a tick that
// doesn't come any more.
func TestAJumpBackFreesAFullQueue(t *testing.T) {
	to := &peer{kind: bridges.KindFile}
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.System, Bridges: to.registry(), ClockRate: simtime.Hz(2)})
	s := addScripted(t, p, plainID, "computed", "1000")
	fired := 0
	full := make(chan struct{})
	to.attach(t, p, "")
	hear(t, s, func(sensors.Tick, *sample.Imu) {
		if fired++; fired == 64 { // as many as wait for the second clock
			close(full)
		}
	})
	end := inBackground(t, p)
	<-full
	require.NoError(t, p.Clock().Select(simtime.Simulation))
	to.await(t, "samples of the new time", func(got []delivery) bool {
		return slices.ContainsFunc(got, func(d delivery) bool { return d.topic == "/computed" && d.stamp < simtime.Stamp(time.Hour) })
	})
	end()
	clockFirst(t, to.deliveries())
}

// TestAJumpBackBetweenRuns: the earlier run's last tick lets nothing go of the next.
func TestAJumpBackBetweenRuns(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.System, Bridges: to.registry()})
	addScripted(t, p, plainID, "computed", "200")
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	n := len(to.deliveries())
	require.NoError(t, p.Clock().Select(simtime.Engine))
	end := inBackground(t, p)
	to.await(t, "a sample of the new time", func(got []delivery) bool {
		return slices.ContainsFunc(got[n:], func(d delivery) bool { return d.topic == "/computed" })
	})
	end()
	clockFirst(t, to.deliveries()[n:])
}

// TestASteppedRunFollowsAJumpOfTheClock selects another time source in the middle: the run
// continues from its time, for as long as it was told.
func TestASteppedRunFollowsAJumpOfTheClock(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	require.NoError(t, p.Run(t.Context(), 500*time.Millisecond))
	require.NoError(t, p.Clock().Select("system"))
	require.NoError(t, p.Run(t.Context(), 500*time.Millisecond))
	require.NotEmpty(t, stamps)
	assert.InDelta(t, 100, len(stamps), 1)
	last := time.Unix(0, stamps[len(stamps)-1])
	assert.WithinDuration(t, time.Now(), last, time.Minute)
	assert.InDelta(t, 1.0, p.Summary().SimS, 1e-9)
}

func TestARunMayEndOffTheGrid(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	require.NoError(t, p.Run(t.Context(), 15*time.Millisecond))
	assert.EqualValues(t, 15_000_000, p.Clock().Now())
	require.NoError(t, p.Step(t.Context(), 0))
	require.NoError(t, p.Step(t.Context(), -3))
	assert.InDelta(t, 0.015, p.Summary().SimS, 1e-12, "time does not go back")
	require.NoError(t, p.Step(t.Context(), 1))
	assert.Len(t, stamps, 2)
	everyMs(t, 10, stamps)
}
