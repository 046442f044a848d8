package pipeline_test

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// tuned is a stepped pipeline with one sensor, whose messages it collects.
func tuned(t *testing.T, c sensors.Config) (*pipeline.Pipeline, *pipeline.Sensor, *[]sample.Imu) {
	t.Helper()
	p, err := pipeline.New(t.Context(), pipeline.Config{Scene: scenetest.MovingWall(30, 5), Sensors: all.Registry(), Open: gputest.NewFake().Open})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close(context.Background())) })
	s, err := p.AddSensor(c)
	require.NoError(t, err)
	var got []sample.Imu
	if c.ID == "sensor.other.imu" {
		_, err = pipeline.Listen(s, "imu", func(_ sensors.Tick, m *sample.Imu) { got = append(got, *m) })
		require.NoError(t, err)
	}
	return p, s, &got
}

// TestTuneCountsFromTheNextFiring: a bias is there from the firing after the call on, and the
// same in every run.
func TestTuneCountsFromTheNextFiring(t *testing.T) {
	var runs [2][]float64
	for k := range runs {
		p, s, got := tuned(t, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(50)})
		require.NoError(t, p.Step(t.Context(), 10)) // 100 ms
		require.NoError(t, s.Tune(pipeline.Tuning{Attributes: map[string]any{"noise_gyro_bias_z": 0.5}}))
		require.NoError(t, p.Step(t.Context(), 10))
		for _, m := range *got {
			runs[k] = append(runs[k], math.Round(m.AngularVelocity[2]*1e6)/1e6)
		}
	}
	assert.Equal(t, []float64{0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5}, runs[0])
	assert.Equal(t, runs[0], runs[1])
}

// TestFieldsOfViewHoldNothingUp: the sensor that tells is made once for its settings, while none waits for it.
func TestFieldsOfViewHoldNothingUp(t *testing.T) {
	_, s, _ := tuned(t, sensors.Config{ID: "sensor.lidar.ray_cast", Name: "lidar"})
	made := 0
	s.WatchNew(func() {
		made++
		assert.False(t, s.TuningLocked())
	})
	for range 2 {
		view, ok := s.FieldOfView()
		assert.True(t, ok)
		assert.NotZero(t, view.Horizontal)
	}
	assert.Equal(t, 1, made)
}

// TestTuneChangesTheRate after the next firing, onto the new rate's grid.
func TestTuneChangesTheRate(t *testing.T) {
	p, s, got := tuned(t, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(50)})
	require.NoError(t, p.Step(t.Context(), 5))
	require.NoError(t, s.Tune(pipeline.Tuning{Rate: simtime.Hz(20)}))
	assert.Equal(t, 0.0, s.Live()["noise_accel_bias_x"])
	require.NoError(t, s.Tune(pipeline.Tuning{Attributes: map[string]any{"noise_accel_bias_x": 1.0}}))
	assert.Equal(t, 1.0, s.Live()["noise_accel_bias_x"], "as told")
	require.NoError(t, p.Step(t.Context(), 20))
	var at []int64
	var biased []bool
	for _, m := range *got {
		at = append(at, int64(m.Stamp)/1e6)
		biased = append(biased, m.LinearAcceleration[0] > 0.5)
	}
	assert.Equal(t, []int64{20, 40, 60, 100, 150, 200, 250}, at)
	assert.Equal(t, []bool{false, false, true, true, true, true, true}, biased, "the bias doesn't wait for the rate")
	assert.Equal(t, simtime.Hz(20), s.Rate())
	assert.InDelta(t, 20, p.Summary().Sensors[0].RateWantedHz, 0)
}

// TestTuneChangesARateThatNobodyHears: a listener who comes later hears the new rate at once.
func TestTuneChangesARateThatNobodyHears(t *testing.T) {
	p, s, _ := tuned(t, sensors.Config{ID: "sensor.other.gnss", Name: "gnss", Rate: simtime.Hz(50)})
	require.NoError(t, p.Step(t.Context(), 5))
	require.NoError(t, s.Tune(pipeline.Tuning{Rate: simtime.Hz(20)}))
	require.NoError(t, p.Step(t.Context(), 5)) // with a firing at 60 ms, of the old rate
	assert.Equal(t, simtime.Hz(20), s.Rate())
	assert.InDelta(t, 20, p.Summary().Sensors[0].RateWantedHz, 0)
	var at []int64
	_, err := pipeline.Listen(s, s.Outputs()[0].Name, func(_ sensors.Tick, m *sample.GnssFix) { at = append(at, int64(m.Stamp)/1e6) })
	require.NoError(t, err)
	require.NoError(t, p.Step(t.Context(), 15))
	assert.Equal(t, []int64{150, 200, 250}, at)
}

// TestTuneKeepsNoneOfTheRatesOfBefore of a sensor that nobody hears, however often they change.
func TestTuneKeepsNoneOfTheRatesOfBefore(t *testing.T) {
	p, s, _ := tuned(t, sensors.Config{ID: "sensor.other.gnss", Name: "gnss", Rate: simtime.Hz(100)})
	for k := range 10 {
		require.NoError(t, s.Tune(pipeline.Tuning{Rate: simtime.Hz(100 - 50*(int64(k)%2))}))
		require.NoError(t, p.Step(t.Context(), 2))
		assert.LessOrEqual(t, s.Takeovers(), 1)
	}
}

// TestABiasWalksOn from where it is when its sensor's rate changes, or how fast it walks. It has
// gone far by then.
func TestABiasWalksOn(t *testing.T) {
	for name, change := range map[string]pipeline.Tuning{
		"rate":    {Rate: simtime.Hz(10)},
		"slower":  {Attributes: map[string]any{"noise_gyro_bias_walk": 0.001}},
		"no more": {Attributes: map[string]any{"noise_gyro_bias_walk": 0.0}},
	} {
		p, s, got := tuned(t, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(50), Attributes: map[string]any{"noise_gyro_bias_walk": 0.1}})
		require.NoError(t, p.Step(t.Context(), 2000))
		require.NoError(t, s.Tune(change))
		require.NoError(t, p.Step(t.Context(), 100))
		far, steps := 0.0, 0.0
		for i := 1; i < len(*got); i++ {
			for axis := range 3 {
				now, before := (*got)[i].AngularVelocity[axis], (*got)[i-1].AngularVelocity[axis]
				far, steps = max(far, math.Abs(now)), max(steps, math.Abs(now-before))
			}
		}
		assert.Greater(t, far, 0.3, name)
		assert.Less(t, steps, 5*0.1/math.Sqrt(10), "%s: five deviations of the longest step", name)
	}
}

// TestTuneFromOtherGoroutines while the run steps: what was said last holds in the end.
func TestTuneFromOtherGoroutines(t *testing.T) {
	p, s, got := tuned(t, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(50)})
	var tuning sync.WaitGroup
	for _, change := range []func(k int) pipeline.Tuning{
		func(k int) pipeline.Tuning { return pipeline.Tuning{Rate: simtime.Hz(int64(20 + 5*(k%7)))} },
		func(k int) pipeline.Tuning {
			return pipeline.Tuning{Attributes: map[string]any{"noise_gyro_bias_z": float64(k) / 100}}
		},
	} {
		tuning.Go(func() {
			for k := range 501 { // the last rate is 35 Hz
				assert.NoError(t, s.Tune(change(k)))
			}
		})
	}
	for range 200 {
		require.NoError(t, p.Step(t.Context(), 1))
	}
	tuning.Wait()
	require.NoError(t, p.Step(t.Context(), 20))
	assert.Equal(t, simtime.Hz(35), s.Rate())
	assert.InDelta(t, 5, (*got)[len(*got)-1].AngularVelocity[2], 1e-9)
}

// TestTuneRefuses what a rig couldn't have, with the rig's message, and what can't change. Then
// nothing changes.
func TestTuneRefuses(t *testing.T) {
	p, s, got := tuned(t, sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(50)})
	for name, c := range map[string]struct {
		tuning  pipeline.Tuning
		is      error
		message string
	}{
		"range":   {pipeline.Tuning{Attributes: map[string]any{"noise_gyro_bias_z": 11.0}}, sensors.ErrValue, "bad attribute value: noise_gyro_bias_z is 11, the range is -10 to 10 rad/s"},
		"unknown": {pipeline.Tuning{Attributes: map[string]any{"noise_giro_bias_z": 1.0}}, sensors.ErrUnknownAttribute, `unknown attribute "noise_giro_bias_z" of sensor.other.imu, did you mean noise_gyro_bias_z?`},
		"not live": {
			pipeline.Tuning{Rate: simtime.Hz(10), Attributes: map[string]any{"noise_gyro_bias_z": 1.0, "orientation": false}}, sensors.ErrFixed,
			"attribute can't be changed while a sensor.other.imu runs: orientation; those that can: noise_accel_stddev_x, ",
		},
	} {
		err := s.Tune(c.tuning)
		require.ErrorIs(t, err, c.is, name)
		assert.Contains(t, err.Error(), "tune sensor imu: "+c.message, name)
	}
	require.NoError(t, p.Step(t.Context(), 10))
	require.Len(t, *got, 5)
	assert.Zero(t, (*got)[4].AngularVelocity[2])

	_, collision, _ := tuned(t, sensors.Config{ID: "sensor.other.collision", Name: "collision"})
	assert.ErrorIs(t, collision.Tune(pipeline.Tuning{Rate: simtime.Hz(10)}), simtime.ErrRate)
	assert.ErrorContains(t, s.Tune(pipeline.Tuning{Rate: simtime.Hz(simtime.MaxRate)}), "10000 times a second at most")
}
