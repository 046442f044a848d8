package camera

import (
	"fmt"
	"slices"
	"strings"

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

// options are a camera's settings in the form that the work needs.
type options struct {
	kind      kind
	lens      Lens
	near, far float64
	origin    PrincipalPoint
	form      form

	gain       float64 // times the scene's exposure
	toneCurve  bool
	grade      grade
	samples    int // points seen across a pixel, and down it
	minDepth   float64
	maxDepth   float64
	svlPalette bool

	compressed string // "", "jpeg" or "png"
	quality    int
	raw        bool
}

// readOptions reads a camera's settings. Errors wrap sensors.ErrValue.
func readOptions(k kind, s *sensors.Settings) (o options, err error) {
	o = options{
		kind: k, near: s.Float("near_clip"), far: s.Float("far_clip"),
		toneCurve: true, grade: usualGrade, samples: 1, raw: true,
	}
	if o.lens, err = readLens(s); err != nil {
		return o, err
	}
	if o.far <= o.near {
		return o, fmt.Errorf("%w: far_clip is %v m, it must be beyond near_clip, %v m", sensors.ErrValue, o.far, o.near)
	}
	if s.String("principal_point") == "corner" {
		o.origin = CornerOrigin
	}
	if err := o.readPicture(s); err != nil {
		return o, err
	}
	return o, o.readCompression(s)
}

// readLens reads the lens.
func readLens(s *sensors.Settings) (Lens, error) {
	l, err := NewLens(s.Int("image_size_x"), s.Int("image_size_y"), s.Float("fov"))
	if err != nil {
		return l, fmt.Errorf("%w: %w", sensors.ErrValue, err)
	}
	name, d := s.String("lens"), s.Floats("distortion")
	if xi := s.Float("xi"); name != lensSVLFisheye && xi != 0 {
		return l, fmt.Errorf("%w: a xi of %v belongs to lens %s, and lens is %s", sensors.ErrValue, xi, lensSVLFisheye, name)
	}
	least, most := 0, 0
	switch name {
	case lensPlumbBob:
		least, most = 4, 5
	case lensSVL, lensSVLFisheye:
		least, most = 4, 4
	}
	if n := len(d); n != 0 && (n < least || n > most) {
		return l, fmt.Errorf("%w: distortion has %d numbers: %s", sensors.ErrValue, n, distortionDoc)
	}
	var k [5]float64
	copy(k[:], d)
	switch {
	case name == lensSVLFisheye:
		l, err = l.SVLFisheye([4]float64(k[:4]), s.Float("xi"))
	case k == [5]float64{}:
	case name == lensPlumbBob:
		l, err = l.PlumbBob(k[0], k[1], k[2], k[3], k[4])
	case name == lensSVL:
		l, err = l.SVL([4]float64(k[:4]))
	}
	if err != nil {
		return l, fmt.Errorf("%w: %w", sensors.ErrValue, err)
	}
	return l, nil
}

// readPicture reads what belongs to the camera's kind.
func (o *options) readPicture(s *sensors.Settings) error {
	output := ""
	switch o.kind {
	case kindRGB:
		output = s.String("encoding")
	case kindDepth, kindSemantic, kindInstance:
		output = s.String("output")
	}
	o.form = forms[o.kind][output]
	switch o.kind {
	case kindRGB, kindDVS:
		return o.readColor(s)
	case kindDepth:
		o.minDepth, o.maxDepth = s.Float("min_depth"), s.Float("max_depth")
		if o.maxDepth <= o.minDepth {
			return fmt.Errorf("%w: max_depth is %v m, it must be beyond min_depth, %v m", sensors.ErrValue, o.maxDepth, o.minDepth)
		}
	case kindSemantic:
		o.svlPalette = output == outputSVL
	case kindInstance:
		if output == "id" {
			o.form = idForms[s.String("encoding")]
		} else if s.IsSet("encoding") {
			return fmt.Errorf("%w: encoding is that of output id, and output is %s: leave one of them out", sensors.ErrValue, output)
		}
	}
	return nil
}

// readColor reads how light is shown.
func (o *options) readColor(s *sensors.Settings) error {
	o.gain = exposureGain(s)
	o.grade = readGrade(s)
	o.toneCurve = s.String("tone_curve") == "filmic" && !o.grade.linear
	o.samples = s.Int("supersampling")
	if side := o.samples * max(o.lens.Width, o.lens.Height); side > maxSize {
		return fmt.Errorf("%w: supersampling %d makes %d points a side of the picture, at most %d are possible", sensors.ErrValue, o.samples, side, maxSize)
	}
	return nil
}

func (o *options) readCompression(s *sensors.Settings) error {
	switch o.kind {
	case kindRGB, kindDepth, kindSemantic, kindInstance:
		o.raw = s.Bool("publish_raw")
		o.quality = s.Int("jpeg_quality")
		if format := s.String("compressed"); format != "none" {
			o.compressed = format
		}
	}
	if o.compressed != "" && !slices.Contains(o.form.compressions, o.compressed) {
		return fmt.Errorf("%w: compressed is %s, but this %s picture (%s) has only %s",
			sensors.ErrValue, o.compressed, o.form.name, o.form.encoding, strings.Join(append([]string{"none"}, o.form.compressions...), ", "))
	}
	if !o.raw && o.compressed == "" {
		return fmt.Errorf("%w: publish_raw is false and compressed is none: nothing is left to publish", sensors.ErrValue)
	}
	return nil
}

// Values of the attribute lens.
const (
	lensPinhole    = "pinhole"
	lensPlumbBob   = "plumb_bob"
	lensSVL        = "svl"
	lensSVLFisheye = "svl_fisheye"
)

const distortionDoc = "for plumb_bob k1, k2, p1, p2 and, if need be, k3, as OpenCV and ROS order them; for svl and svl_fisheye a1 to a4 of DistortionParameters; none for pinhole"

// ignored says why the attribute changes nothing.
func (d described) ignored(why string) described {
	d.Inert = why
	return d
}

func number(name string, value float64, doc string) described {
	return attribute(name, sensors.Float, value, doc)
}

// lensAttributes are those of every camera's lens.
func lensAttributes() []described {
	const circle = "the circle's formula is inside CARLA's engine, and its strength is 0 by default: the picture is a pinhole's, unless lens says otherwise"
	return []described{
		attribute("lens", sensors.String, lensPinhole,
			"pinhole; plumb_bob as OpenCV and ROS; svl and svl_fisheye as SVL Simulator's distorted cameras").
			of(lensPinhole, lensPlumbBob, lensSVL, lensSVLFisheye),
		attribute("distortion", sensors.Floats, []float64{}, distortionDoc),
		number("xi", 0, "how far behind the sphere's centre svl_fisheye looks from").in("", 0, 10),
		number("lens_circle_falloff", 5, "softness of CARLA's lens circle").in("", 0, 10).ignored(circle),
		number("lens_circle_multiplier", 0, "strength of CARLA's lens circle").in("", 0, 10).ignored(circle),
		number("lens_k", -1, "CARLA's radial distortion").ignored(circle),
		number("lens_kcube", 0, "CARLA's cubic distortion").ignored(circle),
		number("lens_x_size", 0.08, "width of CARLA's lens circle").in("", 0, 1).ignored(circle),
		number("lens_y_size", 0.08, "height of CARLA's lens circle").in("", 0, 1).ignored(circle),
	}
}

// colorAttributes are those of the cameras that see light, with CARLA's names and
// defaults where CARLA has them.
func colorAttributes() []described {
	all := []described{
		attribute("supersampling", sensors.Int, int64(1), "points seen across a pixel, and down it: 2 smooths edges at four times the work").in("", 1, 4),
		attribute("tone_curve", sensors.String, "filmic",
			"how bright light is shown: filmic rolls off softly, none clips at white").of("filmic", "none"),
		attribute("enable_postprocess_effects", sensors.Bool, true, "without them the picture is linear: no tone curve, no balance, no gamma"),
	}
	all = append(all, exposureAttributes()...)
	all = append(all, gradeAttributes()...)
	return append(all, opticsAttributes()...)
}

func exposureAttributes() []described {
	const adapts = "the exposure doesn't adapt: it is the scene's own, so that a picture depends on its instant alone"
	return []described{
		attribute("exposure_mode", sensors.String, "histogram",
			"histogram takes the scene's exposure for what a meter would find; manual multiplies it by what iso, fstop, shutter_speed and calibration_constant give, which is 1 at their defaults").
			of("histogram", "manual"),
		number("exposure_compensation", 0, "brightness over the scene's own exposure, in stops").in("EV", -16, 16),
		number("iso", usualISO, "sensitivity, in exposure_mode manual").in("", 1, 1e6).usually(25, 25600),
		number("fstop", usualStop, "f-number of the aperture, in exposure_mode manual").in("", 0.1, 100).usually(0.7, 32),
		number("shutter_speed", usualShutter, "one over the time of exposure, in exposure_mode manual").in("1/s", 0.01, 1e6).usually(1, 10000),
		number("calibration_constant", usualCalibration, "of the light meter, in exposure_mode manual").in("", 1, 100),
		number("exposure_min_bright", 10, "least brightness that CARLA's eye adapts to").ignored(adapts),
		number("exposure_max_bright", 12, "greatest brightness that CARLA's eye adapts to").ignored(adapts),
		number("exposure_speed_up", 3, "speed of adaptation to light").ignored(adapts),
		number("exposure_speed_down", 1, "speed of adaptation to darkness").ignored(adapts),
	}
}

func gradeAttributes() []described {
	return []described{
		number("gamma", usualGamma, "of the display: 2.2 is sRGB, more is brighter").in("", 0.1, 10).usually(1, 3),
		number("temp", usualTemperature, "temperature of the light that is shown as white").in("K", 1500, 15000),
		number("tint", 0, "of the white balance: above 0 towards magenta, below towards green").in("", -1, 1),
		number("slope", usualFilm.slope,
			"steepness of Unreal Engine's film curve, which tone_curve filmic becomes if this or the next four differ from their defaults").in("", 0, 1),
		number("toe", usualFilm.toe, "darkness of the film curve's shadows").in("", 0, 1),
		number("shoulder", usualFilm.shoulder, "softness of the film curve's highlights").in("", 0, 1),
		number("black_clip", usualFilm.blackClip, "where the film curve's black is cut off").in("", 0, 1),
		number("white_clip", usualFilm.whiteClip, "where the film curve's white is cut off").in("", 0, 1),
	}
}

func opticsAttributes() []described {
	const (
		sharp  = "everything is in focus at any aperture"
		still  = "a picture shows one instant, so nothing in it moves"
		clean  = "glass here scatters no light"
		fringe = "a pixel has one ray for all its colours, so they don't part"
	)
	return []described{
		number("bloom_intensity", 0.675, "glow around bright lights").ignored(clean),
		number("lens_flare_intensity", 0.1, "reflections in the lens").ignored(clean),
		number("min_fstop", 1.2, "widest aperture").ignored(sharp),
		number("focal_distance", 1000, "distance at which the picture is sharp").in("cm", 0, 1e9).ignored(sharp),
		attribute("blade_count", sensors.Int, int64(5), "blades of the aperture, which shape what is out of focus").ignored(sharp),
		number("blur_amount", 1, "strength of blur by depth").ignored(sharp),
		number("blur_radius", 0, "size of blur by depth").ignored(sharp),
		number("motion_blur_intensity", 0.45, "strength of motion blur").ignored(still),
		number("motion_blur_max_distortion", 0.35, "longest motion blur").ignored(still),
		number("motion_blur_min_object_screen_size", 0.1, "smallest thing with motion blur").ignored(still),
		number("chromatic_aberration_intensity", 0, "how far colours part towards the edges").ignored(fringe),
		number("chromatic_aberration_offset", 0, "where colours begin to part").ignored(fringe),
	}
}
