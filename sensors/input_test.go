package sensors_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
)

func TestInput(t *testing.T) {
	spec := sensors.DeclareInput[*int](sensors.InputSpec{Name: "target"})
	inlet := spec.Open()
	env := &sensors.Env{Inlets: []sensors.Inlet{inlet}}
	in, err := sensors.InputOf[*int](env, "target")
	require.NoError(t, err)
	assert.Empty(t, slices.Collect(in.Take()))
	for i := range 70 {
		inlet.Put(&i)
	}
	inlet.Put("no number")
	taken := slices.Collect(in.Take())
	require.Len(t, taken, 64, "the newest")
	assert.Equal(t, 6, *taken[0])
	assert.Equal(t, 69, *taken[63])
	assert.EqualValues(t, 6, in.Dropped())
	assert.Empty(t, slices.Collect(in.Take()), "each message once")
	last := 1
	inlet.Put(&last)
	inlet.Close()
	inlet.Put(&last)
	assert.Empty(t, slices.Collect(in.Take()))
}

func TestInputOfTellsWhatIsWrong(t *testing.T) {
	spec := sensors.DeclareInput[*int](sensors.InputSpec{Name: "target"})
	env := &sensors.Env{Inlets: []sensors.Inlet{spec.Open()}}
	_, err := sensors.InputOf[*string](env, "target")
	require.EqualError(t, err, "input target takes *int, not *string")
	_, err = sensors.InputOf[*int](env, "goal")
	require.EqualError(t, err, "input goal is not declared in the sensor's definition")
}

func TestDefinitionsInputs(t *testing.T) {
	newSensor := func(sensors.Spec) (sensors.Sensor, error) { return nil, nil }
	input := sensors.DeclareInput[*int](sensors.InputSpec{Name: "target"})
	define := func(inputs ...sensors.InputSpec) error {
		_, err := sensors.NewRegistry(&sensors.Definition{ID: "sensor.other.follower", New: newSensor, Inputs: inputs})
		return err
	}
	require.NoError(t, define(input))
	require.ErrorIs(t, define(input, input), sensors.ErrDuplicate)
	require.ErrorContains(t, define(sensors.InputSpec{Name: "target"}), "make it with DeclareInput")
}
