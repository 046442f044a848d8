package collision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/collision"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// BenchmarkCity is one look around the ego in the default city: the sensor does it at
// every instant.
func BenchmarkCity(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, collision.Definition, sensortest.Options{Scene: town, Ego: town.Route})
	b.ReportAllocs()
	h.Fire(10_000_000)
	for seq := uint64(1); b.Loop(); seq++ {
		require.NoError(b, h.Sensor.Tick(sensors.Tick{TimeNs: 10_000_000, Seq: seq, Frame: seq}))
	}
}
