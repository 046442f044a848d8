package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// TestARealtimeRecordingKeepsTheClockAhead: law T4 from the first message to the
// last, over two runs, in the order of the file and of its log times.
func TestARealtimeRecordingKeepsTheClockAhead(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, Bridges: to.registry(), ClockRate: simtime.Hz(20)})
	addScripted(t, p, laggyID, "captured", "100")
	addScripted(t, p, plainID, "computed", "100")
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), 130*time.Millisecond))
	require.NoError(t, p.Run(t.Context(), 170*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	list := to.deliveries()
	clockFirst(t, list)
	assert.True(t, slices.IsSortedFunc(list, func(a, b delivery) int { return int(a.log - b.log) }), "log times rise")
	for _, d := range list {
		assert.LessOrEqual(t, d.stamp, d.log)
	}
	assert.EqualValues(t, 300_000_000, list[len(list)-1].log)
}

func TestARealtimeRunEndsWithAllItsCaptures(t *testing.T) {
	captured := 0
	do := &script{capture: func(string, sensors.Tick) error {
		time.Sleep(3 * time.Millisecond) // a GPU that is behind
		captured++
		return nil
	}}
	p := newScripted(t, do, pipeline.Config{Mode: pipeline.Realtime})
	s := addScripted(t, p, laggyID, "s", "200")
	published := 0
	hear(t, s, func(sensors.Tick, *sample.Imu) { published++ })
	for range 10 {
		require.NoError(t, p.Run(t.Context(), 25*time.Millisecond))
		assert.Equal(t, captured, published)
	}
	row := p.Summary().Sensors[1]
	assert.EqualValues(t, published, row.Messages)
	assert.LessOrEqual(t, row.Messages+row.Drops[flow.CauseReadbackFull], int64(50))
}

// TestABusyGLThreadDropsAndCounts: a realtime run doesn't wait for it.
func TestABusyGLThreadDropsAndCounts(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime})
	s := addScripted(t, p, laggyID, "s", "100")
	published := int64(0)
	hear(t, s, func(sensors.Tick, *sample.Imu) { published++ })
	release := make(chan struct{})
	for err := error(nil); !errors.Is(err, gpu.ErrBusy); {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
	}
	time.AfterFunc(150*time.Millisecond, func() { close(release) })
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	row := p.Summary().Sensors[1]
	assert.Positive(t, row.Drops[flow.CauseReadbackFull])
	assert.Equal(t, published, row.Messages)
}

// TestARealtimeRunOnAnotherTimeSource: some begin at the UNIX epoch.
func TestARealtimeRunOnAnotherTimeSource(t *testing.T) {
	for _, source := range []string{"system", "simulation", "ros2"} {
		t.Run(source, func(t *testing.T) {
			to := &peer{}
			p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: source, Bridges: to.registry()})
			s := addScripted(t, p, laggyID, "s", "100")
			var stamps []int64
			hear(t, s, func(_ sensors.Tick, m *sample.Imu) { stamps = append(stamps, int64(m.Stamp)) })
			to.attach(t, p, "")
			begun := time.Now()
			require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
			assert.GreaterOrEqual(t, time.Since(begun), 190*time.Millisecond)
			assert.NotEmpty(t, stamps)
			assert.LessOrEqual(t, len(stamps), 21)
			for _, s := range stamps {
				assert.Zero(t, s%10_000_000, "%d is off the grid", s)
			}
			assert.InDelta(t, 0.2, p.Summary().SimS, 0.02)
			clockFirst(t, to.deliveries())
		})
	}
}

// TestARealtimeRunFollowsJumps of its clock: the source of its time changes from the epoch's to that of the run.
func TestARealtimeRunFollowsJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where no instant is late, and passed over
		p := newUnclocked(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, TimeSource: "system"})
		s := addScripted(t, p, plainID, "s", "100")
		var stamps []int64
		hear(t, s, func(_ sensors.Tick, m *sample.Imu) {
			if stamps = append(stamps, int64(m.Stamp)); len(stamps) == 5 {
				// On the frame loop itself: no wait is under way that could notice.
				assert.NoError(t, p.Clock().Select("simulation"))
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, p.Run(ctx, 200*time.Millisecond))
		require.NoError(t, ctx.Err(), "the run did not end by itself")
		require.NoError(t, p.Close(t.Context()))
		require.Greater(t, len(stamps), 5)
		assert.Less(t, stamps[len(stamps)-1], int64(time.Second))
	})
}

var _ bridges.Factory = (*peer)(nil)
