package imu_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/imu"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// TestCarlaDefaults has the attributes of CARLA's unit, and those beside them.
func TestCarlaDefaults(t *testing.T) {
	settings := imu.Definition.NewSettings()
	for _, name := range []string{"noise_accel_stddev", "noise_gyro_stddev", "noise_gyro_bias", "noise_accel_bias"} {
		for _, axis := range []string{"_x", "_y", "_z"} {
			assert.Equal(t, 0.0, settings.Value(name+axis), name+axis)
		}
	}
	assert.Equal(t, 0.0, settings.Float("noise_accel_bias_walk"))
	assert.Equal(t, 0.0, settings.Float("noise_gyro_bias_walk"))
	assert.Equal(t, 0, settings.Int("noise_seed"))
}

// atRest returns an unmoving sensor's measurements, gravity taken away.
func atRest(t *testing.T, seed uint64, attributes map[string]any, firings ...uint64) (force, rate []mgl64.Vec3, last *sample.Imu) {
	t.Helper()
	h := sensortest.New(t, imu.Definition, sensortest.Options{Seed: seed, Attributes: attributes})
	h.Env.History.Record(0)
	for _, seq := range firings {
		require.NoError(t, h.Sensor.Tick(sensors.Tick{TimeNs: 1e9, PeriodNs: 1e8, Seq: seq}))
		last = sensortest.Last[*sample.Imu](h, "imu")
		force = append(force, last.LinearAcceleration.Sub(mgl64.Vec3{0, 0, imu.StandardGravity}))
		rate = append(rate, last.AngularVelocity)
	}
	return force, rate, last
}

func sequence(n uint64) (all []uint64) {
	for k := range n {
		all = append(all, k)
	}
	return all
}

// TestEveryAxisHasItsNoise: deviation and bias of each axis, and the covariance that
// goes with them.
func TestEveryAxisHasItsNoise(t *testing.T) {
	const n = 4000
	attributes := map[string]any{}
	var deviation, bias [2][3]float64
	for q, quantity := range []string{"accel", "gyro"} {
		for i, axis := range []string{"_x", "_y", "_z"} {
			deviation[q][i], bias[q][i] = 0.1*float64(1+i+3*q), 0.3*float64(i-1)-0.1*float64(q)
			attributes["noise_"+quantity+"_stddev"+axis] = deviation[q][i]
			attributes["noise_"+quantity+"_bias"+axis] = bias[q][i]
		}
	}
	force, rate, last := atRest(t, 1, attributes, sequence(n)...)
	covariances := [2][9]float64{last.LinearAccelerationCovariance, last.AngularVelocityCovariance}
	for q, series := range [2][]mgl64.Vec3{force, rate} {
		for i := range 3 {
			var mean, variance float64
			for _, v := range series {
				mean += v[i] / n
			}
			for _, v := range series {
				variance += (v[i] - mean) * (v[i] - mean) / n
			}
			want := deviation[q][i]
			assert.InDelta(t, bias[q][i], mean, 4*want/math.Sqrt(n))
			assert.InEpsilon(t, want, math.Sqrt(variance), 4/math.Sqrt(2*n))
			assert.InDelta(t, want*want, covariances[q][4*i], 1e-12)
		}
	}
	for i, v := range covariances[0] {
		if i%4 != 0 {
			assert.Zero(t, v)
		}
	}
}

// TestBiasWalk: at 10 Hz the deviation after 6.4 s is the figure times √6.4, and no two
// axes wander together.
func TestBiasWalk(t *testing.T) {
	const walks = 1500
	attributes := map[string]any{"noise_accel_bias_walk": 0.05, "noise_gyro_bias_walk": 0.02}
	var square [6]float64
	var together float64
	for seed := range uint64(walks) {
		force, rate, last := atRest(t, seed*0x9e3779b97f4a7c15, attributes, 0, 64)
		assert.InDelta(t, 0, force[0].Len(), 1e-12, "it begins at 0")
		for i := range 3 {
			square[i] += force[1][i] * force[1][i] / walks
			square[3+i] += rate[1][i] * rate[1][i] / walks
		}
		together += force[1][0] * rate[1][0] / walks
		assert.Zero(t, last.LinearAccelerationCovariance, "a bias is in no covariance")
	}
	for i := range 3 {
		assert.InEpsilon(t, 0.05*0.05*6.4, square[i], 4*math.Sqrt(2.0/walks))
		assert.InEpsilon(t, 0.02*0.02*6.4, square[3+i], 4*math.Sqrt(2.0/walks))
	}
	assert.InDelta(t, 0, together/(0.05*0.02*6.4), 4/math.Sqrt(walks))
}

// TestNoiseDependsOnSeedAndNumber alone: what was not computed changes nothing.
func TestNoiseDependsOnSeedAndNumber(t *testing.T) {
	attributes := map[string]any{"noise_gyro_stddev_y": 0.1, "noise_accel_bias_walk": 0.1}
	force, rate, _ := atRest(t, 1, attributes, sequence(20)...)
	later, laterRate, _ := atRest(t, 1, attributes, 17, 5)
	assert.Equal(t, []mgl64.Vec3{force[17], force[5]}, later)
	assert.Equal(t, []mgl64.Vec3{rate[17], rate[5]}, laterRate)

	other, _, _ := atRest(t, 2, attributes, 17)
	assert.NotEqual(t, force[17], other[0])
	attributes["noise_seed"] = 77
	own, _, _ := atRest(t, 1, attributes, 17)
	same, _, _ := atRest(t, 2, attributes, 17)
	assert.NotEqual(t, force[17], own[0])
	assert.Equal(t, own, same, "a seed of its own replaces the run's")
}
