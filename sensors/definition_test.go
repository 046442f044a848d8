package sensors_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

func TestRegistryRefusesAnOutputThatNobodyCanOpen(t *testing.T) {
	_, err := sensors.NewRegistry(&sensors.Definition{
		ID: "a", New: func(sensors.Spec) (sensors.Sensor, error) { return nil, nil },
		Outputs: []sensors.OutputSpec{{Name: "image"}},
	})
	require.EqualError(t, err, "define sensor a: output image: make it with Declare")
}

func TestNumbersAreFinite(t *testing.T) {
	a := sensors.Attribute{Name: "gain", Type: sensors.Float}
	_, err := a.Parse(math.NaN())
	require.EqualError(t, err, "bad attribute value: gain is NaN, need a finite number")
	a.Min, a.Max, a.Unit = 0, 2, "dB"
	_, err = a.Parse(math.Inf(1))
	require.EqualError(t, err, "bad attribute value: gain is +Inf, the range is 0 to 2 dB")
}

// receiver counts what a sink is given.
type receiver struct {
	listening bool
	got       int
}

func (r *receiver) Listening() bool { return r.listening }

func (r *receiver) TryQueue(sensors.Tick, any) bool {
	r.got++
	return true
}

func (r *receiver) Publish(context.Context, sensors.Tick, any) error { return nil }

func TestLatchReachesEachReceiverOnce(t *testing.T) {
	spec := sensors.Declare[sample.Clock](sensors.OutputSpec{Name: "static"})
	out := spec.Open().(*sensors.Output[*sample.Clock])
	there, late := &receiver{listening: true}, &receiver{}
	out.Connect(there)
	out.Connect(late)
	latch := func() { out.Latch(sensors.Tick{}, &sample.Clock{}) }
	latch()
	latch()
	assert.Equal(t, []int{1, 0}, []int{there.got, late.got})
	late.listening = true
	latch()
	latch()
	assert.Equal(t, []int{1, 1}, []int{there.got, late.got})
	late.listening = false
	latch()
	late.listening = true
	latch()
	assert.Equal(t, []int{1, 2}, []int{there.got, late.got}, "who comes again is given it again")
	stranger := &receiver{listening: true}
	out.Connect(stranger)
	latch()
	assert.Equal(t, 1, stranger.got)
}
