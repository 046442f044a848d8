package simtime_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

func newClock(t testing.TB, cfg simtime.Config) *simtime.Clock {
	t.Helper()
	c, err := simtime.NewClock(cfg)
	require.NoError(t, err)
	return c
}

func TestParseSource(t *testing.T) {
	for name, want := range map[string]string{
		"engine": simtime.Engine, "unity": simtime.Engine, "UNITY": simtime.Engine, "ss2": simtime.SS2,
		"System": simtime.System, "DOTNET_SYSTEM": simtime.System, "simulation": simtime.Simulation,
		"dotnet_simulation": simtime.Simulation, "ROS2": simtime.ROS2, " external ": simtime.SS2,
	} {
		got, err := simtime.ParseSource(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := simtime.ParseSource("gps")
	require.ErrorIs(t, err, simtime.ErrUnknownSource)
	for _, known := range []string{"engine", "ss2", "system", "simulation", "ros2", "unity"} {
		assert.ErrorContains(t, err, known)
	}
	_, err = simtime.NewClock(simtime.Config{Source: "gps"})
	assert.ErrorIs(t, err, simtime.ErrUnknownSource)
}

// Start values, and what two seconds at half speed make of them.
func TestSourcesStartAndScale(t *testing.T) {
	const sec = int64(time.Second)
	tests := []struct {
		source       string
		start, later func(unix int64) int64
	}{
		{simtime.Engine, zero, func(int64) int64 { return sec }},
		{simtime.SS2, zero, zero},
		{simtime.System, same, func(unix int64) int64 { return unix + sec }},
		{simtime.Simulation, zero, func(int64) int64 { return sec }},
		{simtime.ROS2, same, func(unix int64) int64 { return unix + 2*sec }},
	}
	for _, tt := range tests {
		t.Run(tt.source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				unix := time.Now().UnixNano()
				c := newClock(t, simtime.Config{Source: tt.source, Scale: scale(t, "0.5")})
				assert.Equal(t, tt.start(unix), c.Now())
				time.Sleep(2 * time.Second)
				require.NoError(t, c.Advance(c.Pace()))
				assert.Equal(t, tt.later(unix), c.Now())
			})
		})
	}
}

func zero(int64) int64      { return 0 }
func same(unix int64) int64 { return unix }

// The engine shows where the loop is; its pace follows the host.
func TestEngineIsAdvancedByTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{})
		require.NoError(t, c.WaitUntil(context.Background(), 10*ms))
		assert.EqualValues(t, 0, c.Now())
		assert.EqualValues(t, 10*ms, c.Pace())
		require.NoError(t, c.Advance(10*ms))
		assert.EqualValues(t, 10*ms, c.Now())
		assert.ErrorIs(t, c.Advance(5*ms), simtime.ErrBackward)
		assert.ErrorIs(t, c.Advance(11*ms), simtime.ErrAhead)

		time.Sleep(300 * time.Millisecond)
		assert.EqualValues(t, 300*ms, c.DropLag())
		assert.EqualValues(t, 10*ms, c.Pace())
		assert.Zero(t, c.DropLag())

		time.Sleep(5 * time.Millisecond)
		c.Pause() // 5 ms ahead of the loop: they come after the pause
		assert.ErrorIs(t, c.Advance(15*ms), simtime.ErrAhead)
		time.Sleep(time.Minute)
		assert.EqualValues(t, 10*ms, c.Pace())
		require.NoError(t, c.Step(20*ms))
		require.NoError(t, c.WaitUntil(context.Background(), 20*ms))
		require.NoError(t, c.Advance(20*ms))
		require.NoError(t, c.Advance(30*ms))
		assert.ErrorIs(t, c.Advance(31*ms), simtime.ErrAhead)
		c.Resume()
		require.NoError(t, c.WaitUntil(context.Background(), 40*ms))
		assert.EqualValues(t, 40*ms, c.Pace())
	})
}

func TestSteppedClock(t *testing.T) {
	for _, source := range []string{simtime.Engine, simtime.Simulation, simtime.System} {
		t.Run(source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(t, simtime.Config{Source: source, Stepped: true})
				start := c.Now()
				time.Sleep(time.Hour)
				for k := range int64(10) {
					require.NoError(t, c.WaitUntil(context.Background(), start+k*ms))
					require.NoError(t, c.Advance(start+k*ms))
					assert.Equal(t, start+k*ms, c.Now())
				}
				assert.ErrorIs(t, c.Advance(start), simtime.ErrBackward)
				assert.ErrorIs(t, c.Step(1), simtime.ErrNotPaused)
				c.Pause()
				assert.ErrorIs(t, c.Advance(start+10*ms), simtime.ErrAhead)
				assert.ErrorIs(t, c.Step(0), simtime.ErrDuration)
				require.NoError(t, c.Step(ms))
				require.NoError(t, c.Advance(start+10*ms))
				assert.ErrorIs(t, c.Advance(start+11*ms), simtime.ErrAhead)
				c.Resume()
				require.NoError(t, c.Advance(start+11*ms))
				assert.ErrorIs(t, c.Select(simtime.ROS2), simtime.ErrNotSteppable)
				assert.Equal(t, source, c.Source())
			})
		})
	}
	for _, source := range []string{simtime.SS2, simtime.ROS2} {
		_, err := simtime.NewClock(simtime.Config{Source: source, Stepped: true})
		assert.ErrorIs(t, err, simtime.ErrNotSteppable)
	}
}

// record collects a clock's changes.
func record(c *simtime.Clock) func() []simtime.Change {
	var mu sync.Mutex
	var changes []simtime.Change
	c.Subscribe(func(change simtime.Change) {
		mu.Lock()
		changes = append(changes, change)
		mu.Unlock()
	})
	return func() []simtime.Change {
		mu.Lock()
		defer mu.Unlock()
		taken := changes
		changes = nil
		return taken
	}
}

func TestSelectRaisesAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		changes := record(c)
		unix := time.Now().UnixNano()
		time.Sleep(3 * time.Second)
		require.NoError(t, c.Select("simulation"))
		assert.Empty(t, changes())
		require.NoError(t, c.Select("SYSTEM"))
		assert.Equal(t, []simtime.Change{{
			Kind: simtime.SourceChanged, Source: simtime.System, Scale: simtime.RealTime,
			From: 3000 * ms, To: unix + 3000*ms,
		}}, changes())
		assert.ErrorIs(t, c.Select("gps"), simtime.ErrUnknownSource)
		assert.Equal(t, simtime.System, c.Source())
		c.Pause()
		require.NoError(t, c.Select("unity"))
		assert.EqualValues(t, 0, c.Now())
		time.Sleep(time.Second)
		assert.EqualValues(t, 0, c.Pace(), "still paused")
		c.Resume()
		time.Sleep(time.Second)
		assert.EqualValues(t, 1000*ms, c.Pace())
		kinds := []simtime.ChangeKind{}
		for _, change := range changes() {
			kinds = append(kinds, change.Kind)
		}
		assert.Equal(t, []simtime.ChangeKind{simtime.Paused, simtime.SourceChanged, simtime.Resumed}, kinds)
	})
}

func TestSS2IsSetFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.SS2})
		changes := record(c)
		require.NoError(t, c.Set(0, 500_000_000))
		assert.EqualValues(t, 500*ms, c.Now())
		assert.Empty(t, changes())
		require.NoError(t, c.Set(0, 400_000_000))
		assert.True(t, changes()[0].Jump(), "back")
		require.NoError(t, c.Set(5, 0))
		assert.Equal(t, simtime.Jumped, changes()[0].Kind, "4.6 s at once")
		time.Sleep(10 * time.Second)
		require.NoError(t, c.Set(15, 0))
		assert.Empty(t, changes(), "10 s after 10 s is no jump")

		c.Pause()
		require.NoError(t, c.Set(16, 0))
		assert.EqualValues(t, 15_000*ms, c.Now())
		assert.ErrorIs(t, c.Step(ms), simtime.ErrNotSteppable)
		c.Resume()
		assert.EqualValues(t, 16_000*ms, c.Now())
		resumed := changes()[1]
		assert.Equal(t, simtime.Resumed, resumed.Kind)
		assert.True(t, resumed.Jump())

		for _, bad := range []struct {
			sec  int64
			nsec uint32
		}{{-1, 0}, {0, 1e9}, {1 << 62, 0}} {
			assert.ErrorIs(t, c.Set(bad.sec, bad.nsec), simtime.ErrDuration)
		}
		require.NoError(t, c.Select(simtime.Engine))
		assert.ErrorIs(t, c.Set(1, 0), simtime.ErrNotSettable)
	})
}

func TestROS2FollowsAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ros atomic.Int64
		ros.Store(7)
		c := newClock(t, simtime.Config{Source: simtime.ROS2, ROSClock: ros.Load})
		changes := record(c)
		assert.EqualValues(t, 7, c.Now())
		require.NoError(t, c.SetScale(scale(t, "0.1")))
		ros.Store(20)
		assert.EqualValues(t, 20, c.Now(), "not scaled")
		changes()
		ros.Store(10)
		assert.EqualValues(t, 10, c.Now())
		assert.Equal(t, []simtime.Change{{
			Kind: simtime.Jumped, Source: simtime.ROS2, Scale: scale(t, "0.1"), From: 20, To: 10,
		}}, changes())
		c.FollowROS(func() int64 { return 5000 * ms })
		assert.EqualValues(t, 5000*ms, c.Now())
		assert.Len(t, changes(), 1)
		c.FollowROS(nil)
		assert.Equal(t, time.Now().UnixNano(), c.Now())
	})
}

func TestWaitUntilFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		start := time.Now()
		waited := make(chan error, 1)
		go func() { waited <- c.WaitUntil(context.Background(), 10_000*ms) }()
		time.Sleep(time.Second)
		require.NoError(t, c.SetScale(scale(t, "3"))) // 9 s left, 3 s long
		time.Sleep(time.Second)
		c.Pause()
		time.Sleep(time.Hour)
		c.Resume()
		require.NoError(t, <-waited)
		assert.Equal(t, 4*time.Second+time.Hour, time.Since(start))

		go func() { waited <- c.WaitUntil(context.Background(), 1e18) }()
		synctest.Wait()
		require.NoError(t, c.Select(simtime.SS2))
		assert.ErrorIs(t, <-waited, simtime.ErrJumped)

		ctx, cancel := context.WithCancel(context.Background())
		go func() { waited <- c.WaitUntil(ctx, 1e18) }()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-waited, context.Canceled)
	})
}

// A subscriber may call the clock, and is told of all changes in their order.
func TestSubscriberMayCallTheClock(t *testing.T) {
	c := newClock(t, simtime.Config{})
	var kinds []simtime.ChangeKind
	cancel := c.Subscribe(func(change simtime.Change) {
		kinds = append(kinds, change.Kind)
		if change.Kind == simtime.Paused {
			c.Resume()
		}
	})
	c.Pause()
	assert.Equal(t, []simtime.ChangeKind{simtime.Paused, simtime.Resumed}, kinds)
	assert.False(t, c.Paused())
	cancel()
	c.Pause()
	assert.Len(t, kinds, 2)
	assert.Equal(t, "resumed", simtime.Resumed.String())
}
