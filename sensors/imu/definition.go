package imu

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Definition describes sensor.other.imu. The noise's attributes have CARLA's names and
// defaults; the accelerometer's bias and the walks are raybridge's.
var Definition = &sensors.Definition{
	ID:     "sensor.other.imu",
	Number: 40,
	Doc:    "inertial measurement unit: specific force, angular rate, orientation",
	Tags:   []string{"imu", "motion"},
	Attributes: slices.Concat(
		perAxis(sensors.Attribute{Name: "noise_accel_stddev", Unit: "m/s²", Min: 0, Max: 100, UsualMin: 0, UsualMax: 5, Doc: "white noise of the specific force"}),
		perAxis(sensors.Attribute{Name: "noise_accel_bias", Unit: "m/s²", Min: -100, Max: 100, UsualMin: -5, UsualMax: 5, Doc: "constant bias of the specific force"}),
		perAxis(sensors.Attribute{Name: "noise_gyro_stddev", Unit: "rad/s", Min: 0, Max: 10, UsualMin: 0, UsualMax: 1, Doc: "white noise of the angular rate"}),
		perAxis(sensors.Attribute{Name: "noise_gyro_bias", Unit: "rad/s", Min: -10, Max: 10, UsualMin: -1, UsualMax: 1, Doc: "constant bias of the angular rate"}),
		[]sensors.Attribute{
			{Name: "noise_accel_bias_walk", Type: sensors.Float, Unit: "m/s²/√s", Min: 0, Max: 10, UsualMin: 0, UsualMax: 0.1, Default: 0.0, Doc: "random walk of the specific force's biases"},
			{Name: "noise_gyro_bias_walk", Type: sensors.Float, Unit: "rad/s/√s", Min: 0, Max: 1, UsualMin: 0, UsualMax: 0.1, Default: 0.0, Doc: "random walk of the angular rate's biases"},
			{Name: "noise_seed", Type: sensors.Int, Min: math.MinInt32, Max: math.MaxInt32, Default: int64(0), Doc: "seed of the noise; 0 takes the run's"},
			{Name: "orientation", Type: sensors.Bool, Default: true, Doc: "report the orientation; without it its covariance starts with -1"},
		},
	),
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.Imu](sensors.OutputSpec{
			Name: "imu", Suffix: "/data", Doc: "sensor_msgs/Imu in the sensor's frame",
			QoS: flow.ReliableQoS(100),
		}),
	},
	DefaultRate: "100",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return &imu{
			spec:          spec,
			accel:         newAxesNoise(spec, "accel"),
			gyro:          newAxesNoise(spec, "gyro"),
			noOrientation: !spec.Settings.Bool("orientation"),
		}, nil
	},
}

// axes are the endings of the attributes that each axis has, x, y, z.
var axes = [3]string{"_x", "_y", "_z"}

// perAxis makes an attribute for each axis, 0 by default.
func perAxis(a sensors.Attribute) []sensors.Attribute {
	var list []sensors.Attribute
	for _, axis := range axes {
		one := a
		one.Name, one.Type, one.Default = a.Name+axis, sensors.Float, 0.0
		list = append(list, one)
	}
	return list
}
