package rig

// carlaDialect is what the sensors of CARLA's objects.json become: the sensors of
// CARLA 0.9.15 with their attributes and defaults, and the pseudo sensors of its ROS
// bridge.
var carlaDialect = &Dialect{Name: "CARLA", Types: carlaTypes()}

// carlaFrameHz is the rate of what has no sensor_tick: each frame of the ROS bridge's
// fixed_delta_seconds, 0.05.
const carlaFrameHz = 20

// carlaCommon are the attributes of every sensor.
func carlaCommon() []Parameter {
	return []Parameter{
		number("sensor_tick", "s", 0).in(0, 1000).becomes("`rate`, its inverse; 0 is each frame, 20 Hz"),
		text("role_name", "front").drawn(),
		text("ros_name", "").drawn(),
	}
}

// carlaPicture are the attributes of every camera.
func carlaPicture() []Parameter {
	return []Parameter{
		integer("image_size_x", "px", 800).same("image_size_x"),
		integer("image_size_y", "px", 600).same("image_size_y"),
		number("fov", "deg", 90).same("fov"),
		number("lens_circle_falloff", "", 5).in(0, 10).same("lens_circle_falloff"),
		number("lens_circle_multiplier", "", 0).in(0, 10).same("lens_circle_multiplier"),
		number("lens_k", "", -1).same("lens_k"),
		number("lens_kcube", "", 0).same("lens_kcube"),
		number("lens_x_size", "", 0.08).in(0, 1).same("lens_x_size"),
		number("lens_y_size", "", 0.08).in(0, 1).same("lens_y_size"),
	}
}

// carlaPostprocess are those of the colour and event cameras.
func carlaPostprocess() []Parameter {
	list := []Parameter{
		number("bloom_intensity", "", 0.675), number("lens_flare_intensity", "", 0.1),
		boolean("enable_postprocess_effects", true), number("gamma", "", 2.2),
		text("exposure_mode", "histogram").of("histogram", "manual"), number("exposure_compensation", "EV", 0),
		number("exposure_min_bright", "", 10), number("exposure_max_bright", "", 12),
		number("exposure_speed_up", "", 3), number("exposure_speed_down", "", 1),
		number("calibration_constant", "", 16), number("iso", "", 100), number("fstop", "", 1.4), number("min_fstop", "", 1.2),
		number("shutter_speed", "1/s", 200), number("focal_distance", "cm", 1000), integer("blade_count", "", 5),
		number("blur_amount", "", 1), number("blur_radius", "", 0),
		number("motion_blur_intensity", "", 0.45), number("motion_blur_max_distortion", "", 0.35),
		number("motion_blur_min_object_screen_size", "", 0.1),
		number("slope", "", 0.88), number("toe", "", 0.55), number("shoulder", "", 0.26),
		number("black_clip", "", 0), number("white_clip", "", 0.04), number("temp", "K", 6500), number("tint", "", 0),
		number("chromatic_aberration_intensity", "", 0), number("chromatic_aberration_offset", "", 0),
	}
	for i := range list {
		list[i] = list[i].same(list[i].Name)
	}
	return list
}

func carlaTypes() []*ForeignType {
	list := append(carlaCameras(), carlaLidars()...)
	list = append(list, carlaMeasuring()...)
	return append(list, carlaPseudo()...)
}

func carlaCameras() []*ForeignType {
	corner := Fixed{"principal_point", "corner"}
	camera := func(id string, own []Parameter, set ...Fixed) *ForeignType {
		return &ForeignType{
			Names: []string{id}, ID: id, output: "image", Parameters: parameters(carlaPicture(), own, carlaCommon()),
			Set: append([]Fixed{corner}, set...), finish: finishCARLARate,
		}
	}
	events := camera("sensor.camera.dvs", parameters(carlaPostprocess(), []Parameter{
		number("positive_threshold", "", 0.3).same("positive_threshold"),
		number("negative_threshold", "", 0.3).same("negative_threshold"),
		number("sigma_positive_threshold", "", 0).same("sigma_positive_threshold"),
		number("sigma_negative_threshold", "", 0).same("sigma_negative_threshold"),
		integer("refractory_period_ns", "ns", 0).same("refractory_period_ns"),
		boolean("use_log", true).same("use_log"),
		number("log_eps", "", 0.001).same("log_eps"),
	}))
	events.output, events.How = "events", "publishes events alone, no picture of them"
	return []*ForeignType{
		camera("sensor.camera.rgb", carlaPostprocess(), Fixed{"encoding", "bgra8"}),
		camera("sensor.camera.depth", nil, Fixed{"output", "metres"}),
		camera("sensor.camera.semantic_segmentation", nil, Fixed{"output", "palette_bgra8"}),
		camera("sensor.camera.instance_segmentation", nil, Fixed{"output", "carla"}),
		camera("sensor.camera.normals", nil),
		camera("sensor.camera.optical_flow", nil),
		events,
	}
}

// carlaRays are the attributes of both lidars.
func carlaRays() []Parameter {
	return []Parameter{
		integer("channels", "", 32).take("channels"),
		number("range", "m", 10).take("range"),
		integer("points_per_second", "", 56000).take("points_per_second"),
		number("rotation_frequency", "Hz", 10).take("rotation_frequency").becomes("and `rate`: a scan is a whole turn"),
		number("upper_fov", "deg", 10).take("upper_fov"),
		number("lower_fov", "deg", -30).take("lower_fov"),
		number("horizontal_fov", "deg", 360).take("horizontal_fov"),
	}
}

// carlaSeed is the seed of a sensor's noise.
func carlaSeed() Parameter { return integer("noise_seed", "", 0).same("noise_seed") }

func carlaLidars() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"sensor.lidar.ray_cast"}, ID: "sensor.lidar.ray_cast", output: "points",
			How: "scans at one instant, as there",
			Parameters: parameters(carlaRays(), []Parameter{
				number("atmosphere_attenuation_rate", "1/m", 0.004).take("atmosphere_attenuation_rate"),
				number("dropoff_general_rate", "", 0.45).take("dropoff_general_rate"),
				number("dropoff_intensity_limit", "", 0.8).take("dropoff_intensity_limit"),
				number("dropoff_zero_intensity", "", 0.4).take("dropoff_zero_intensity"),
				number("noise_stddev", "m", 0).take("noise_stddev"),
				carlaSeed(),
			}, carlaCommon()),
			Set:    []Fixed{{"preset", "uniform"}, {"rolling", false}, {"layout", "carla"}, {"intensity", "carla"}},
			finish: finishCARLALidar,
		},
		{
			Names: []string{"sensor.lidar.ray_cast_semantic"}, ID: "sensor.lidar.ray_cast_semantic", output: "points",
			How:        "scans at one instant, as there",
			Parameters: parameters(carlaRays(), carlaCommon()),
			Set:        []Fixed{{"preset", "uniform"}, {"rolling", false}, {"layout", "carla_semantic"}},
			finish:     finishCARLALidar,
		},
	}
}

func carlaMeasuring() []*ForeignType {
	plain := func(id, output string, own ...Parameter) *ForeignType {
		return &ForeignType{
			Names: []string{id}, ID: id, output: output, Parameters: parameters(own, carlaCommon()), finish: finishCARLARate,
		}
	}
	noise := func(name, unit string) Parameter { return number(name, unit, 0).same(name) }
	axes := func(name, unit string) []Parameter {
		return []Parameter{noise(name+"_x", unit), noise(name+"_y", unit), noise(name+"_z", unit)}
	}
	rates := axes("noise_gyro_bias", "rad/s")
	for _, axis := range mirroredTurns {
		rates[axis] = rates[axis].becomes("negated: CARLA's axes are left-handed")
	}
	return []*ForeignType{
		plain("sensor.other.radar", "detections",
			number("horizontal_fov", "deg", 30).same("horizontal_fov"), number("vertical_fov", "deg", 30).same("vertical_fov"),
			number("range", "m", 100).same("range"), integer("points_per_second", "", 1500).same("points_per_second"), carlaSeed()),
		plain("sensor.other.gnss", "fix",
			noise("noise_lat_bias", "deg"), noise("noise_lat_stddev", "deg"), noise("noise_lon_bias", "deg"),
			noise("noise_lon_stddev", "deg"), noise("noise_alt_bias", "m"), noise("noise_alt_stddev", "m"), carlaSeed()),
		{
			Names: []string{"sensor.other.imu"}, ID: "sensor.other.imu", output: "imu",
			Parameters: parameters(axes("noise_accel_stddev", "m/s²"), rates, axes("noise_gyro_stddev", "rad/s"), []Parameter{carlaSeed()}, carlaCommon()),
			finish:     finishCARLAImu,
		},
		plain("sensor.other.collision", "collision"),
		plain("sensor.other.lane_invasion", "lane_invasion"),
		plain("sensor.other.obstacle", "obstacle",
			number("distance", "m", 5).same("distance"), number("hit_radius", "m", 0.5).same("hit_radius"),
			boolean("only_dynamics", false).same("only_dynamics"), boolean("debug_linetrace", false).same("debug_linetrace")),
	}
}

// carlaPseudo are the ROS bridge's own sensors, which know the world instead of
// measuring it.
func carlaPseudo() []*ForeignType {
	plain := func(name, id, output, how string, set ...Fixed) *ForeignType {
		return &ForeignType{
			Names: []string{"sensor.pseudo." + name}, ID: id, output: output, How: how,
			Parameters: carlaCommon(), Set: set, finish: finishCARLARate,
		}
	}
	none := func(name, why string, own ...Parameter) *ForeignType {
		return &ForeignType{Names: []string{name}, Without: why, Parameters: lost(parameters(own, carlaCommon()))}
	}
	newer := func(name, instead string) *ForeignType {
		return &ForeignType{
			Names: []string{name}, Without: "it is newer than CARLA 0.9.15: take " + instead,
			Parameters: lost(carlaCommon()), open: true,
		}
	}
	return []*ForeignType{
		plain("tf", transformID, "", "the vehicle's frame has the vehicle's id as its name"),
		plain("odom", "sensor.other.odometry", "odometry", ""),
		plain("speedometer", "sensor.other.speedometer", "speed", ""),
		plain("objects", "sensor.ground_truth.boxes_3d", "boxes", "of all around the vehicle, hidden or not, in its frame",
			Fixed{"hidden", true}, Fixed{"max_distance", 1000.0}),
		plain("traffic_lights", "sensor.other.signals", "signals", "where it is attached to the vehicle"),
		none("sensor.pseudo.actor_list", "take sensor.other.snapshot, which has every actor at every frame"),
		none("sensor.pseudo.markers", "raybridge publishes no markers for RViz"),
		none("sensor.pseudo.opendrive_map", "raybridge's scenes have no OpenDRIVE map"),
		none("actor.pseudo.control", "an actor is not moved by poses from outside"),
		none("sensor.other.rss", "raybridge has no model of responsibility-sensitive safety"),
		none("sensor.other.v2x", "raybridge has no radio", parameters(carlaRadio(), carlaAwareness())...),
		none("sensor.other.v2x_custom", "raybridge has no radio", carlaRadio()...),
		newer("sensor.lidar.hss_lidar", "sensor.lidar.ray_cast with a horizontal_fov"),
		newer("sensor.camera.rgb_fisheye", "sensor.camera.rgb with a lens"),
		newer("sensor.camera.depth_fisheye", "sensor.camera.depth with a lens"),
		newer("sensor.camera.semantic_segmentation_fisheye", "sensor.camera.semantic_segmentation with a lens"),
		newer("sensor.camera.instance_segmentation_fisheye", "sensor.camera.instance_segmentation with a lens"),
	}
}

// carlaRadio are the attributes of the channel of both radios.
func carlaRadio() []Parameter {
	return []Parameter{
		carlaSeed(),
		number("transmit_power", "dBm", 21.5), number("receiver_sensitivity", "dBm", -99), number("frequency_ghz", "GHz", 5.9),
		number("combined_antenna_gain", "dBi", 10), list("scenario", KindText), list("path_loss_model", KindText),
		number("path_loss_exponent", "", 2.7), number("d_ref", "m", 1), number("filter_distance", "m", 500),
		boolean("use_etsi_fading", true), number("custom_fading_stddev", "", 0),
	}
}

// carlaAwareness are the attributes of the messages by which vehicles tell of
// themselves.
func carlaAwareness() []Parameter {
	own := []Parameter{number("gen_cam_min", "s", 0.1), number("gen_cam_max", "s", 1), boolean("fixed_rate", false)}
	for _, name := range []string{
		"noise_vel_stddev_x", "noise_accel_stddev_x", "noise_accel_stddev_y", "noise_accel_stddev_z",
		"noise_yawrate_bias", "noise_yawrate_stddev", "noise_lat_bias", "noise_lat_stddev", "noise_lon_bias", "noise_lon_stddev",
		"noise_alt_bias", "noise_alt_stddev", "noise_head_bias", "noise_head_stddev",
	} {
		own = append(own, number(name, "", 0))
	}
	return own
}

// transformID publishes the frames; a run has one.
const transformID = "sensor.other.transform"
