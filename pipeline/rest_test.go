package pipeline_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

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
