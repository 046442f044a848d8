package sensors_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/weather"
)

// TestFeltPartsAreTheWeathersKeys, except the preset, which stands for all of them.
func TestFeltPartsAreTheWeathersKeys(t *testing.T) {
	var parts []string
	for _, p := range (&sensors.Felt{}).Parts() {
		parts = append(parts, p.Key)
	}
	assert.ElementsMatch(t, doc.Keys(reflect.TypeFor[weather.Setting]())[1:], parts)
}

// TestFelt: who feels something can't say why nothing is felt.
func TestFelt(t *testing.T) {
	some := func(felt sensors.Felt) *sensors.Definition {
		d := define()
		d.Weather = felt
		return d
	}
	_, err := sensors.NewRegistry(some(sensors.Felt{Rain: "wet", None: "dry"}))
	assert.ErrorIs(t, err, sensors.ErrDefinition)
	_, err = sensors.NewRegistry(some(sensors.Felt{Rain: "wet", Cloud: "dim"}))
	assert.NoError(t, err)
	felt := sensors.Felt{Rain: "wet", Cloud: "dim"}
	assert.Equal(t, []string{"rain", "cloud"}, felt.Keys())
}
