package sensors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// watch is the smallest sensor: it tells the time.
type watch struct{ sensors.Reading[sample.Clock] }

func (w *watch) Tick(at sensors.Tick) error {
	w.Message.Stamp = at.Due
	w.Publish(at)
	return nil
}

// stamps is a sink that keeps the stamps of clocks.
type stamps []int64

func (*stamps) Listening() bool                                  { return true }
func (*stamps) Status() flow.Status                              { return flow.Connected }
func (*stamps) Publish(context.Context, sensors.Tick, any) error { return nil }
func (s *stamps) TryQueue(_ sensors.Tick, message any) bool {
	*s = append(*s, int64(message.(*sample.Clock).Stamp))
	return true
}

func TestReadingPublishesOnTheFirstOutput(t *testing.T) {
	ctx := context.Background()
	d := &sensors.Definition{
		ID:      "sensor.other.watch",
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "time"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			return &watch{sensors.Reading[sample.Clock]{Spec: spec}}, nil
		},
	}
	begin := func(ports ...sensors.Port) (*sensors.Life, error) {
		life := sensors.NewLife(d)
		require.NoError(t, life.Set(sensors.Spec{}))
		require.NoError(t, life.SetOwner(sensors.Owner{}))
		return life, life.Begin(ctx, &sensors.Env{Ports: ports})
	}
	_, err := begin()
	require.ErrorContains(t, err, "output time is not declared")
	other := sensors.Declare[sample.Speed](sensors.OutputSpec{Name: "time"})
	_, err = begin(other.Open())
	require.ErrorContains(t, err, "output time carries *sample.Speed, not *sample.Clock")

	port := d.Outputs[0].Open()
	var got stamps
	port.Connect(&got)
	life, err := begin(port)
	require.NoError(t, err)
	require.NoError(t, life.Tick(sensors.Tick{Due: 5, Seq: 0}))
	require.NoError(t, life.Tick(sensors.Tick{Due: 7, Seq: 1}))
	assert.Equal(t, stamps{5, 7}, got)
	require.NoError(t, life.End())
}
