package simtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

// A hold and a pause overlap in every way; time goes on only without both.
func TestHoldAndPauseAreTwoWishes(t *testing.T) {
	type step struct {
		do     string
		paused bool
		passes bool // of the minute after it
	}
	for name, script := range map[string][]step{
		"hold alone":           {{"hold", false, false}, {"release", false, true}},
		"paused while held":    {{"hold", false, false}, {"pause", true, false}, {"release", true, false}, {"resume", false, true}},
		"resumed while held":   {{"pause", true, false}, {"hold", true, false}, {"resume", false, false}, {"release", false, true}},
		"held while paused":    {{"pause", true, false}, {"hold", true, false}, {"release", true, false}, {"resume", false, true}},
		"two holds":            {{"hold", false, false}, {"hold", false, false}, {"release", false, false}, {"release", false, true}},
		"released once more":   {{"hold", false, false}, {"release", false, true}, {"again", false, true}, {"hold", false, false}},
		"scaled while it held": {{"hold", false, false}, {"scale", false, false}, {"release", false, true}},
	} {
		for _, source := range []string{simtime.Engine, simtime.Simulation} {
			t.Run(name+" "+source, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newClock(t, simtime.Config{Source: source})
					var releases []func()
					last := func() {}
					for i, s := range script {
						switch s.do {
						case "hold":
							releases = append(releases, c.Hold())
						case "release":
							last, releases = releases[0], releases[1:]
							last()
						case "again":
							last()
						case "pause":
							c.Pause()
						case "resume":
							c.Resume()
						case "scale":
							require.NoError(t, c.SetScale(scale(t, "1")))
						}
						require.Equal(t, s.paused, c.Paused(), "step %d", i)
						before := c.Pace()
						time.Sleep(time.Minute)
						want := int64(0)
						if s.passes {
							want = int64(time.Minute)
						}
						require.Equal(t, want, c.Pace()-before, "step %d", i)
						require.NoError(t, c.Advance(c.Pace()))
					}
				})
			})
		}
	}
}

// Only where a source went on by itself has time a gap, and that is told.
func TestHoldTellsOfGapsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for source, want := range map[string][]simtime.ChangeKind{
			simtime.Engine: nil, simtime.Simulation: nil, simtime.System: nil, simtime.SS2: {simtime.Jumped}, simtime.ROS2: {simtime.Jumped},
		} {
			c := newClock(t, simtime.Config{Source: source})
			var kinds []simtime.ChangeKind
			c.Subscribe(func(change simtime.Change) { kinds = append(kinds, change.Kind) })
			release := c.Hold()
			before := c.Now()
			if source == simtime.SS2 {
				require.NoError(t, c.Set(100, 0))
			}
			time.Sleep(time.Minute)
			assert.Equal(t, before, c.Now(), source)
			release()
			assert.Equal(t, want, kinds, source)
		}
	})
}

func TestHoldEndsAWaitsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, stepped := range []bool{false, true} {
			c := newClock(t, simtime.Config{Stepped: stepped})
			release := c.Hold()
			time.AfterFunc(time.Minute, release)
			begun := time.Now()
			require.NoError(t, c.WaitUntil(context.Background(), 1))
			assert.GreaterOrEqual(t, time.Since(begun), time.Minute)
		}
	})
}

// A loop is late by what the host's clock is ahead, never by what Step added.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, source := range []string{simtime.Engine, simtime.Simulation} {
			c := newClock(t, simtime.Config{Source: source})
			time.Sleep(30 * time.Millisecond)
			assert.EqualValues(t, 20*ms, c.Lag(10*ms), source)
			assert.Zero(t, c.Lag(40*ms), source)
			require.NoError(t, c.Advance(30*ms))

			c.Pause()
			require.NoError(t, c.Step(100*ms))
			require.NoError(t, c.Step(100*ms))
			for _, at := range []int64{31 * ms, 130 * ms, 131 * ms, 230 * ms} {
				assert.Zero(t, c.Lag(at), "%s at %d", source, at)
				assert.True(t, c.Stepping(at), "%s at %d", source, at)
			}
			assert.EqualValues(t, 10*ms, c.Lag(20*ms), "%s: late before the steps", source)
			for _, at := range []int64{30 * ms, 230*ms + 1} {
				assert.False(t, c.Stepping(at), "%s at %d", source, at)
			}
			c.Resume()
			time.Sleep(50 * time.Millisecond)
			assert.Zero(t, c.Lag(150*ms), "%s: the steps are still to be gone", source)
			assert.True(t, c.Stepping(150*ms), source)
			assert.EqualValues(t, 40*ms, c.Lag(240*ms), source)

			require.NoError(t, c.Advance(c.Pace()))
			c.Pause()
			require.NoError(t, c.Step(10*ms))
			assert.EqualValues(t, 80*ms, c.Lag(200*ms), "%s: those steps are long gone", source)
			assert.Zero(t, c.Lag(290*ms), source)
		}
		c := newClock(t, simtime.Config{Stepped: true})
		c.Pause()
		require.NoError(t, c.Step(10*ms))
		assert.Zero(t, c.Lag(0))
		assert.False(t, c.Stepping(10*ms))
	})
}

// A jump makes the steps before it meaningless.
func TestAJumpForgetsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		c.Pause()
		require.NoError(t, c.Step(int64(time.Hour)))
		require.NoError(t, c.Select(simtime.Engine))
		c.Resume()
		time.Sleep(time.Second)
		assert.EqualValues(t, time.Second-10*time.Millisecond, c.Lag(10*ms))
		assert.False(t, c.Stepping(10*ms))
	})
}
