package lidar_test

import (
	"math"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// carlaScan are CARLA 0.9.15's attributes of both of its lidars, with their defaults.
var carlaScan = map[string]any{
	"channels": int64(32), "range": 10.0, "points_per_second": int64(56000), "rotation_frequency": 10.0,
	"upper_fov": 10.0, "lower_fov": -30.0, "horizontal_fov": 360.0,
}

// carlaReceiver are those of sensor.lidar.ray_cast alone.
var carlaReceiver = map[string]any{
	"atmosphere_attenuation_rate": 0.004, "dropoff_general_rate": 0.45, "dropoff_intensity_limit": 0.8,
	"dropoff_zero_intensity": 0.4, "noise_stddev": 0.0, "noise_seed": int64(0),
}

func attribute(t *testing.T, d *sensors.Definition, name string) *sensors.Attribute {
	t.Helper()
	for i := range d.Attributes {
		if d.Attributes[i].Name == name {
			return &d.Attributes[i]
		}
	}
	require.Failf(t, "no attribute", "%s of %s", name, d.ID)
	return nil
}

func TestDefaultsAreCarlas(t *testing.T) {
	for name, want := range carlaScan {
		assert.Equal(t, want, attribute(t, lidar.RayCastDefinition, name).Default, name)
		assert.Equal(t, want, attribute(t, lidar.RayCastSemanticDefinition, name).Default, name)
	}
	for name, want := range carlaReceiver {
		assert.Equal(t, want, attribute(t, lidar.RayCastDefinition, name).Default, name)
		assert.NotContains(t, lidar.RayCastSemanticDefinition.AttributeNames(), name)
	}
	for d, want := range map[*sensors.Definition]struct {
		id     string
		number uint16
		rate   string
	}{
		lidar.RayCastDefinition:         {"sensor.lidar.ray_cast", 20, "10"},
		lidar.RayCastSemanticDefinition: {"sensor.lidar.ray_cast_semantic", 21, "10"},
		lidar.LaserScanDefinition:       {"sensor.lidar.laser_scan", 22, "5"},
	} {
		assert.Equal(t, want.id, d.ID)
		assert.Equal(t, want.number, d.Number)
		assert.Equal(t, want.rate, d.Rate.String())
	}
	assert.Equal(t, "carla_semantic", attribute(t, lidar.RayCastSemanticDefinition, "layout").Default)
}

// The parameters of SVL's planar lidar, under our names.
func TestLaserScanDefaultsAndRangesAreSVLs(t *testing.T) {
	for name, want := range map[string]struct {
		value    any
		low, top float64
	}{
		"center_angle":              {0.0, -45, 45},          // CenterAngle
		"range_min":                 {0.5, 0.01, 1000},       // MinDistance
		"range":                     {100.0, 0.01, 2000},     // MaxDistance
		"measurements_per_rotation": {int64(1500), 18, 6000}, // MeasurementsPerRotation
		"horizontal_fov":            {360.0, 0, 360},         // HorizontalAngle
	} {
		a := attribute(t, lidar.LaserScanDefinition, name)
		assert.Equal(t, want.value, a.Default, name)
		assert.Equal(t, want.low, a.Min, name)
		assert.Equal(t, want.top, a.Max, name)
	}
	forward := attribute(t, lidar.LaserScanDefinition, "forward_angle") // ForwardAngle, 0 to 360
	assert.Equal(t, 0.0, forward.Default)
	assert.LessOrEqual(t, forward.Min, 0.0)
	assert.GreaterOrEqual(t, forward.Max, 360.0)
	for _, d := range []*sensors.Definition{lidar.RayCastDefinition, lidar.RayCastSemanticDefinition} {
		for name, bounds := range map[string][2]float64{"range_min": {0.01, 1000}, "range": {0.01, 2000}, "forward_angle": {0, 360}, "channels": {1, 128}} {
			a := attribute(t, d, name)
			assert.LessOrEqual(t, a.Min, bounds[0], name)
			assert.GreaterOrEqual(t, a.Max, bounds[1], name)
		}
	}
}

func settings(t *testing.T, d *sensors.Definition, attributes map[string]any) *sensors.Settings {
	t.Helper()
	s := d.NewSettings()
	for name, value := range attributes {
		require.NoError(t, s.Set(name, value))
	}
	return s
}

func deviceOf(t *testing.T, attributes map[string]any) lidar.Device {
	t.Helper()
	d, err := lidar.DeviceOf(settings(t, lidar.RayCastDefinition, attributes))
	require.NoError(t, err)
	return d
}

// CARLA fires round(points_per_second * seconds / channels) rays of each channel, from
// horizontal_fov / 2 to the left on, clockwise.
func TestUniformIsCarlasScan(t *testing.T) {
	for _, c := range []struct {
		attributes map[string]any
		columns    int
	}{
		{nil, 175},
		{map[string]any{"points_per_second": 56010}, 175},
		{map[string]any{"points_per_second": 56160}, 176}, // 175.5
		{map[string]any{"rotation_frequency": 20}, 88},    // 87.5
		{map[string]any{"channels": 64, "points_per_second": 1_300_000, "rotation_frequency": 20}, 1016},
		{map[string]any{"horizontal_fov": 120}, 175},
		{map[string]any{"columns": 1800}, 1800},
		{map[string]any{"elevations": "1, 0"}, 2800},
	} {
		assert.Equal(t, c.columns, deviceOf(t, c.attributes).Columns, "%v", c.attributes)
	}
	d := deviceOf(t, map[string]any{"horizontal_fov": 120})
	rays := d.Rays(100_000_000)
	require.Len(t, rays, 32*175)
	for i, r := range rays {
		channel, k := i%32, i/32
		elevation := (10 - float64(channel)*40/31) * math.Pi / 180
		azimuth := -(float64(k)*120/175 - 60) * math.Pi / 180 // CARLA's yaw is clockwise
		require.InDelta(t, elevation, math.Asin(r.Direction[2]), 1e-12)
		require.InDelta(t, azimuth, math.Atan2(r.Direction[1], r.Direction[0]), 1e-12)
		require.EqualValues(t, channel, r.Ring)
		require.Equal(t, 10.0, r.MaxM)
		require.Zero(t, r.MinM)
		require.EqualValues(t, int64(k)*100_000_000/175, r.TimeNs)
	}
	turn := deviceOf(t, nil)
	behind := turn.Rays(1)[0].Direction
	assert.InDelta(t, math.Pi, math.Abs(math.Atan2(behind[1], behind[0])), 1e-12, "a whole turn begins behind")
}

// What a preset says holds until something else is set.
func TestPresetsKeepTheirOwn(t *testing.T) {
	own, _ := lidar.Preset("HesaiAT128E2X")
	d := deviceOf(t, map[string]any{"preset": "HesaiAT128E2X"})
	assert.Equal(t, own, d)
	d = deviceOf(t, map[string]any{"preset": "HesaiAT128E2X", "range": 150, "range_min": 1, "columns": 300, "forward_angle": 90})
	assert.Equal(t, 300, d.Columns)
	assert.Equal(t, 0.4, d.StepDeg)
	assert.Equal(t, 30.0, d.StartDeg)
	for i, r := range d.Rays(100_000_000)[:128] {
		assert.Equal(t, max(own.Lasers[i].MinM, 1), r.MinM)
		assert.Equal(t, min(own.Lasers[i].MaxM, 150), r.MaxM)
	}
	again, _ := lidar.Preset("HesaiAT128E2X")
	assert.Equal(t, own, again, "the table itself stays")
}

func TestBadSettings(t *testing.T) {
	for d, list := range map[*sensors.Definition][]map[string]any{
		lidar.RayCastDefinition: {
			{"upper_fov": -40},
			{"range": 5, "range_min": 6},
			{"preset": "VelodyneVLP16", "channels": 16},
			{"preset": "VelodyneVLP32C", "upper_fov": 20},
			{"preset": "VLS-128", "points_per_second": 1000},
			{"preset": "HesaiAT128E2X", "range": 0.2},
			{"elevations": "1, 2", "channels": 2},
			{"points_per_second": 100},
			{"channels": 512, "columns": 32768},
			{"points_per_second": 1_000_000_000, "channels": 1},
		},
		lidar.RayCastSemanticDefinition: {{"channels": 512, "points_per_second": 1000}},
		lidar.LaserScanDefinition:       {{"range_min": 100}, {"horizontal_fov": 0.2}},
	} {
		for _, attributes := range list {
			_, err := d.New(sensors.Spec{Definition: d, Settings: settings(t, d, attributes), Rate: simtime.Hz(10)})
			assert.ErrorIs(t, err, sensors.ErrValue, "%v", attributes)
		}
	}
	err := lidar.RayCastDefinition.NewSettings().Set("preset", "VelodyneVLP61")
	assert.ErrorIs(t, err, sensors.ErrValue)
	assert.ErrorContains(t, err, "VelodyneVLP16")
}

// The times of a rolling scan's points are nanoseconds in 32 bits: 4.29 s.
func TestRollingScansEndWithinTheTimesOfPoints(t *testing.T) {
	for _, d := range definitions {
		sensor := func(hz float64, rolling bool) error {
			rate, err := simtime.RateOf(hz)
			require.NoError(t, err)
			_, err = d.New(sensors.Spec{Definition: d, Settings: settings(t, d, map[string]any{"rolling": rolling}), Rate: rate})
			return err
		}
		assert.ErrorIs(t, sensor(0.2, true), sensors.ErrValue)
		assert.ErrorContains(t, sensor(0.2328, true), "rolling: false")
		assert.NoError(t, sensor(0.2329, true))
		assert.NoError(t, sensor(0.2, false))
	}
}

var definitions = []*sensors.Definition{lidar.RayCastDefinition, lidar.RayCastSemanticDefinition, lidar.LaserScanDefinition}

// TestALidarThatCannotBeginLeavesNothing runs out of each GPU object in turn.
func TestALidarThatCannotBeginLeavesNothing(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			sensortest.BeginFails(t, d, sensortest.Options{Scene: scenetest.MovingWall(20, 1)})
		})
	}
}

func TestALidarNeedsAGLThread(t *testing.T) {
	for _, d := range definitions {
		s, err := d.New(sensors.Spec{Definition: d, Settings: d.NewSettings(), Rate: simtime.Hz(10)})
		require.NoError(t, err)
		env := &sensors.Env{Shared: &sensors.Shared{}}
		for i := range d.Outputs {
			env.Ports = append(env.Ports, d.Outputs[i].Open())
		}
		assert.ErrorIs(t, s.Begin(t.Context(), env), gpu.ErrNotSupported)
		assert.NoError(t, s.End())
	}
}
