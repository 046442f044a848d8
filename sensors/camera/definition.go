package camera

import (
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Names of the outputs.
const (
	OutputImage      = "image"
	OutputCompressed = "compressed"
	OutputInfo       = "camera_info"
)

// The cameras' definitions, with CARLA's ids.
var (
	RGB = definition(kindRGB, "colour camera: sun, shadows, sky, tone curve, sRGB",
		append(colorAttributes(),
			attribute("encoding", sensors.String, "rgb8", "order of the bytes of a pixel; bgra8 is CARLA's, alpha 255").of("rgb8", "bgr8", "bgra8"),
			compressed(), jpegQuality(75), publishRaw,
		)...,
	)
	Depth = definition(kindDepth, "depth camera: distance along the optical axis in metres (REP-118)",
		attribute("output", sensors.String, "metres",
			"metres is 32FC1; carla is bgra8, where red + 256 green + 65536 blue is 2^24 - 1 at 1000 m; svl is mono8, the tenth root of distance over far_clip").
			of("metres", outputCARLA, outputSVL),
		attribute("min_depth", sensors.Float, 0.0, "what is nearer reads -Inf (REP-117), and black otherwise").in("m", 0, maxFar).usually(0, 100),
		attribute("max_depth", sensors.Float, 1000.0, "what is farther reads +Inf, as does the sky, and white otherwise").in("m", 0, maxFar).usually(1, 10000),
		compressed(), jpegQuality(75), publishRaw,
	)
	Semantic = definition(kindSemantic, "semantic labels: CARLA's tag of what each pixel sees",
		attribute("output", sensors.String, "tag", "tag is mono8, one tag a pixel; palette is rgb8 in CityScapes colours, palette_bgra8 the same as CARLA's ROS bridge has them; carla is bgra8, the tag in red; svl is rgb8 in SVL's colours").of("tag", "palette", "palette_bgra8", outputCARLA, outputSVL),
		compressed(), jpegQuality(100), publishRaw,
	)
	Instance = definition(kindInstance, "instance labels: the actor id of what each pixel sees, 0 for none",
		attribute("output", sensors.String, "id",
			"id is the number alone; carla is bgra8, the tag in red, the id's low byte in green and its high one in blue; svl is rgb8, the class's hue in a shade of the actor's own").
			of("id", outputCARLA, outputSVL),
		attribute("encoding", sensors.String, sample.Encoding16UC1, "type of a pixel of output id").of(sample.Encoding16UC1, sample.Encoding32SC1),
		compressed(), jpegQuality(100), publishRaw,
	)
	Normals = definition(kindNormals, "surface normals: unit vectors towards the camera in the optical frame, NaN for the sky")
)

// Definitions returns all cameras' definitions.
func Definitions() []*sensors.Definition {
	return []*sensors.Definition{RGB, Depth, Semantic, Instance, Normals, OpticalFlow, DVS}
}

// kind is what a camera's pixels mean.
type kind uint8

const (
	kindRGB kind = iota
	kindDepth
	kindSemantic
	kindInstance
	kindNormals
	kindFlow
	kindDVS
	kinds // how many there are
)

var kindIDs = [kinds]string{
	"sensor.camera.rgb", "sensor.camera.depth", "sensor.camera.semantic_segmentation",
	"sensor.camera.instance_segmentation", "sensor.camera.normals", "sensor.camera.optical_flow",
	"sensor.camera.dvs",
}

// maxFar is the farthest that any range attribute goes, metres.
const maxFar = 100_000

// described is an attribute under construction.
type described sensors.Attribute

func attribute(name string, t sensors.AttributeType, value any, doc string) described {
	return described{Name: name, Type: t, Default: value, Doc: doc}
}

// in bounds the attribute.
func (d described) in(unit string, low, high float64) described {
	d.Unit, d.Min, d.Max = unit, low, high
	return d
}

// usually says what is usual within the bounds.
func (d described) usually(low, high float64) described {
	d.UsualMin, d.UsualMax = low, high
	return d
}

// of allows the given values alone.
func (d described) of(values ...string) described {
	d.Recommended, d.Restricted = values, true
	return d
}

func compressed() described {
	return attribute("compressed", sensors.String, "none",
		"format of a compressed image published beside the plain one; jpeg is for pictures in colours or greys, not for labels or codes, and png not for metres or 32SC1").
		of("none", "jpeg", "png")
}

func jpegQuality(usual int64) described {
	return attribute("jpeg_quality", sensors.Int, usual, "size against fidelity of JPEG, whose colours have half the resolution at any").in("", 1, 100)
}

var publishRaw = attribute("publish_raw", sensors.Bool, true, "publish the plain image; without it only a compressed one")

// common are the attributes of every camera; names and defaults are CARLA's
// where CARLA has them.
func common() []described {
	return append([]described{
		attribute("image_size_x", sensors.Int, int64(800), "width of the picture").in("px", 1, maxSize).usually(16, 8192),
		attribute("image_size_y", sensors.Int, int64(600), "height of the picture").in("px", 1, maxSize).usually(16, 8192),
		attribute("fov", sensors.Float, 90.0, "horizontal field of view, from edge to edge; with a lens that distorts, that of the pinhole with the same focal length: image_size_x / (2 tan(fov / 2)) pixels").in("deg", 0.1, 175).usually(5, 170),
		attribute("near_clip", sensors.Float, 0.05, "what is nearer isn't there").in("m", 0.001, 1000).usually(0.01, 10),
		attribute("far_clip", sensors.Float, 2000.0, "what is farther isn't there").in("m", 0.01, maxFar).usually(10, 10000),
		attribute("principal_point", sensors.String, "center",
			"how CameraInfo counts pixels: center has (0, 0) in the first pixel's centre, as ROS; corner in its corner, as CARLA").
			of("center", "corner"),
	}, lensAttributes()...)
}

func definition(k kind, doc string, own ...described) *sensors.Definition {
	d := &sensors.Definition{
		ID: kindIDs[k], Number: uint16(k) + 1, Doc: doc, Tags: []string{"camera", "gpu"}, DefaultRate: "10",
		New: func(spec sensors.Spec) (sensors.Sensor, error) { return newSensor(k, spec) },
	}
	hasCompressed := false
	for _, a := range append(common(), own...) {
		d.Attributes = append(d.Attributes, sensors.Attribute(a))
		hasCompressed = hasCompressed || a.Name == "compressed"
	}
	best := flow.SensorDataQoS // best effort: a late picture is worth nothing
	if k == kindDVS {
		d.Outputs = append(d.Outputs, sensors.Declare[sample.DvsEvents](sensors.OutputSpec{
			Name: OutputEvents, Suffix: "/events", QoS: best,
			Doc: "events since the picture before, where there were any; x, y, time, polarity",
		}))
	} else {
		d.Outputs = append(d.Outputs, sensors.Declare[sample.Image](sensors.OutputSpec{
			Name: OutputImage, Suffix: "/image_raw", QoS: best,
			Doc: "sensor_msgs/Image in the sensor's optical frame",
		}))
	}
	if hasCompressed {
		d.Outputs = append(d.Outputs, sensors.Declare[sample.CompressedImage](sensors.OutputSpec{
			Name: OutputCompressed, Suffix: "/image_raw/compressed", QoS: best,
			Doc: "sensor_msgs/CompressedImage, where the attribute compressed asks for it",
		}))
	}
	d.Outputs = append(d.Outputs, sensors.Declare[sample.CameraInfo](sensors.OutputSpec{
		Name: OutputInfo, Suffix: "/camera_info", QoS: best,
		Doc: "sensor_msgs/CameraInfo with the image's stamp and frame",
	}))
	return d
}
