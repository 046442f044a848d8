//go:build cgo

package lidar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
)

// A firing table counts for the run's memory from the sensor's begin to its end: 36 bytes a row. If too little is left, the error has the file and
// its firings; a scan's buffers have its points.
func TestFiringTablesTakeMemory(t *testing.T) {
	table := func(rows int) string { // a row a millisecond: 100 or 101 in a scan
		var b strings.Builder
		b.WriteString("time,azimuth,elevation\n")
		for i := range rows {
			fmt.Fprintf(&b, "%v,%d,0\n", float64(i)/1000, i%360)
		}
		return fileOf(t, b.String())
	}
	budget := memory.New(1 << 30)
	thread, err := gpu.Config{Memory: budget}.Start(gputest.Opener())
	require.NoError(t, err)
	defer func() { require.NoError(t, thread.Close()) }()
	options := sensortest.Options{Scene: plate(20, scene.TagBuilding, func(*scene.Material) {}), GL: thread}
	attributes := func(rows int) map[string]any {
		return map[string]any{"firing_table": table(rows), "intensity": "range_corrected", "beam_divergence": 3, "returns": "dual"}
	}
	var held [2]int64
	for i, rows := range []int{200, 20_200} {
		options.Attributes = attributes(rows)
		h := sensortest.New(t, lidar.RayCastDefinition, options)
		before := budget.Held()
		h.Fire(scanPeriod)
		h.Tune(lidar.RayCastDefinition, options)
		h.Fire(2 * scanPeriod)
		assert.Equal(t, before, budget.Held(), "tuning it takes no more")
		h.End()
		held[i] = before - budget.Held()
		if i == 0 {
			continue
		}
		begin := func(left int64) error {
			spec := sensors.Spec{Name: "roof", Definition: lidar.RayCastDefinition, Settings: settings(t, lidar.RayCastDefinition, options.Attributes), Rate: simtime.Hz(10)}
			s, err := lidar.RayCastDefinition.New(spec)
			require.NoError(t, err)
			taken := 1<<30 - budget.Held() - left
			require.NoError(t, budget.Take("all else", taken))
			defer budget.Give(taken)
			before := budget.Held()
			err = s.Begin(t.Context(), h.Env)
			assert.Equal(t, before, budget.Held(), "a sensor that can't begin holds nothing")
			return err
		}
		err := begin(held[1] - 1)
		require.ErrorIs(t, err, memory.ErrExceeded)
		require.ErrorContains(t, err, options.Attributes["firing_table"].(string)+", 20200 firings with 101 in a scan, needs")
		err = begin(1000)
		require.ErrorIs(t, err, memory.ErrExceeded)
		require.ErrorContains(t, err, "scans of 202 points, 9.5 KiB each: ")
	}
	assert.EqualValues(t, 36*20_000, held[1]-held[0])
}
