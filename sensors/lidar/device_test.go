package lidar_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
)

// The points of one scan, and the elevations of a few rings, as the makers and
// AWSIM's presets state them.
func TestPresetsHaveTheirMakersShape(t *testing.T) {
	points := map[string]int{
		"VelodyneVLP16": 28_800, "VelodyneVLP32C": 57_600, "VelodyneVLS128": 230_400, "HesaiPandarQT": 38_400,
		"HesaiPandar40P": 72_000, "OusterOS1_64": 65_536, "HesaiAT128E2X": 76_800, "HesaiPandarXT32": 64_000,
		"HesaiQT128C2X": 86_400, "HesaiPandar128E4X": 230_400, "HesaiPandar128E4XHighRes": 345_600,
	}
	assert.Len(t, lidar.Presets(), len(points)+1)
	for name, want := range points {
		d, ok := lidar.Preset(name)
		require.True(t, ok, name)
		assert.Equal(t, want, d.Columns*len(d.Lasers), name)
		assert.InDelta(t, 0, math.Remainder(d.StepDeg*float64(d.Columns), 120), 1e-9, "%s covers whole thirds of a turn", name)
	}
	_, ok := lidar.Preset(lidar.Uniform)
	assert.False(t, ok)
}

func TestVLP16Rings(t *testing.T) {
	d, _ := lidar.Preset("VelodyneVLP16")
	byRing := map[uint16]float64{}
	for _, l := range d.Lasers {
		byRing[l.Ring] = l.ElevationDeg
	}
	require.Len(t, byRing, 16)
	for ring := range uint16(16) {
		assert.InDelta(t, -15+2*float64(ring), byRing[ring], 1e-9)
	}
}

func TestRaysTurnClockwiseThroughThePeriod(t *testing.T) {
	const period = 100_000_000
	d, _ := lidar.Preset("VelodyneVLP16")
	rays := d.Rays(period)
	require.Len(t, rays, 28_800)
	last := int64(-1)
	for i, r := range rays {
		assert.InDelta(t, 1, r.Direction.Len(), 1e-12)
		require.Less(t, r.TimeNs, int64(period))
		if i%16 == 0 {
			require.GreaterOrEqual(t, r.TimeNs, last)
			last = r.TimeNs
		}
	}
	// A quarter turn after straight ahead the device looks to the right.
	quarter := rays[16*450].Direction
	assert.Less(t, quarter[1], -0.9)
	assert.InDelta(t, period/4, rays[16*450].TimeNs, 60_000)
}

func TestUniformSpreadsLasers(t *testing.T) {
	d := lidar.UniformDevice(5, 360, 10, -30, 90)
	var got []float64
	for _, l := range d.Lasers {
		got = append(got, l.ElevationDeg)
	}
	assert.Equal(t, []float64{10, 0, -10, -20, -30}, got)
	assert.Equal(t, -45.0, d.StartDeg)
	assert.Equal(t, 0.25, d.StepDeg)
}

func TestBadSettings(t *testing.T) {
	for _, attributes := range []map[string]any{
		{"preset": "uniform", "upper_fov": -10, "lower_fov": 10},
		{"range": 5, "range_min": 6},
		{"channels": 16},
		{"preset": "VelodyneVLP32C", "upper_fov": 20},
	} {
		s := lidar.RayCast.NewSettings()
		for k, v := range attributes {
			require.NoError(t, s.Set(k, v))
		}
		_, err := lidar.RayCast.New(sensors.Spec{Definition: lidar.RayCast, Settings: s, RateHz: 10})
		assert.ErrorIs(t, err, sensors.ErrValue)
	}
	err := lidar.RayCast.NewSettings().Set("preset", "VelodyneVLP61")
	assert.ErrorIs(t, err, sensors.ErrValue)
	assert.ErrorContains(t, err, "VelodyneVLP16")
}
