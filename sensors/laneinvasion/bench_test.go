package laneinvasion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/laneinvasion"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// BenchmarkCity is one frame of the ego's way through the default city: the sensor is
// ticked at every instant.
func BenchmarkCity(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, laneinvasion.Definition, sensortest.Options{Scene: town, Ego: town.Route})
	h.Fire(10_000_000)
	h.Fire(20_000_000)
	b.ReportAllocs()
	for frame := uint64(2); b.Loop(); frame++ { // ahead, and by a jump of the clock back
		at := sensors.Tick{TimeNs: 10_000_000 * int64(1+frame%2), PeriodNs: 10_000_000, Frame: frame}
		require.NoError(b, h.Sensor.Tick(at))
	}
}
