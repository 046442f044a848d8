package rig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/rig"
)

// fact is a parameter as the other program's sources and documentation have it.
type fact struct {
	name     string
	value    any
	min, max float64
}

func svlCameraFacts(quality int64, more ...fact) []fact {
	return append([]fact{
		{"Width", int64(1920), 1, 1920}, {"Height", int64(1080), 1, 1080}, {"Frequency", int64(15), 1, 100},
		{"JpegQuality", quality, 0, 100}, {"FieldOfView", 60.0, 1, 90}, {"MinDistance", 0.1, 0.01, 1000},
		{"MaxDistance", 2000.0, 0.01, 2000}, {"Distorted", false, 0, 0}, {"DistortionParameters", nil, 0, 0},
		{"Fisheye", false, 0, 0}, {"Xi", 0.0, 0, 0}, {"CameraInfoTopic", nil, 0, 0}, {"CubemapSize", int64(1024), 512, 2048},
		{"TargetFPS", 0.0, 0, 0}, {"TargetFPSTime", 5.0, 0, 0}, {"Postprocessing", nil, 0, 0},
	}, more...)
}

func svlLidarFacts(horizontal float64, more ...fact) []fact {
	return append([]fact{
		{"VerticalRayAngles", nil, -90, 90}, {"LaserCount", int64(32), 1, 128}, {"FieldOfView", 40.0, 1, 45},
		{"CenterAngle", 10.0, -45, 45}, {"MinDistance", 0.5, 0.01, 1000}, {"MaxDistance", 100.0, 0.01, 2000},
		{"RotationFrequency", 5.0, 1, 30}, {"MeasurementsPerRotation", int64(1500), 18, 6000}, {"Compensated", true, 0, 0},
		{"PointSize", 2.0, 1, 10}, {"PointColor", "#ff0000ff", 0, 0}, {"CubemapSize", int64(1024), 0, 0},
		{"ForwardAngle", 0.0, 0, 360}, {"HorizontalAngle", horizontal, 0, 360},
	}, more...)
}

// svlFacts are the parameters of SVL's sensors, without Topic and Frame, which all
// have.
func svlFacts() map[string][]fact {
	threads := fact{"Frequency", 12.5, 0, 0}
	truth := func(distance float64) []fact {
		return []fact{
			{"Frequency", 10.0, 0, 0}, {"Width", int64(1920), 0, 0}, {"Height", int64(1080), 0, 0}, {"FieldOfView", 60.0, 1, 90},
			{"MinDistance", 0.1, 0, 0}, {"MaxDistance", 2000.0, 0, 0}, {"DetectionRange", distance, 0, 0},
		}
	}
	stuck := []fact{{"StuckTravelThreshold", 0.1, 0, 0}, {"StuckTimeThreshold", 10.0, 0, 0}}
	return map[string][]fact{
		"Color Camera":        svlCameraFacts(75, fact{"DisplayIndex", int64(-1), 0, 0}),
		"Depth Camera":        svlCameraFacts(75),
		"Segmentation Camera": svlCameraFacts(100, fact{"InstanceSegmentationTags", nil, 0, 0}),
		"Lidar":               svlLidarFacts(360, fact{"AntialiasingThreshold", 0.1, 0, 0}, fact{"MessageType", "PointCloud2", 0, 0}),
		"Directional Lidar":   svlLidarFacts(180),
		"Lidar2D": {
			{"CenterAngle", 0.0, -45, 45}, {"MinDistance", 0.5, 0.01, 1000}, {"MaxDistance", 100.0, 0.01, 2000}, {"RotationFrequency", 5.0, 1, 30},
			{"MeasurementsPerRotation", int64(1500), 18, 6000}, {"ForwardAngle", 0.0, 0, 360}, {"HorizontalAngle", 360.0, 0, 360},
			{"PointSize", 2.0, 1, 10}, {"PointColor", "#ff0000ff", 0, 0}, {"CubemapSize", int64(1024), 0, 0},
		},
		"Velodyne Lidar": append([]fact{
			{"VelodyneLidarType", "VLP_16", 0, 0}, {"HostName", nil, 0, 0}, {"UDPPortData", int64(2368), 0, 0}, {"UDPPortPosition", int64(8308), 0, 0},
		}, velodyneFacts()...),
		"Radar": {{"Frequency", 13.4, 1, 100}},
		"Ultrasonic": {
			{"Width", int64(400), 0, 0}, {"Height", int64(160), 0, 0}, {"Frequency", int64(15), 1, 100}, {"JpegQuality", int64(75), 0, 0},
			{"FieldOfView", 40.0, 1, 90}, {"MinDistance", 0.3, 0, 0}, {"MaxDistance", 2.0, 0, 0},
		},
		"GPS Device":       {threads, {"IgnoreMapOrigin", false, 0, 0}},
		"GPS Odometry":     {threads, {"ChildFrame", nil, 0, 0}, {"IgnoreMapOrigin", false, 0, 0}},
		"GPS-INS Status":   {threads},
		"IMU":              {{"CorrectedTopic", nil, 0, 0}, {"CorrectedFrame", nil, 0, 0}},
		"CAN-Bus":          {{"Frequency", 10.0, 1, 100}},
		"Clock":            nil,
		"Vehicle Odometry": {{"Frequency", 10.0, 0, 0}},
		"Vehicle State":    nil,
		"Vehicle Control":  stuck, "LGSVL Control": stuck, "Apollo Control": stuck,
		"Signal":          {{"Frequency", 1.0, 0, 0}, {"MaxDistance", 100.0, 0, 0}},
		"2D Ground Truth": truth(100), "3D Ground Truth": {{"Frequency", 10.0, 0, 0}, {"MaxDistance", 100.0, 1, 1000}},
		"2D Ground Truth Visualizer": nil, "3D Ground Truth Visualizer": nil,
		"Keyboard Control": nil, "Wheel": nil, "Manual": nil, "Cruise": {{"CruiseSpeed", 0.0, 0, 200}},
		"Control Calibration": {{"states", nil, 0, 0}},
		"Transform":           nil, "Analysis": nil,
		"Comfort": {
			{"MaxAccelAllowed", 900.0, 0, 0}, {"MaxJerkAllowed", 600.0, 0, 0}, {"MaxBrake", 0.0, 0, 0}, {"SuddenSteer", 0.0, 0, 0},
			{"AngularVelocity", 0.0, 0, 0}, {"AngularAcceleration", 0.0, 0, 0}, {"RollTolerance", 0.0, 0, 0}, {"MinSlipVelocity", 0.0, 0, 0},
			{"SlipTolerance", 0.0, 0, 0}, {"EventRate", 3.0, 0, 0},
		},
		"Lane Line": append(truth(50), fact{"SampleDelta", 0.5, 0.1, 2}),
		"Video Recording": {
			{"Framerate", 15.0, 0, 0}, {"Bitrate", 3000.0, 0, 0}, {"MaxBitrate", 6000.0, 0, 0}, {"Quality", 22.0, 0, 0},
		},
		"Destination": nil, "Lane Following": nil, "Intel RealSense": nil,
	}
}

// velodyneFacts are those of the lidar's parameters that the plugin's base has; the
// ranges of a device stand in its firing table.
func velodyneFacts() []fact {
	list := svlLidarFacts(360)
	for i := range list {
		switch list[i].name {
		case "MinDistance", "MaxDistance":
			list[i].value = nil
		case "RotationFrequency":
			list[i].value = 10.0
		}
	}
	return list
}

// carlaFacts are the attributes of CARLA's sensors, without sensor_tick, role_name and
// ros_name, which all have. But for the lens none has a range, and the blueprints check
// none.
func carlaFacts() map[string][]fact {
	plain := func(values map[string]any) (list []fact) {
		for name, v := range values {
			list = append(list, fact{name, v, 0, 0})
		}
		return list
	}
	camera := append(plain(map[string]any{
		"image_size_x": int64(800), "image_size_y": int64(600), "fov": 90.0, "lens_k": -1.0, "lens_kcube": 0.0,
	}), fact{"lens_circle_falloff", 5.0, 0, 10}, fact{"lens_circle_multiplier", 0.0, 0, 10},
		fact{"lens_x_size", 0.08, 0, 1}, fact{"lens_y_size", 0.08, 0, 1})
	effects := plain(map[string]any{
		"bloom_intensity": 0.675, "lens_flare_intensity": 0.1, "enable_postprocess_effects": true, "gamma": 2.2,
		"exposure_mode": "histogram", "exposure_compensation": 0.0, "exposure_min_bright": 10.0, "exposure_max_bright": 12.0,
		"exposure_speed_up": 3.0, "exposure_speed_down": 1.0, "calibration_constant": 16.0, "iso": 100.0, "fstop": 1.4,
		"min_fstop": 1.2, "shutter_speed": 200.0, "focal_distance": 1000.0, "blade_count": int64(5), "blur_amount": 1.0,
		"blur_radius": 0.0, "motion_blur_intensity": 0.45, "motion_blur_max_distortion": 0.35,
		"motion_blur_min_object_screen_size": 0.1, "slope": 0.88, "toe": 0.55, "shoulder": 0.26, "black_clip": 0.0,
		"white_clip": 0.04, "temp": 6500.0, "tint": 0.0, "chromatic_aberration_intensity": 0.0, "chromatic_aberration_offset": 0.0,
	})
	rays := map[string]any{
		"channels": int64(32), "range": 10.0, "points_per_second": int64(56000), "rotation_frequency": 10.0,
		"upper_fov": 10.0, "lower_fov": -30.0, "horizontal_fov": 360.0,
	}
	radio := plain(map[string]any{
		"noise_seed": int64(0), "transmit_power": 21.5, "receiver_sensitivity": -99.0, "frequency_ghz": 5.9, "combined_antenna_gain": 10.0,
		"scenario": nil, "path_loss_model": nil, "path_loss_exponent": 2.7, "d_ref": 1.0, "filter_distance": 500.0,
		"use_etsi_fading": true, "custom_fading_stddev": 0.0,
	})
	awareness := plain(map[string]any{
		"gen_cam_min": 0.1, "gen_cam_max": 1.0, "fixed_rate": false, "noise_vel_stddev_x": 0.0,
		"noise_accel_stddev_x": 0.0, "noise_accel_stddev_y": 0.0, "noise_accel_stddev_z": 0.0,
		"noise_yawrate_bias": 0.0, "noise_yawrate_stddev": 0.0, "noise_lat_bias": 0.0, "noise_lat_stddev": 0.0,
		"noise_lon_bias": 0.0, "noise_lon_stddev": 0.0, "noise_alt_bias": 0.0, "noise_alt_stddev": 0.0,
		"noise_head_bias": 0.0, "noise_head_stddev": 0.0,
	})
	return map[string][]fact{
		"sensor.camera.rgb":   slices.Concat(camera, effects),
		"sensor.camera.depth": camera, "sensor.camera.semantic_segmentation": camera,
		"sensor.camera.instance_segmentation": camera, "sensor.camera.normals": camera, "sensor.camera.optical_flow": camera,
		"sensor.camera.dvs": slices.Concat(camera, effects, plain(map[string]any{
			"positive_threshold": 0.3, "negative_threshold": 0.3, "sigma_positive_threshold": 0.0, "sigma_negative_threshold": 0.0,
			"refractory_period_ns": int64(0), "use_log": true, "log_eps": 0.001,
		})),
		"sensor.lidar.ray_cast": slices.Concat(plain(rays), plain(map[string]any{
			"atmosphere_attenuation_rate": 0.004, "dropoff_general_rate": 0.45, "dropoff_intensity_limit": 0.8,
			"dropoff_zero_intensity": 0.4, "noise_stddev": 0.0, "noise_seed": int64(0),
		})),
		"sensor.lidar.ray_cast_semantic": plain(rays),
		"sensor.other.radar": plain(map[string]any{
			"horizontal_fov": 30.0, "vertical_fov": 30.0, "range": 100.0, "points_per_second": int64(1500), "noise_seed": int64(0),
		}),
		"sensor.other.gnss": plain(map[string]any{
			"noise_lat_bias": 0.0, "noise_lat_stddev": 0.0, "noise_lon_bias": 0.0, "noise_lon_stddev": 0.0,
			"noise_alt_bias": 0.0, "noise_alt_stddev": 0.0, "noise_seed": int64(0),
		}),
		"sensor.other.imu": plain(map[string]any{
			"noise_accel_stddev_x": 0.0, "noise_accel_stddev_y": 0.0, "noise_accel_stddev_z": 0.0,
			"noise_gyro_bias_x": 0.0, "noise_gyro_bias_y": 0.0, "noise_gyro_bias_z": 0.0,
			"noise_gyro_stddev_x": 0.0, "noise_gyro_stddev_y": 0.0, "noise_gyro_stddev_z": 0.0, "noise_seed": int64(0),
		}),
		"sensor.other.collision": nil, "sensor.other.lane_invasion": nil,
		"sensor.other.obstacle": plain(map[string]any{"distance": 5.0, "hit_radius": 0.5, "only_dynamics": false, "debug_linetrace": false}),
		"sensor.pseudo.tf":      nil, "sensor.pseudo.odom": nil, "sensor.pseudo.speedometer": nil, "sensor.pseudo.objects": nil,
		"sensor.pseudo.traffic_lights": nil, "sensor.pseudo.actor_list": nil, "sensor.pseudo.markers": nil,
		"sensor.pseudo.opendrive_map": nil, "actor.pseudo.control": nil,
		"sensor.other.rss": nil, "sensor.other.v2x": slices.Concat(radio, awareness), "sensor.other.v2x_custom": radio,
		"sensor.lidar.hss_lidar": nil, "sensor.camera.rgb_fisheye": nil, "sensor.camera.depth_fisheye": nil,
		"sensor.camera.semantic_segmentation_fisheye": nil, "sensor.camera.instance_segmentation_fisheye": nil,
	}
}

// TestTextsThatTheOthersAllow: where a text has only some values, they are the other
// program's.
func TestTextsThatTheOthersAllow(t *testing.T) {
	want := map[string][]string{
		"MessageType": {"PointCloud2", "LaserScan"}, "VelodyneLidarType": {"VLP_16", "VLP_32C", "VLS_128"},
		"InstanceSegmentationTags": {
			"Car", "Road", "Sidewalk", "Vegetation", "Obstacle", "TrafficLight", "Building", "Sign", "Shoulder", "Pedestrian", "Curb",
		},
		"exposure_mode": {"histogram", "manual"},
	}
	found := map[string][]string{}
	for _, dialect := range rig.Dialects() {
		for _, kind := range dialect.Types {
			for i := range kind.Parameters {
				if p := &kind.Parameters[i]; len(p.Options) > 0 {
					found[p.Name] = p.Options
				}
			}
		}
	}
	assert.Equal(t, want, found)
}

// TestTablesHaveTheOthersDefaultsAndRanges compares the tables with the facts, each
// parameter and each type, both ways.
func TestTablesHaveTheOthersDefaultsAndRanges(t *testing.T) {
	common := map[string][]fact{
		"SVL":   {{"Topic", nil, 0, 0}, {"Frame", nil, 0, 0}},
		"CARLA": {{"sensor_tick", 0.0, 0, 1000}, {"role_name", "front", 0, 0}, {"ros_name", "", 0, 0}},
	}
	facts := map[string]map[string][]fact{"SVL": svlFacts(), "CARLA": carlaFacts()}
	for _, dialect := range rig.Dialects() {
		known := facts[dialect.Name]
		assert.Len(t, dialect.Types, len(known), dialect.Name)
		for _, kind := range dialect.Types {
			list, ok := known[kind.Names[0]]
			require.True(t, ok, kind.Names[0])
			list = slices.Concat(list, common[dialect.Name])
			assert.Len(t, kind.Parameters, len(list), kind.Names[0])
			for i := range kind.Parameters {
				p := &kind.Parameters[i]
				at := slices.IndexFunc(list, func(f fact) bool { return f.name == p.Name })
				require.GreaterOrEqual(t, at, 0, "%s of %s", p.Name, kind.Names[0])
				assert.Equal(t, list[at], fact{p.Name, p.Default, p.Min, p.Max}, kind.Names[0])
			}
		}
	}
}
