package motion_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// circle drives a circle about the origin, counter-clockwise, at a constant speed.
type circle struct{ radius, speed float64 }

func (c circle) PoseAt(stamp simtime.Stamp) spatial.Pose {
	a := c.speed / c.radius * float64(stamp) / 1e9
	return spatial.FromRPY(mgl64.Vec3{c.radius * math.Sin(a), -c.radius * math.Cos(a), 0}, 0, 0, mgl64.RadToDeg(a))
}

func karlsruhe() *scene.Scene {
	return &scene.Scene{Ego: spatial.Identity(), Map: spatial.TangentMap(spatial.Geodetic{Latitude: 49.01, Longitude: 8.4, Altitude: 115})}
}

func TestConformance(t *testing.T) {
	noise := map[string]any{
		"noise_accel_bias_walk": 0.01, "noise_gyro_bias_walk": 0.01, "orientation": false, "noise_seed": 9,
	}
	for _, axis := range []string{"_x", "_y", "_z"} {
		noise["noise_accel_stddev"+axis], noise["noise_gyro_stddev"+axis] = 0.1, 0.01
		noise["noise_accel_bias"+axis], noise["noise_gyro_bias"+axis] = 0.1, -0.01
	}
	onEarth := sensortest.Suite{Options: sensortest.Options{Scene: karlsruhe()}}
	for d, suite := range map[*sensors.Definition]sensortest.Suite{
		motion.IMUDefinition: {
			Options: sensortest.Options{Attributes: map[string]any{"noise_accel_stddev_x": 0.2}},
			Changed: noise,
		},
		motion.GNSSDefinition: {
			Options: sensortest.Options{Scene: karlsruhe(), Attributes: map[string]any{"noise_vertical_stddev": 0.5}},
			Changed: map[string]any{
				"noise_horizontal_stddev": 1.0, "noise_vertical_stddev": 1.0, "noise_seed": 9,
				"noise_lat_bias": 1e-5, "noise_lat_stddev": 1e-5, "noise_lon_bias": 1e-5, "noise_lon_stddev": 1e-5,
				"noise_alt_bias": 0.1, "noise_alt_stddev": 0.1,
			},
			Unchanging: map[string]string{"ignore_map_origin": "it is inert"},
		},
		motion.GPSOdometryDefinition: {
			Options: sensortest.Options{Scene: aachen()},
			Changed: map[string]any{"child_frame": "rear", "ignore_map_origin": true},
		},
		motion.INSStatusDefinition: {},
		motion.OdometryDefinition:  {Changed: map[string]any{"child_frame": "rear"}},
		motion.TransformDefinition: {
			Changed: map[string]any{"base_frame": "base_footprint"},
			Still:   true, // it publishes the vehicle's frames, wherever it is mounted
		},
		motion.CANBusDefinition:          onEarth,
		motion.VehicleOdometryDefinition: onEarth,
		motion.SpeedometerDefinition:     onEarth,
		motion.ClockDefinition:           {Still: true},
		motion.ComfortDefinition:         roughRide(),
		motion.DestinationDefinition: {
			Options:    sensortest.Options{Attributes: map[string]any{"destination": []float64{0.5, 0, 9}}},
			Changed:    map[string]any{"destination": []float64{7.0, 0, 0}, "check_radius": 9.0, "check_angle": 1.0},
			Unchanging: map[string]string{"drive_speed": "it needs a vehicle that is driven: TestDestinationIsReached"},
		},
	} {
		t.Run(d.ID, func(t *testing.T) { sensortest.Run(t, d, suite) })
	}
}
