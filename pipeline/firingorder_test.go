package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/snapshot"
)

// TestTheSnapshotIsFirst: also of those that fire each frame, though it was added last.
func TestTheSnapshotIsFirst(t *testing.T) {
	do := &script{with: []*sensors.Definition{snapshot.Definition}}
	p := newScripted(t, do, pipeline.Config{})
	var order []string
	note := func(s *pipeline.Sensor) {
		hear(t, s, func(sensors.Tick, *sample.Imu) { order = append(order, s.Name()) })
	}
	note(addScripted(t, p, plainID, "grid", "100"))
	note(addScripted(t, p, eachID, "each", ""))
	require.NoError(t, p.AddSnapshot())
	note(addScripted(t, p, eachID, "other", ""))
	s, err := p.Sensor("snapshot")
	require.NoError(t, err)
	_, err = pipeline.Listen(s, "snapshot", func(sensors.Tick, *sample.Snapshot) { order = append(order, "snapshot") })
	require.NoError(t, err)
	want := []string{"snapshot", "each", "other", "grid"}
	_, due := p.NextDue()
	var named []string
	for _, s := range due {
		named = append(named, s.Name())
	}
	assert.Equal(t, want, named)
	require.NoError(t, p.Step(t.Context(), 2))
	assert.Equal(t, append(want, want...), order)
}
