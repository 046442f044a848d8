package pipeline_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
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
			_ = p.Latencies()
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
