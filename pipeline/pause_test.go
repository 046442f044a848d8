package pipeline_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

const ms = int64(time.Millisecond)

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
		config.ClockHz = 1000 // there the step alone makes the clock
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
				assert.Equal(t, delivery{"/clock", 0, 0}, d, "while paused /clock goes on with the same stamp")
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

// TestStepsFireExactly: whatever is due in steps fires at its instant and is
// delivered, though there are more messages than a queue holds, the GPU is slow
// and the policy is to drop.
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

// TestAPausedStepOfAProgramWaits: Step and Run share the clock with whoever pauses
// it.
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
