package motion_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func TestGNSSFixAtTheOriginIsTheOrigin(t *testing.T) {
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: karlsruhe()})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	assert.InDelta(t, 49.01, m.Latitude, 1e-10)
	assert.InDelta(t, 8.4, m.Longitude, 1e-10)
	assert.InDelta(t, 115, m.Altitude, 1e-5)
	assert.Zero(t, m.PositionCovariance)
}

func TestGNSSAntennaIsWhereItIsMounted(t *testing.T) {
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{
		Scene: karlsruhe(), Mount: spatial.FromRPY(mgl64.Vec3{0, 100, 2}, 0, 0, 0),
	})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	// REP-103 left of an ego that looks east is north.
	assert.Greater(t, m.Latitude, 49.0108)
	assert.InDelta(t, 8.4, m.Longitude, 1e-7)
	assert.InDelta(t, 117, m.Altitude, 1e-2)
}

// TestGNSSCarlaDefaults has the attributes of CARLA's and SVL's receivers.
func TestGNSSCarlaDefaults(t *testing.T) {
	settings := motion.GNSSDefinition.NewSettings()
	for _, name := range []string{"lat_bias", "lat_stddev", "lon_bias", "lon_stddev", "alt_bias", "alt_stddev"} {
		assert.Equal(t, 0.0, settings.Value("noise_"+name), name)
	}
	assert.Equal(t, int64(0), settings.Value("noise_seed"))
	assert.Equal(t, false, settings.Value("ignore_map_origin"))
}

func TestGNSSBiases(t *testing.T) {
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: karlsruhe(), Attributes: map[string]any{
		"noise_lat_bias": 0.5, "noise_lon_bias": -9.0, "noise_alt_bias": -20.0,
	}})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	assert.InDelta(t, 49.51, m.Latitude, 1e-9)
	assert.InDelta(t, -0.6, m.Longitude, 1e-9)
	assert.InDelta(t, 95, m.Altitude, 1e-5)
	assert.Zero(t, m.PositionCovariance)
}

func TestGNSSBiasStaysOnTheEarth(t *testing.T) {
	s := &scene.Scene{Ego: spatial.Identity(), Map: spatial.TangentMap(spatial.Geodetic{Latitude: 80, Longitude: 170})}
	h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: s, Attributes: map[string]any{
		"noise_lat_bias": 20.0, "noise_lon_bias": 20.0,
	}})
	h.Fire(1e8)
	m := sensortest.Last[*sample.GnssFix](h, "fix")
	assert.Equal(t, 90.0, m.Latitude)
	assert.InDelta(t, -170, m.Longitude, 1e-9)
}

// TestGNSSNoiseHasItsDeviations compares many fixes with what was asked for, and with the
// covariance that they report. It does so in metres by way of the lengths of a degree at 49.01°
// N. These are 111.21 and 73.16 km, interpolated from Snyder, Map Projections, table 1.
func TestGNSSNoiseHasItsDeviations(t *testing.T) {
	const n = 4000
	const north, east = 111_210.0, 73_160.0 // metres a degree
	for name, c := range map[string]struct {
		attributes   map[string]any
		e, north, up float64 // metres
	}{
		"metric": {map[string]any{"noise_horizontal_stddev": 2.0, "noise_vertical_stddev": 3.0}, 2, 2, 3},
		"degrees": {map[string]any{"noise_lat_stddev": 1e-5, "noise_lon_stddev": 2e-5, "noise_alt_stddev": 0.5},
			2e-5 * east, 1e-5 * north, 0.5},
		"both": {map[string]any{"noise_horizontal_stddev": 1.0, "noise_vertical_stddev": 3.0, "noise_lon_stddev": 2e-5, "noise_alt_stddev": 4.0},
			math.Hypot(1, 2e-5*east), 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{Scene: karlsruhe(), Attributes: c.attributes, StepNs: 100_000_000, Seed: 5})
			var e, no, u []float64
			for k := int64(1); k <= n; k++ {
				h.Fire(simtime.Stamp(k * 100_000_000))
				m := sensortest.Last[*sample.GnssFix](h, "fix")
				e, no, u = append(e, (m.Longitude-8.4)*east), append(no, (m.Latitude-49.01)*north), append(u, m.Altitude-115)
			}
			covariance := sensortest.Last[*sample.GnssFix](h, "fix").PositionCovariance
			for i, series := range [][]float64{e, no, u} {
				want := []float64{c.e, c.north, c.up}[i]
				mean, deviation := moments(series)
				assert.InDelta(t, 0, mean, 4*want/math.Sqrt(n), "axis %d", i)
				assert.InEpsilon(t, want, deviation, 4/math.Sqrt(2*n), "axis %d", i)
				assert.InEpsilon(t, want, math.Sqrt(covariance[4*i]), 1e-3, "axis %d", i)
			}
		})
	}
}

// moments returns the mean and the standard deviation.
func moments(series []float64) (mean, deviation float64) {
	for _, x := range series {
		mean += x / float64(len(series))
	}
	for _, x := range series {
		deviation += (x - mean) * (x - mean) / float64(len(series))
	}
	return mean, math.Sqrt(deviation)
}

// TestGNSSSeeds: the noise is a function of the seed and the firing's number alone.
func TestGNSSSeeds(t *testing.T) {
	fixes := func(run uint64, own int, firings ...uint64) []float64 {
		h := sensortest.New(t, motion.GNSSDefinition, sensortest.Options{
			Scene: karlsruhe(), Seed: run, Attributes: map[string]any{"noise_alt_stddev": 1.0, "noise_seed": own},
		})
		h.Env.History.Record(0)
		var altitudes []float64
		for _, seq := range firings {
			require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: 1e9, PeriodNs: 1e8, Seq: seq}))
			altitudes = append(altitudes, sensortest.Last[*sample.GnssFix](h, "fix").Altitude)
		}
		return altitudes
	}
	all := fixes(1, 0, 0, 1, 2, 3)
	assert.Equal(t, all[2:], fixes(1, 0, 2, 3), "what was not computed changes nothing")
	assert.NotEqual(t, all[0], all[1])
	assert.NotEqual(t, all, fixes(2, 0, 0, 1, 2, 3))
	assert.NotEqual(t, all, fixes(1, 7, 0, 1, 2, 3))
	assert.Equal(t, fixes(1, 7, 0, 1), fixes(2, 7, 0, 1), "a seed of its own replaces the run's")
}
