package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestSummaryHasWhatSensorsDidNotTake: messages that newer ones pushed out are counted,
// those of sensors that have ended too (law S5).
func TestSummaryHasWhatSensorsDidNotTake(t *testing.T) {
	w, s := &wheel{}, &script{}
	s.with = []*sensors.Definition{{
		ID: "sensor.test.deaf", Doc: "takes nothing", DefaultRate: "10",
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		Inputs:  []sensors.InputSpec{sensors.DeclareInput[*lane](sensors.InputSpec{Name: "lane", Suffix: "/lane"})},
		New:     func(spec sensors.Spec) (sensors.Sensor, error) { return &plain{script: s, name: spec.Name}, nil },
	}}
	p := newScripted(t, s, pipeline.Config{Bridges: w.registry()})
	w.attach(t, p)
	add := func() *pipeline.Sensor { return addScripted(t, p, "sensor.test.deaf", "deaf", "10") }
	row := pipeline.InputSummary{Name: "deaf", Type: "sensor.test.deaf", Topic: "/deaf/lane", Drops: flow.Drops{}}
	first := add()
	assert.Equal(t, []pipeline.InputSummary{row}, p.Summary().Inputs)

	for range 70 {
		w.deliver["/deaf/lane"](&lane{})
	}
	row.Drops = flow.Drops{"queue_full": 6}
	assert.Equal(t, []pipeline.InputSummary{row}, p.Summary().Inputs)

	require.NoError(t, p.Step(t.Context(), 1))
	require.NoError(t, first.Destroy(t.Context()))
	second := add()
	for range 65 {
		w.deliver["/deaf/lane"](&lane{})
	}
	require.NoError(t, second.Destroy(t.Context()))
	row.Drops, row.Ended = flow.Drops{"queue_full": 7}, true
	assert.Equal(t, []pipeline.InputSummary{row}, p.Summary().Inputs)
}
