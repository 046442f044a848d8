package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnInterruptedRunGoesOnWithoutAGap ends runs at many places and continues
// them: every instant that was begun is published, whole.
func TestAnInterruptedRunGoesOnWithoutAGap(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	captured := addScripted(t, p, laggyID, "captured", "100")
	computed := addScripted(t, p, plainID, "computed", "100")
	var cancel context.CancelFunc
	var a, b []int64
	hear(t, captured, func(_ sensors.Tick, m *sample.Imu) {
		if a = append(a, int64(m.Stamp)); len(a)%5 == 0 {
			cancel()
		}
	})
	hear(t, computed, func(_ sensors.Tick, m *sample.Imu) { b = append(b, int64(m.Stamp)) })
	for range 40 {
		ctx, end := context.WithCancel(t.Context())
		cancel = end
		require.NoError(t, p.Run(ctx, 0))
		end()
	}
	assert.GreaterOrEqual(t, len(a), 200)
	everyMs(t, 10, a)
	everyMs(t, 10, b)
}

// TestPausesDoNotEndASteppedRun pauses and resumes the clock all the time.
func TestPausesDoNotEndASteppedRun(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, plainID, "s", "100")
	var stamps []int64
	hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
	stop := make(chan struct{})
	var pauser sync.WaitGroup
	pauser.Go(func() {
		for {
			p.Clock().Pause()
			p.Clock().Resume()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	err := p.Run(t.Context(), 20*time.Second)
	close(stop)
	pauser.Wait()
	require.NoError(t, err)
	assert.Len(t, stamps, 2000)
	everyMs(t, 10, stamps)
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

// TestABusyGLThreadIsWaitedFor fills the GL thread's queue, as somebody may who
// shares it.
func TestABusyGLThreadIsWaitedFor(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, laggyID, "s", "100")
	n := 0
	release := make(chan struct{})
	hear(t, s, func(sensors.Tick, *sample.Imu) { n++ })
	for err := error(nil); err == nil; {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
		require.True(t, err == nil || errors.Is(err, gpu.ErrBusy))
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), 100*time.Millisecond) }()
	select {
	case err := <-ended:
		t.Fatalf("the run ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-ended)
	assert.Equal(t, 10, n)
}

// TestSummaryWhileRunning is for the race detector: figures may be asked for at
// any time.
func TestSummaryWhileRunning(t *testing.T) {
	for _, mode := range []pipeline.Mode{pipeline.Stepped, pipeline.Realtime} {
		p := newScripted(t, &script{}, pipeline.Config{Mode: mode})
		s := addScripted(t, p, laggyID, "s", "100")
		hear(t, s, func(sensors.Tick, *sample.Imu) {})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			assert.NoError(t, p.Run(context.Background(), 200*time.Millisecond))
		}()
		before := math.Inf(-1)
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
			}
			summary := p.Summary()
			assert.GreaterOrEqual(t, summary.SimS, before)
			before = summary.SimS
			_ = p.Stages()
			stop := hear(t, s, func(sensors.Tick, *sample.Imu) {})
			stop()
		}
		assert.InDelta(t, 0.2, before, 1e-9)
	}
}

const ms = 1_000_000

var modes = map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime}

// inBackground runs a pipeline without end until end is called.
func inBackground(t *testing.T, p *pipeline.Pipeline) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, 0) }()
	end = func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
			ended <- nil // for the cleanup
		case <-time.After(20 * time.Second):
			t.Fatal("the run does not end")
		}
	}
	t.Cleanup(end)
	return end
}

// paused is a pipeline in the background whose clock was paused before the run,
// with a sensor that computes and one that captures.
func paused(t *testing.T, mode pipeline.Mode, do *script) (p *pipeline.Pipeline, to *peer, end func()) {
	t.Helper()
	to = &peer{}
	config := pipeline.Config{Mode: mode, Bridges: to.registry()}
	if mode == pipeline.Stepped {
		config.ClockRate = simtime.Hz(1000) // there the step alone makes the clock
	}
	p = newScripted(t, do, config)
	addScripted(t, p, laggyID, "captured", "20")
	addScripted(t, p, plainID, "computed", "1000")
	to.attach(t, p, "drop_oldest")
	p.Clock().Pause()
	return p, to, inBackground(t, p)
}

// TestAPauseBeforeARunHolds: the run stands at 0, and ends when its caller ends it.
func TestAPauseBeforeARunHolds(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			p, to, end := paused(t, mode, &script{})
			if mode == pipeline.Realtime {
				to.await(t, "five clocks", func(got []delivery) bool { return len(got) >= 5 })
			}
			assert.Zero(t, p.Clock().Now())
			end()
			for _, d := range to.deliveries() {
				assert.Equal(t, delivery{"/clock", 0, 0}, d, "while paused /clock continues with the same stamp")
			}
			assert.True(t, p.Clock().Paused(), "the run's end doesn't undo it")

			end = inBackground(t, p) // and another run still finds it
			p.Clock().Resume()
			to.awaitStamp(t, "/computed", 5*ms)
			end()
			clockFirst(t, to.deliveries())
		})
	}
}

func TestAPausedClockGoesOnBeingPublished(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, Bridges: to.registry()})
	addScripted(t, p, plainID, "computed", "100")
	to.attach(t, p, "")
	end := inBackground(t, p)
	to.awaitStamp(t, "/computed", 50*ms)
	p.Clock().Pause()
	at := p.Clock().Now()
	same := func(got []delivery) (n int) {
		for _, d := range got {
			if d.topic == "/clock" && d.stamp == at {
				n++
			}
		}
		return n
	}
	to.await(t, "twenty clocks of one time", func(got []delivery) bool { return same(got) >= 20 })
	n := len(to.deliveries())
	end()
	for _, d := range to.deliveries()[:n] {
		assert.LessOrEqual(t, d.stamp, at)
	}
	clockFirst(t, to.deliveries())

	s := p.Summary()
	require.Len(t, s.Sensors, 2)
	clock, computed := s.Sensors[0], s.Sensors[1]
	assert.InDelta(t, float64(clock.Messages), clock.RateHz*s.WallS, 1e-6, "in the host's time")
	assert.InDelta(t, float64(computed.Messages), computed.RateHz*s.SimS, 1e-6, "in simulated time")
}

// TestWhatIgnoresAPauseIsRefused: while time stands the dispatcher takes nothing but the
// clock, which is why a sensor that goes on publishing by itself is counted.
func TestWhatIgnoresAPauseIsRefused(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			var restless atomic.Pointer[sensors.Output[*sample.Imu]]
			p, to, end := paused(t, mode, &script{began: func(name string, out *sensors.Output[*sample.Imu]) {
				if name == "computed" {
					restless.Store(out)
				}
			}})
			row := func() carry.SensorSummary {
				rows := p.Summary().Sensors
				return rows[slices.IndexFunc(rows, func(r carry.SensorSummary) bool { return r.Name == "computed" })]
			}
			p.Clock().Resume()
			to.awaitStamp(t, "/computed", 50*ms)
			assert.Empty(t, row().Drops[flow.CausePaused], "nothing that was captured before is lost")
			for range 3 { // a pause that is stepped through stands again afterwards
				p.Clock().Pause()
				require.Eventually(t, func() bool {
					return !restless.Load().TryQueue(sensors.Tick{Due: p.Clock().Now()}, &sample.Imu{})
				}, 20*time.Second, time.Millisecond)
				assert.Equal(t, row().Drops[flow.CausePaused], p.Summary().Bridges[0].Drops[flow.CausePaused])
				before := len(to.stamps("/captured"))
				require.NoError(t, p.Clock().Step(100*ms))
				to.await(t, "what was stepped", func(got []delivery) bool {
					n := 0
					for _, d := range got {
						if d.topic == "/captured" {
							n++
						}
					}
					return n >= before+2
				})
			}
			assert.EqualValues(t, 3, row().Drops[flow.CausePaused])
			p.Clock().Resume()
			to.awaitStamp(t, "/computed", p.Clock().Now()+20*ms)
			end()
			assert.Zero(t, p.Summary().Sensors[0].Drops[flow.CausePaused], "the clock is exempt")
		})
	}
}

// TestStepsFireExactly: whatever is due in steps fires at its instant and is delivered. There
// are more messages than a queue holds, the GPU is slow and the policy is to drop.
func TestStepsFireExactly(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			slow := &script{capture: func(string, sensors.Tick) error {
				time.Sleep(2 * time.Millisecond)
				return nil
			}}
			p, to, end := paused(t, mode, slow)
			require.NoError(t, p.Clock().Step(10*ms))
			to.awaitStamp(t, "/computed", 10*ms)
			assert.Len(t, to.stamps("/computed"), 10)
			assert.Empty(t, to.stamps("/captured"))

			require.NoError(t, p.Clock().Step(100*ms)) // two at once
			require.NoError(t, p.Clock().Step(290*ms))
			to.awaitStamp(t, "/captured", 400*ms)
			to.awaitStamp(t, "/computed", 400*ms)
			everyMs(t, 1, to.stamps("/computed"))
			assert.Len(t, to.stamps("/computed"), 400)
			everyMs(t, 50, to.stamps("/captured"))
			assert.Len(t, to.stamps("/captured"), 8)
			assert.EqualValues(t, 400*ms, p.Clock().Now())
			assert.True(t, p.Clock().Paused())
			end()
			clockFirst(t, to.deliveries())
			for _, row := range p.Summary().Sensors {
				if row.Topic != "/clock" { // whose ticks are the host's
					assert.Empty(t, row.Drops, row.Topic)
				}
			}
		})
	}
}

// TestStepsFireExactlyThoughResumedAtOnce: the loop has not begun them then.
func TestStepsFireExactlyThoughResumedAtOnce(t *testing.T) {
	for _, source := range []string{simtime.Engine, simtime.Simulation} {
		t.Run(source, func(t *testing.T) {
			to := &peer{}
			p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: source, Bridges: to.registry()})
			addScripted(t, p, plainID, "computed", "100")
			to.attach(t, p, "")
			p.Clock().Pause()
			from := p.Clock().Now()
			end := inBackground(t, p)
			to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
			require.NoError(t, p.Clock().Step(500*ms))
			p.Clock().Resume()
			to.awaitStamp(t, "/computed", from+500*ms)
			end()
			stamps := to.stamps("/computed")
			require.GreaterOrEqual(t, len(stamps), 50)
			everyMs(t, 10, stamps[:50])
		})
	}
}

// TestABusyGLThreadIsWaitedForInSteps, unlike in time that passes by itself.
func TestABusyGLThreadIsWaitedForInSteps(t *testing.T) {
	p, to, end := paused(t, pipeline.Realtime, &script{})
	to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
	release := make(chan struct{})
	for err := error(nil); !errors.Is(err, gpu.ErrBusy); {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
	}
	require.NoError(t, p.Clock().Step(50*ms))
	to.awaitStamp(t, "/computed", 50*ms)
	close(release)
	to.awaitStamp(t, "/captured", 50*ms)
	end()
	assert.Equal(t, []int64{50 * ms}, to.stamps("/captured"))
}

// TestAPausedStepOfAProgramWaits: Step and Run share the clock with the caller that pauses it.
func TestAPausedStepOfAProgramWaits(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	p.Clock().Pause()
	ctx, cancel := context.WithCancel(t.Context())
	stepped := make(chan error, 1)
	go func() { stepped <- p.Step(ctx, 3) }()
	require.NoError(t, p.Clock().Step(20*ms))
	select {
	case err := <-stepped:
		t.Fatalf("it went beyond the pause: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	p.Clock().Resume()
	require.NoError(t, <-stepped)
	assert.EqualValues(t, 30*ms, p.Clock().Now())
	cancel()
	assert.EqualValues(t, math.MaxInt64, p.Clock().Pace())
}

var errBroken = errors.New("broken")

// TestASensorsErrorEndsThePipeline: what is in flight then is lost, so no later
// run may mix it up with its own.
func TestASensorsErrorEndsThePipeline(t *testing.T) {
	fifth := func(_ string, at sensors.Tick) error {
		if at.Due >= 50_000_000 {
			return errBroken
		}
		return nil
	}
	panics := func(name string, at sensors.Tick) error {
		if fifth(name, at) != nil {
			panic("capture")
		}
		return nil
	}
	for name, do := range map[string]*script{
		"computing": {tick: fifth}, "capturing": {capture: fifth}, "panicking": {capture: panics},
	} {
		for modeName, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
			t.Run(name+" "+modeName, func(t *testing.T) {
				p := newScripted(t, do, pipeline.Config{Mode: mode})
				captured := addScripted(t, p, laggyID, "captured", "100")
				computed := addScripted(t, p, plainID, "computed", "100")
				var stamps []int64
				hear(t, captured, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
				hear(t, computed, func(sensors.Tick, *sample.Imu) {})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err := p.Run(ctx, 0)
				require.Error(t, err)
				require.NoError(t, ctx.Err(), "the run did not end by itself")
				if name != "panicking" {
					require.ErrorIs(t, err, errBroken)
				}
				if mode == pipeline.Stepped {
					assert.Subset(t, []int{4, 5}, []int{len(stamps)}, "everything before is published")
					everyMs(t, 10, stamps)
				}
				require.Equal(t, err, p.Run(t.Context(), time.Second), "and again")
				require.NoError(t, p.Close(t.Context()))
			})
		}
	}
}

func TestASensorThatCantBeginEndsThePipeline(t *testing.T) {
	var begun, ended []string
	do := &script{
		begin: func(_ context.Context, name string) error {
			if name == "b" {
				return errBroken
			}
			begun = append(begun, name)
			return nil
		},
		ended: func(name string) { ended = append(ended, name) },
	}
	p := newScripted(t, do, pipeline.Config{})
	for _, name := range []string{"a", "b", "c"} {
		addScripted(t, p, plainID, name, "100")
	}
	require.ErrorIs(t, p.Run(t.Context(), time.Second), errBroken)
	require.ErrorIs(t, p.Run(t.Context(), time.Second), errBroken, "a sensor is missing")
	require.NoError(t, p.Close(t.Context()))
	assert.Equal(t, []string{"a"}, begun)
	assert.Equal(t, begun, ended)
	require.ErrorIs(t, p.Run(t.Context(), time.Second), pipeline.ErrClosed)
}

// TestAnEndDuringTheStartIsNoError: compiling shaders takes a while, and the user
// may have seen enough.
func TestAnEndDuringTheStartIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newScripted(t, &script{begin: func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}}, pipeline.Config{})
	addScripted(t, p, plainID, "s", "100")
	require.NoError(t, p.Run(ctx, time.Second))
	require.Error(t, p.Run(t.Context(), time.Second), "its sensors have not begun")
	require.NoError(t, p.Close(t.Context()))
}

func TestARunOfNegativeLengthIsRefused(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	require.ErrorIs(t, p.Run(t.Context(), -time.Second), pipeline.ErrConfig)
}

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

// ringID is a sensor with a real readback.
const ringID = "sensor.test.ring"

// ring publishes a reading for each capture that comes back.
type ring struct {
	sensors.Ring[struct{}, uint32]
	*plain
	spec sensors.Spec
}

func (s *ring) Begin(ctx context.Context, env *sensors.Env) error {
	if err := s.plain.Begin(ctx, env); err != nil {
		return err
	}
	if err := s.Open(&s.spec, env, func(k *sensors.Capture[struct{}], _ readback.Lease[uint32]) { s.publish(k.At) }); err != nil {
		return err
	}
	return env.GL.Do(ctx, func(c *gpu.Ctx) error { return s.Make(c, 1) })
}

func (s *ring) Tick(sensors.Tick) error { return nil }

func (s *ring) Capture(c *gpu.Ctx, at sensors.Tick) (bool, error) {
	target, err := s.Take(c, at)
	if err != nil || target == nil {
		return false, err
	}
	return s.Start(c, sensors.Capture[struct{}]{At: at})
}

func (s *ring) End() error { return s.Close() }

// newRinged is newScripted with a sensor of type ringID, on a device whose fences follow a script.
func newRinged(t *testing.T, fences gputest.FenceScript, c pipeline.Config) (p *pipeline.Pipeline, s *pipeline.Sensor) {
	t.Helper()
	do, fake := &script{}, gputest.NewFake()
	do.with = []*sensors.Definition{{
		ID: ringID, Doc: ringID, Rate: simtime.Hz(100),
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			return &ring{plain: &plain{script: do, name: spec.Name}, spec: spec}, nil
		},
	}}
	fake.StopLog()
	fake.SetFences(fences)
	c.Scene, c.Open, c.Sensors = scenetest.MovingWall(30, 5), fake.Open, do.registry()
	p, err := pipeline.New(t.Context(), c)
	require.NoError(t, err)
	return p, addScripted(t, p, ringID, "front", "100")
}

// slowFence takes so many looks, pollPause apart in a stepped run, that a capture is on its way for
// longer than readback.DefaultTimeout.
var slowFence = gputest.FenceScript{Polls: 26_000}

// TestASlowDeviceLosesNothingInSteps: in a stepped run a capture takes as long as it takes, unless a limit was
// asked for. The sensor's name is told.
func TestASlowDeviceLosesNothingInSteps(t *testing.T) {
	for name, c := range map[string]struct {
		limit     time.Duration
		published int
		drops     flow.Drops
	}{
		"no limit":    {0, 1, flow.Drops{}},
		"a tight one": {time.Second, 0, flow.Drops{flow.CauseReadbackFailed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				p, s := newRinged(t, slowFence, pipeline.Config{DeviceTimeout: c.limit, Log: slog.New(slog.NewTextHandler(&log, nil))})
				published := 0
				hear(t, s, func(sensors.Tick, *sample.Imu) { published++ })
				require.NoError(t, p.Run(t.Context(), 10*time.Millisecond))
				require.NoError(t, p.Close(t.Context()))
				assert.Equal(t, c.published, published)
				assert.Equal(t, c.drops, s.Drops())
				assert.Equal(t, c.limit != time.Second, strings.Contains(log.String(), "the run waits for it") && strings.Contains(log.String(), "sensor=front"), log.String())
			})
		})
	}
}

// TestADeviceThatHangsEndsSteps that have a limit for it, and the error says so.
func TestADeviceThatHangsEndsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, &script{}, pipeline.Config{DeviceTimeout: 20 * time.Second})
		release := make(chan struct{})
		require.NoError(t, p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		}))
		err := p.Step(t.Context(), 1)
		close(release)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "end the run: the device has not come to rest within 40s")
	})
}

// TestADeviceThatHangsIsLeftInRealTime: a realtime run gives up a capture that is late.
func TestADeviceThatHangsIsLeftInRealTime(t *testing.T) {
	p, s := newRinged(t, gputest.FenceScript{Hold: true}, pipeline.Config{Mode: pipeline.Realtime, DeviceTimeout: time.Millisecond})
	hear(t, s, func(sensors.Tick, *sample.Imu) { t.Error("nothing comes back") })
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	assert.Positive(t, s.Drops()[flow.CauseReadbackFailed])
}

// TestSteppedSamplesFollowTheClock: law T4 for rates that the clock's isn't a multiple of, on networks and in files.
func TestSteppedSamplesFollowTheClock(t *testing.T) {
	for _, clockHz := range []int64{100, 10, 1} {
		for _, kind := range []bridges.Kind{bridges.KindNetwork, bridges.KindFile} {
			to := &peer{kind: kind}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), ClockRate: simtime.Hz(clockHz)})
			for _, rate := range []string{"15", "30", "400", "13.4"} {
				addScripted(t, p, plainID, "p"+strings.ReplaceAll(rate, ".", "_"), rate)
				addScripted(t, p, laggyID, "l"+strings.ReplaceAll(rate, ".", "_"), rate)
			}
			to.attach(t, p, "")
			require.NoError(t, p.Step(t.Context(), 7))
			_, err := p.StepTo(t.Context(), &world.Frame{Until: 123_456_789})
			require.NoError(t, err)
			require.NoError(t, p.Run(t.Context(), time.Second))
			require.NoError(t, p.Close(t.Context()))
			list := to.deliveries()
			assert.Greater(t, len(list), 800)
			clockFirst(t, list)
			for i := range list[1:] {
				assert.LessOrEqual(t, list[i].log, list[i+1].log)
			}
			var clocks []int64
			for _, d := range list {
				if d.topic == "/clock" {
					clocks = append(clocks, int64(d.stamp))
				}
			}
			assert.True(t, slices.IsSorted(clocks))
			assert.Len(t, slices.Compact(slices.Clone(clocks)), len(clocks), "each once")
			for at := int64(1e9) / clockHz; at <= int64(p.Clock().Now()); at += int64(1e9) / clockHz {
				assert.Contains(t, clocks, at, "its own rate remains")
			}
		}
	}
}

// TestTheClockKeepsItsRateWhereItSuffices: nothing is due between its ticks, so that there are no others.
func TestTheClockKeepsItsRateWhereItSuffices(t *testing.T) {
	to := &peer{kind: bridges.KindFile}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), ClockRate: simtime.Hz(20)})
	addScripted(t, p, plainID, "s", "10")
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), time.Second))
	require.NoError(t, p.Close(t.Context()))
	everyMs(t, 50, to.stamps("/clock"))
	assert.Len(t, to.stamps("/clock"), 20)
}

// TestALatchedTopicHasNoWantedRate: it comes once.
func TestALatchedTopicHasNoWantedRate(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	require.NoError(t, p.AddTransforms())
	require.NoError(t, p.Run(t.Context(), time.Second))
	wanted := map[string]float64{}
	for _, row := range p.Summary().Sensors {
		wanted[row.Topic] = row.RateWantedHz
	}
	assert.Equal(t, map[string]float64{"/clock": 100, "/tf": 50, "/tf_static": 0}, wanted)
}
