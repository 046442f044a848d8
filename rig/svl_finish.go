package rig

import (
	"math"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

// finishSVLCamera turns the vertical field of view into a horizontal one, and chooses
// the lens.
func finishSVLCamera(c *conversion) error {
	c.fieldOfView()
	if topic := c.text("CameraInfoTopic"); topic != "" {
		c.topic("camera_info", topic, "CameraInfoTopic")
	}
	if c.entry.ID == "sensor.camera.depth" {
		c.set("max_depth", c.number("MaxDistance"), "MaxDistance") // white, as there
	}
	if c.kind.parameter("InstanceSegmentationTags") != nil {
		c.set("jpeg_quality", int64(100), "")
		if len(c.texts("InstanceSegmentationTags")) > 0 {
			c.entry.ID = "sensor.camera.instance_segmentation"
		}
	} else {
		c.set("jpeg_quality", int64(max(c.integer("JpegQuality"), 1)), "JpegQuality")
	}
	return c.chooseLens()
}

// fieldOfView sets the horizontal one.
func (c *conversion) fieldOfView() {
	c.set("fov", horizontalFOV(c.number("FieldOfView"), c.integer("Width"), c.integer("Height")), "FieldOfView")
}

// chooseLens is SVL's choice: a lens of its own counts only where Distorted is true.
func (c *conversion) chooseLens() error {
	distortion := c.numbers("DistortionParameters")
	if n := len(distortion); n != 0 && n != 4 {
		return c.errorf("DistortionParameters", "%w: %d numbers, need none or 4", yamldoc.ErrValue, n)
	}
	if !c.boolean("Distorted") {
		if c.boolean("Fisheye") {
			c.reader.note(c.errorf("Fisheye", "Fisheye counts only where Distorted is true, as in SVL"))
		}
		return nil
	}
	if c.boolean("Fisheye") {
		c.set("lens", "svl_fisheye", "Fisheye")
		c.set("xi", c.number("Xi"), "Xi")
	} else {
		c.set("lens", "svl", "Distorted")
	}
	if len(distortion) > 0 {
		c.set("distortion", distortion, "DistortionParameters")
	}
	return nil
}

// finishSVLTruth is for what sees pictures without publishing them.
func finishSVLTruth(c *conversion) error {
	c.fieldOfView()
	return nil
}

// finishSVLLidar gives a lidar its lasers and columns. A lidar whose message is a
// LaserScan becomes a planar one.
func finishSVLLidar(c *conversion) error {
	lasers := c.integer("LaserCount")
	angles := c.numbers("VerticalRayAngles")
	if len(angles) > 0 {
		lasers = len(angles)
	}
	if c.text("MessageType") == "LaserScan" {
		if lasers == 1 {
			return c.planar(angles)
		}
		c.reader.note(c.errorf("MessageType", "a LaserScan needs one laser, not %d: it stays a PointCloud2, as in SVL", lasers))
	}
	if len(angles) > 0 {
		c.set("elevations", angles, "VerticalRayAngles")
	} else {
		c.set("elevations", svlElevations(lasers, c.number("FieldOfView"), c.number("CenterAngle")), "LaserCount")
	}
	columns := math.Floor(float64(c.integer("MeasurementsPerRotation")) * c.number("HorizontalAngle") / 360)
	if columns < 1 {
		return c.errorf("HorizontalAngle", "%w: %v deg leave no measurement of %d a rotation", yamldoc.ErrRange, c.number("HorizontalAngle"), c.integer("MeasurementsPerRotation"))
	}
	c.set("columns", int64(columns), "MeasurementsPerRotation")
	return nil
}

// planar makes the entry that of a planar lidar.
func (c *conversion) planar(angles []float64) error {
	center := c.number("CenterAngle")
	if len(angles) == 1 {
		center = 0 - angles[0]
	}
	c.entry.ID, c.output, c.entry.Attributes = "sensor.lidar.laser_scan", "scan", nil
	c.set("center_angle", center, "CenterAngle")
	c.set("range_min", c.number("MinDistance"), "MinDistance")
	c.set("range", c.number("MaxDistance"), "MaxDistance")
	c.set("measurements_per_rotation", int64(c.integer("MeasurementsPerRotation")), "MeasurementsPerRotation")
	c.set("forward_angle", c.number("ForwardAngle"), "ForwardAngle")
	c.set("horizontal_fov", c.number("HorizontalAngle"), "HorizontalAngle")
	for _, s := range svlPlanarFixed() {
		c.set(s.Attribute, s.Value, "")
	}
	return nil
}

// finishSVLVelodyne takes the preset of the device.
func finishSVLVelodyne(c *conversion) error {
	presets := map[string]string{"VLP_16": "VelodyneVLP16", "VLP_32C": "VelodyneVLP32C", "VLS_128": "VelodyneVLS128"}
	if preset, ok := presets[c.text("VelodyneLidarType")]; ok {
		c.set("preset", preset, "VelodyneLidarType")
	}
	for _, p := range []struct{ name, attribute string }{{"MinDistance", "range_min"}, {"MaxDistance", "range"}} {
		if c.values[p.name] != nil {
			c.set(p.attribute, c.number(p.name), p.name)
		}
	}
	return nil
}

// finishSVLImu makes SVL's second message of an IMU, the corrected one, which has
// the first one's values: another IMU with its topic and frame.
func finishSVLImu(c *conversion) error {
	topic := c.text("CorrectedTopic")
	if topic == "" {
		return nil
	}
	second := *c.entry
	second.own = map[string]place{topicsKey + "." + c.output: c.given["CorrectedTopic"]}
	second.Topics = Topics{c.output: topic}
	c.second = &second
	return nil
}

// finishSVLClock leaves the clock out where every run publishes it anyway.
func finishSVLClock(c *conversion) error {
	if topic := c.text("Topic"); topic == "" || topic == "/clock" || topic == "clock" {
		c.reader.note(c.node.Errorf("every run publishes /clock: the clock is left out"))
		c.entry = nil
	}
	return nil
}
