package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

func TestLookUp(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	for _, name := range []string{"front", "front_left", "rear"} {
		addScripted(t, p, plainID, name, "10")
	}
	addScripted(t, p, laggyID, "top", "10")
	s, err := p.Sensor("rear")
	require.NoError(t, err)
	assert.Equal(t, "rear", s.Name())
	_, err = p.Sensor("raer")
	require.ErrorIs(t, err, pipeline.ErrNoSensor)
	require.EqualError(t, err, `no such sensor: "raer", did you mean rear?`)
	for pattern, want := range map[string]string{
		"front*": "[front front_left]", "sensor.test.*": "[front front_left rear top]", laggyID: "[top]", "x": "[]", "[": "[]",
	} {
		names := []string{}
		for _, s := range p.SensorsOf(pattern) {
			names = append(names, s.Name())
		}
		assert.Equal(t, want, fmt.Sprint(names), pattern)
	}
}

// snapshot is a sensor that a run brings.
var snapshot = sensors.Config{ID: "sensor.other.snapshot", Name: "snapshot", Topic: "/snapshot"}

func TestAddOnce(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	require.ErrorIs(t, p.AddOnce(snapshot), sensors.ErrUnknownSensor)
	assert.Empty(t, p.Sensors())

	do := &script{with: []*sensors.Definition{groundtruth.SnapshotDefinition}}
	p = newScriptedIn(t, fleet(t), do, pipeline.Config{ClockRate: simtime.Hz(100)})
	imu := addScripted(t, p, plainID, "imu", "10")
	require.NoError(t, p.AddOnce(snapshot))
	require.NoError(t, p.AddOnce(snapshot), "there is one")
	require.Len(t, p.Sensors(), 2)
	s, err := p.Sensor("snapshot")
	require.NoError(t, err)
	assert.Equal(t, []string{"/snapshot"}, s.Topics())
	var order []string
	_, err = pipeline.Listen(s, "snapshot", func(_ sensors.Tick, m *sample.Snapshot) { order = append(order, fmt.Sprint("snapshot ", m.Frame)) })
	require.NoError(t, err)
	hear(t, imu, func(_ sensors.Tick, m *sample.Imu) { order = append(order, fmt.Sprint("imu ", m.Frame)) })
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Len(t, order, 11)
	assert.Equal(t, []string{"snapshot 9", "imu 9"}, order[9:])
}
