package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/sensors/snapshot"
)

// BenchmarkCity is one snapshot of the default city, without what makes copies of it.
func BenchmarkCity(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, snapshot.Definition, sensortest.Options{Scene: town, Ego: town.Route})
	h.Fire(0)
	b.ReportMetric(float64(len(sensortest.Last[*sample.Snapshot](h, "snapshot").Actors)), "actors")
	b.ReportAllocs()
	for seq := uint64(1); b.Loop(); seq++ {
		_ = h.Sensor.Tick(sensors.Tick{TimeNs: 0, Seq: seq})
	}
}
