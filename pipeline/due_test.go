package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestNextDueIsWhatFires holds the queries against the run they foretell.
func TestNextDueIsWhatFires(t *testing.T) {
	p := newUnclocked(t, &script{}, pipeline.Config{})
	each := addScripted(t, p, eachID, "each", "")
	for i, rate := range []string{"7", "13.4", "20"} {
		hear(t, addScripted(t, p, plainID, fmt.Sprint("s", i), rate), func(sensors.Tick, *sample.Imu) {})
	}
	hear(t, each, func(sensors.Tick, *sample.Imu) {})
	names := func(list []*pipeline.Sensor) (names []string) {
		for _, s := range list {
			names = append(names, s.Name())
		}
		return names
	}
	for range 60 {
		at, due := p.NextDue()
		assert.Equal(t, names(due), names(p.DueAt(at)))
		assert.Empty(t, p.DueAt((at - 1)), "nothing happens before")
		list, err := p.StepSensors(t.Context(), 1)
		require.NoError(t, err)
		byTime := map[int64][]string{}
		for _, d := range list {
			byTime[int64(d.Due)] = append(byTime[int64(d.Due)], d.Sensor)
		}
		assert.Equal(t, names(due), byTime[int64(at)])
		assert.Empty(t, p.DueAt(at), "it is past")
	}
	assert.Equal(t, []string{"each", "s0", "s1", "s2"}, names(p.DueAt(5_000_000_000)))
	assert.Equal(t, []string{"each"}, names(p.DueAt(5_010_000_000)))
	assert.Empty(t, p.DueAt(5_010_000_001))
}
