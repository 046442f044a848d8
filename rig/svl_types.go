package rig

// svlDialect is what the sensors of an SVL Simulator vehicle become: its sensor
// plugins of 2021.3 with their parameters, defaults and ranges.
var svlDialect = &Dialect{Name: "SVL", Types: svlTypes()}

// Reasons that several types or parameters share.
const (
	noWindow   = "it draws in SVL's window"
	noInput    = "a way of driving that raybridge doesn't have"
	noThrottle = "a sensor's rate is kept; what can't be kept up with is counted"
)

// svlCommon are the parameters of every sensor.
func svlCommon() []Parameter {
	return []Parameter{
		list("Topic", KindText).becomes("the main output's topic, in `topics`"),
		list("Frame", KindText).becomes("`frame`; where the frame lies elsewhere, and for cameras, `frame_id`"),
	}
}

// svlFrequency is the rate of most sensors.
func svlFrequency(hz float64) Parameter {
	return number("Frequency", "Hz", hz).in(1, 100).becomes("`rate`")
}

// svlThreadPaced is the rate of those that SVL runs in threads of their own.
func svlThreadPaced() Parameter { return number("Frequency", "Hz", 12.5).becomes("`rate`") }

// svlCamera are the parameters of the cameras' common base.
func svlCamera(quality Parameter) []Parameter {
	return parameters([]Parameter{
		integer("Width", "px", 1920).in(1, 1920).take("image_size_x"),
		integer("Height", "px", 1080).in(1, 1080).take("image_size_y"),
		integer("Frequency", "Hz", 15).in(1, 100).becomes("`rate`"),
		quality,
		number("FieldOfView", "deg", 60).in(1, 90).becomes("`fov`: vertical there, horizontal here"),
		number("MinDistance", "m", 0.1).in(0.01, 1000).take("near_clip"),
		number("MaxDistance", "m", 2000).in(0.01, 2000).take("far_clip"),
		boolean("Distorted", false).becomes("`lens`: svl"),
		list("DistortionParameters", KindNumbers).becomes("`distortion`, where Distorted is true: none or four"),
		boolean("Fisheye", false).becomes("`lens`: svl_fisheye, where Distorted is true"),
		number("Xi", "", 0).becomes("`xi`, where Fisheye is true"),
		list("CameraInfoTopic", KindText).becomes("the topic of `camera_info`"),
		integer("CubemapSize", "px", 1024).in(512, 2048).drawn(),
		number("TargetFPS", "Hz", 0).without(noThrottle),
		number("TargetFPSTime", "s", 5).without(noThrottle),
		list("Postprocessing", KindAny).without("rain, sun flares and other effects on the picture are not made"),
	}, svlCommon())
}

// jpegQuality is the quality of the pictures.
func jpegQuality() Parameter {
	return integer("JpegQuality", "", 75).in(0, 100).becomes("`jpeg_quality`; 0 becomes 1")
}

// svlTags are the tags of SVL's segmentation.
var svlTags = []string{
	"Car", "Road", "Sidewalk", "Vegetation", "Obstacle", "TrafficLight", "Building", "Sign", "Shoulder", "Pedestrian", "Curb",
}

// svlScan are the parameters of the lidars, without those of the lasers.
func svlScan(horizontalAngle float64) []Parameter {
	return parameters([]Parameter{
		list("VerticalRayAngles", KindNumbers).in(-90, 90).becomes("`elevations`; LaserCount, FieldOfView and CenterAngle then don't count"),
		integer("LaserCount", "", 32).in(1, 128).becomes("`elevations`: the lowest first, FieldOfView / LaserCount apart, so that the highest is one step short"),
		number("FieldOfView", "deg", 40).in(1, 45).becomes("`elevations`"),
		number("CenterAngle", "deg", 10).in(-45, 45).becomes("`elevations`: below the horizon"),
		number("MinDistance", "m", 0.5).in(0.01, 1000).take("range_min"),
		number("MaxDistance", "m", 100).in(0.01, 2000).take("range"),
		number("RotationFrequency", "Hz", 5).in(1, 30).becomes("`rate`"),
		integer("MeasurementsPerRotation", "", 1500).in(18, 6000).becomes("`columns`: the share that HorizontalAngle leaves of it"),
		boolean("Compensated", true).take("compensated"),
		number("ForwardAngle", "deg", 0).in(0, 360).take("forward_angle"),
		number("HorizontalAngle", "deg", horizontalAngle).in(0, 360).take("horizontal_fov"),
		number("PointSize", "px", 2).in(1, 10).drawn(),
		text("PointColor", "#ff0000ff").drawn(),
		integer("CubemapSize", "px", 1024).drawn(),
	}, svlCommon())
}

// svlIntensity is how SVL's lidars measure: all at one instant, no ray lost, and the
// surface's colour for the intensity.
func svlIntensity() []Fixed {
	return []Fixed{
		{"preset", "uniform"},
		{"rolling", false},
		{"layout", "svl"},
		{"intensity", "svl"},
		{"dropoff_general_rate", 0.0},
		{"dropoff_zero_intensity", 0.0},
	}
}

// svlPlanar are the parameters of the planar lidar.
func svlPlanar() []Parameter {
	return parameters([]Parameter{
		number("CenterAngle", "deg", 0).in(-45, 45).take("center_angle"),
		number("MinDistance", "m", 0.5).in(0.01, 1000).take("range_min"),
		number("MaxDistance", "m", 100).in(0.01, 2000).take("range"),
		number("RotationFrequency", "Hz", 5).in(1, 30).becomes("`rate`"),
		integer("MeasurementsPerRotation", "", 1500).in(18, 6000).take("measurements_per_rotation"),
		number("ForwardAngle", "deg", 0).in(0, 360).take("forward_angle"),
		number("HorizontalAngle", "deg", 360).in(0, 360).take("horizontal_fov"),
		number("PointSize", "px", 2).in(1, 10).drawn(),
		text("PointColor", "#ff0000ff").drawn(),
		integer("CubemapSize", "px", 1024).drawn(),
	}, svlCommon())
}

// svlPlanarFixed is how SVL's planar lidar measures, as its others do.
func svlPlanarFixed() []Fixed { return []Fixed{{"rolling", false}, {"intensity", "svl"}} }

// svlVelodyne are the parameters of the Velodyne plugin: those of the lidar, most of
// which the device decides.
func svlVelodyne() []Parameter {
	own := []Parameter{
		text("VelodyneLidarType", "VLP_16").of("VLP_16", "VLP_32C", "VLS_128").becomes("`preset`"),
		list("HostName", KindText).without("raybridge doesn't send the device's packets"),
		integer("UDPPortData", "", 2368).without("raybridge doesn't send the device's packets"),
		integer("UDPPortPosition", "", 8308).without("raybridge doesn't send the device's packets"),
	}
	for _, p := range svlScan(360) {
		switch p.Name {
		case "Topic", "Frame":
		case "MinDistance", "MaxDistance":
			p.Default, p.Attribute, p.How = nil, "", "`"+p.Attribute+"`, where it is given"
		case "RotationFrequency":
			p.Default = 10.0
		default:
			p = p.without("the device's own")
			p.Attribute, p.How, p.quiet = "", "", true
		}
		own = append(own, p)
	}
	return own
}

// svlTruth are the parameters of what sees labelled pictures.
func svlTruth(distance float64) []Parameter {
	return []Parameter{
		number("Frequency", "Hz", 10).becomes("`rate`"),
		integer("Width", "px", 1920).take("image_size_x"),
		integer("Height", "px", 1080).take("image_size_y"),
		number("FieldOfView", "deg", 60).in(1, 90).becomes("`fov`: vertical there, horizontal here"),
		number("MinDistance", "m", 0.1).take("near_clip"),
		number("MaxDistance", "m", 2000).take("far_clip"),
		number("DetectionRange", "m", distance).take("detection_range"),
	}
}

// stuckVehicles are the thresholds of SVL's analysis.
func stuckVehicles() []Parameter {
	return []Parameter{
		number("StuckTravelThreshold", "m", 0.1).drawn(),
		number("StuckTimeThreshold", "s", 10).drawn(),
	}
}

// lost marks parameters of a type that has no counterpart, which is told once.
func lost(list []Parameter) []Parameter {
	var all []Parameter
	for _, p := range list {
		all = append(all, Parameter{
			Name: p.Name, Kind: p.Kind, Unit: p.Unit, Default: p.Default, Min: p.Min, Max: p.Max, Options: p.Options,
			Lost: "the sensor has no counterpart", quiet: true,
		})
	}
	return all
}

func svlTypes() []*ForeignType {
	list := append(svlCameras(), svlLidars()...)
	list = append(list, svlRanging()...)
	list = append(list, svlMotion()...)
	list = append(list, svlSurroundings()...)
	list = append(list, svlOthers()...)
	return append(list, svlLater()...)
}

func svlCameras() []*ForeignType {
	corner := Fixed{"principal_point", "corner"}
	return []*ForeignType{
		{
			Names: []string{"Color Camera"}, ID: "sensor.camera.rgb", output: "compressed", rateOf: "Frequency",
			How: "publishes JPEG alone, as there",
			Parameters: parameters(svlCamera(jpegQuality()), []Parameter{
				integer("DisplayIndex", "", -1).drawn(),
			}),
			Set:    []Fixed{corner, {"compressed", "jpeg"}, {"publish_raw", false}},
			finish: finishSVLCamera,
		},
		{
			Names: []string{"Depth Camera"}, ID: "sensor.camera.depth", output: "compressed", rateOf: "Frequency",
			How:        "publishes SVL's grey as JPEG: the tenth root of the distance's share of MaxDistance, which is `max_depth` too",
			Parameters: svlCamera(jpegQuality()),
			Set:        []Fixed{corner, {"output", "svl"}, {"compressed", "jpeg"}, {"publish_raw", false}},
			finish:     finishSVLCamera,
		},
		{
			Names: []string{"Segmentation Camera", "Semantic Camera"}, ID: "sensor.camera.semantic_segmentation",
			output: "compressed", rateOf: "Frequency",
			How: "publishes SVL's colours as JPEG",
			Parameters: parameters(svlCamera(integer("JpegQuality", "", 100).in(0, 100).becomes("`jpeg_quality` 100, always")), []Parameter{
				list("InstanceSegmentationTags", KindTexts).of(svlTags...).becomes("any make it sensor.camera.instance_segmentation, where every actor gets a shade of its own"),
			}),
			Set:    []Fixed{corner, {"output", "svl"}, {"compressed", "jpeg"}, {"publish_raw", false}},
			finish: finishSVLCamera,
		},
	}
}

func svlLidars() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"Lidar"}, ID: "sensor.lidar.ray_cast", output: "points", rateOf: "RotationFrequency",
			How: "scans at one instant, as there",
			Parameters: parameters(svlScan(360), []Parameter{
				number("AntialiasingThreshold", "m", 0.1).drawn(),
				text("MessageType", "PointCloud2").of("PointCloud2", "LaserScan").becomes("LaserScan with one laser is sensor.lidar.laser_scan"),
			}),
			Set: svlIntensity(), finish: finishSVLLidar,
		},
		{
			Names: []string{"Directional Lidar"}, ID: "sensor.lidar.ray_cast", output: "points", rateOf: "RotationFrequency",
			Parameters: svlScan(180), Set: svlIntensity(), finish: finishSVLLidar,
		},
		{
			Names: []string{"Lidar2D", "LaserScan"}, ID: "sensor.lidar.laser_scan", output: "scan", rateOf: "RotationFrequency",
			How: "scans at one instant, as there", Parameters: svlPlanar(), Set: svlPlanarFixed(),
		},
		{
			Names: []string{"Velodyne Lidar"}, ID: "sensor.lidar.ray_cast", output: "points", rateOf: "RotationFrequency",
			How:        "publishes a cloud with the device's lasers, not its packets",
			Parameters: svlVelodyne(), Set: []Fixed{{"rolling", false}, {"layout", "xyzirt"}}, finish: finishSVLVelodyne,
		},
	}
}

func svlRanging() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"Radar"}, ID: "sensor.other.radar", output: "objects", rateOf: "Frequency",
			How:        "sees by rays, and so only what isn't hidden",
			Parameters: parameters([]Parameter{svlFrequency(13.4)}, svlCommon()),
		},
		{
			Names: []string{"Ultrasonic"}, ID: "sensor.other.ultrasonic", output: "range", rateOf: "Frequency",
			Parameters: parameters([]Parameter{
				integer("Width", "px", 400).take("image_size_x"),
				integer("Height", "px", 160).take("image_size_y"),
				integer("Frequency", "Hz", 15).in(1, 100).becomes("`rate`"),
				integer("JpegQuality", "", 75).drawn(),
				number("FieldOfView", "deg", 40).in(1, 90).take("vertical_fov"),
				number("MinDistance", "m", 0.3).take("range_min"),
				number("MaxDistance", "m", 2).take("range"),
			}, svlCommon()),
		},
	}
}

func svlMotion() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"GPS Device", "Gps"}, ID: "sensor.other.gnss", output: "fix", rateOf: "Frequency",
			Parameters: parameters([]Parameter{svlThreadPaced(), boolean("IgnoreMapOrigin", false).same("ignore_map_origin")}, svlCommon()),
		},
		{
			Names: []string{"GPS Odometry"}, ID: "sensor.other.gps_odometry", output: "gps_odometry", rateOf: "Frequency",
			Parameters: parameters([]Parameter{
				svlThreadPaced(), list("ChildFrame", KindText).take("child_frame"), boolean("IgnoreMapOrigin", false).same("ignore_map_origin"),
			}, svlCommon()),
		},
		{
			Names: []string{"GPS-INS Status", "Gps Ins"}, ID: "sensor.other.ins_status", output: "ins_status", rateOf: "Frequency",
			Parameters: parameters([]Parameter{svlThreadPaced()}, svlCommon()),
		},
		{
			Names: []string{"IMU"}, ID: "sensor.other.imu", output: "imu", rate: "100",
			Parameters: parameters([]Parameter{
				list("CorrectedTopic", KindText).becomes("a second IMU with that topic"),
				list("CorrectedFrame", KindText).becomes("its `frame_id`"),
			}, svlCommon()),
			finish: finishSVLImu,
		},
		{
			Names: []string{"CAN-Bus"}, ID: "sensor.other.can_bus", output: "can_bus", rateOf: "Frequency",
			Parameters: parameters([]Parameter{svlFrequency(10)}, svlCommon()),
		},
		{
			Names: []string{"Clock"}, ID: "sensor.other.clock", output: "clock", rate: "100",
			How:        "left out where its topic is /clock, which every run publishes",
			Parameters: svlCommon(), finish: finishSVLClock,
		},
		{
			Names: []string{"Vehicle Odometry"}, ID: "sensor.other.vehicle_odometry", output: "vehicle_odometry", rateOf: "Frequency",
			Parameters: parameters([]Parameter{number("Frequency", "Hz", 10).becomes("`rate`")}, svlCommon()),
		},
	}
}

func svlSurroundings() []*ForeignType {
	return []*ForeignType{
		{
			Names: []string{"Signal"}, ID: "sensor.other.signals", output: "signals", rateOf: "Frequency",
			Parameters: parameters([]Parameter{
				number("Frequency", "Hz", 1).becomes("`rate`"),
				number("MaxDistance", "m", 100).take("max_distance"),
			}, svlCommon()),
		},
		{
			Names: []string{"2D Ground Truth", "2D Perception"}, ID: "sensor.ground_truth.boxes_2d", output: "boxes", rateOf: "Frequency",
			Parameters: parameters(svlTruth(100), svlCommon()), finish: finishSVLTruth,
		},
		{
			Names: []string{"3D Ground Truth", "3D Perception"}, ID: "sensor.ground_truth.boxes_3d", output: "boxes", rateOf: "Frequency",
			Parameters: parameters([]Parameter{
				number("Frequency", "Hz", 10).becomes("`rate`"), number("MaxDistance", "m", 100).in(1, 1000).take("max_distance"),
			}, svlCommon()),
		},
	}
}

func svlOthers() []*ForeignType {
	control := func(names ...string) *ForeignType {
		return &ForeignType{Names: names, Driver: DriverExternal, Parameters: parameters(stuckVehicles(), []Parameter{
			list("Topic", KindText).becomes("`control_topic`"),
			list("Frame", KindText).drawn(),
		})}
	}
	keys := func(names ...string) *ForeignType {
		return &ForeignType{Names: names, Driver: DriverKeys, Parameters: lost(svlCommon())}
	}
	none := func(why string, own []Parameter, names ...string) *ForeignType {
		return &ForeignType{Names: names, Without: why, Parameters: lost(parameters(own, svlCommon()))}
	}
	return []*ForeignType{
		control("Vehicle Control"), control("LGSVL Control"), control("Apollo Control"),
		keys("Keyboard Control", "Keyboard"), keys("Manual", "Manual Control"), keys("Wheel", "Wheel Control"),
		none(noInput+": set ego.speed and ego.waypoints", []Parameter{number("CruiseSpeed", "m/s", 0).in(0, 200)}, "Cruise", "Cruise Control"),
		none(noInput, []Parameter{list("states", KindAny)}, "Control Calibration"),
		none("lights, wipers and gear are not set from outside", nil, "Vehicle State"),
		none(noWindow, nil, "2D Ground Truth Visualizer"),
		none(noWindow, nil, "3D Ground Truth Visualizer"),
		{
			Names: []string{"Transform"}, Without: "sensors that are mounted in it are mounted where it would be",
			anchor: true, Parameters: lost(svlCommon()),
		},
		none("the report and the summary tell what a run did", nil, "Analysis"),
		none("raybridge has no measure of a passenger's comfort", []Parameter{
			number("MaxAccelAllowed", "m/s²", 900), number("MaxJerkAllowed", "m/s³", 600),
			number("MaxBrake", "", 0), number("SuddenSteer", "", 0), number("AngularVelocity", "", 0), number("AngularAcceleration", "", 0),
			number("RollTolerance", "", 0), number("MinSlipVelocity", "", 0), number("SlipTolerance", "", 0), number("EventRate", "", 3),
		}, "Comfort"),
		none("raybridge knows where lane marks lie, not which lane they bound", append(svlTruth(50),
			number("SampleDelta", "m", 0.5).in(0.1, 2)), "Lane Line"),
		none("record the camera's pictures with a bridge", []Parameter{
			number("Framerate", "Hz", 15), number("Bitrate", "kbit/s", 3000), number("MaxBitrate", "kbit/s", 6000), number("Quality", "", 22),
		}, "Video Recording"),
	}
}

// svlLater are plugins that came last, whose parameters nobody documented.
func svlLater() []*ForeignType {
	later := func(name, why string) *ForeignType {
		return &ForeignType{Names: []string{name}, Without: why, Parameters: lost(svlCommon()), open: true}
	}
	return []*ForeignType{
		later("Destination", noInput+": set ego.waypoints"),
		later("Lane Following", noInput+": set ego.waypoints"),
		later("Intel RealSense", "take a Color Camera and a Depth Camera"),
	}
}
