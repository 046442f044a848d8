package camera

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera/calibration"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Names of the outputs.
const (
	OutputImage      = "image"
	OutputCompressed = "compressed"
	OutputInfo       = "camera_info"
)

// Options are the options that all cameras have; names and defaults of the attributes are
// CARLA's where CARLA has them. Own are those of one kind.
type Options[K own] struct {
	Width          int       `attribute:"image_size_x" unit:"px" default:"800" min:"1" max:"16384" usual:"16 8192" doc:"width of the picture"`
	Height         int       `attribute:"image_size_y" unit:"px" default:"600" min:"1" max:"16384" usual:"16 8192" doc:"height of the picture"`
	FOV            float64   `attribute:"fov" unit:"deg" default:"90" min:"0.1" max:"175" usual:"5 170" doc:"horizontal field of view, from edge to edge. With a lens that distorts, that of the pinhole with the same focal length: image_size_x / (2 tan(fov / 2)) pixels"`
	NearClip       float64   `attribute:"near_clip" unit:"m" default:"0.05" min:"0.001" max:"1000" usual:"0.01 10" doc:"nearer surfaces are invisible"`
	FarClip        float64   `attribute:"far_clip" unit:"m" default:"2000" min:"0.01" max:"100000" usual:"10 10000" doc:"farther surfaces are invisible"`
	PrincipalPoint string    `attribute:"principal_point" default:"center" enum:"center,corner" doc:"how CameraInfo counts pixels: center has (0, 0) in the first pixel's centre, as ROS; corner in its corner, as CARLA"`
	Lens           string    `attribute:"lens" default:"pinhole" enum:"pinhole,plumb_bob,rational,thin_prism,equidistant,mei,f_theta,double_sphere,svl,svl_fisheye,table" doc:"how the lens bends what it sees: docs/lenses.md has each. rational and thin_prism are OpenCV's and ROS's rational_polynomial, equidistant is ROS's fisheye, mei OpenCV's omnidir, f_theta NVIDIA's; svl and svl_fisheye are SVL Simulator's; table has a ray for each pixel"`
	Distortion     []float64 `attribute:"distortion" doc:"numbers of the lens, as OpenCV and ROS order them. plumb_bob k1, k2, p1, p2 and, if need be, k3; rational these and k4, k5, k6; thin_prism these and s1 to s4; equidistant k1 to k4; mei k1, k2, p1, p2; svl and svl_fisheye a1 to a4 of DistortionParameters. None for pinhole, double_sphere, f_theta and table"`
	Xi             float64   `attribute:"xi" min:"-1" max:"10" doc:"how far behind the sphere's centre svl_fisheye and mei look from, and how far the spheres of double_sphere are apart; only that may be negative"`
	Calibration
	ShutterOptions
	lensCircle `inert:"the circle's formula is inside CARLA's engine, and its strength is 0 by default. The picture is a pinhole's, unless lens says otherwise"`
	Own        K
}

// lensCircle is CARLA's.
type lensCircle struct {
	Falloff    *float64 `attribute:"lens_circle_falloff" default:"5" max:"10" doc:"softness of CARLA's lens circle"`
	Multiplier float64  `attribute:"lens_circle_multiplier" max:"10" doc:"strength of CARLA's lens circle"`
	K          *float64 `attribute:"lens_k" default:"-1" doc:"CARLA's radial distortion"`
	KCube      float64  `attribute:"lens_kcube" doc:"CARLA's cubic distortion"`
	XSize      *float64 `attribute:"lens_x_size" default:"0.08" max:"1" doc:"width of CARLA's lens circle"`
	YSize      *float64 `attribute:"lens_y_size" default:"0.08" max:"1" doc:"height of CARLA's lens circle"`
}

// own are the options of one kind of camera.
type own interface {
	// read fills in what they say. Errors wrap sensors.ErrValue.
	read(o *setup, spec *sensors.Spec) error
}

// The cameras' options.
type (
	// RGB is sensor.camera.rgb.
	RGB = Options[RGBOwn]
	// Depth is sensor.camera.depth.
	Depth = Options[DepthOwn]
	// Semantic is sensor.camera.semantic_segmentation.
	Semantic = Options[SemanticOwn]
	// Instance is sensor.camera.instance_segmentation.
	Instance = Options[InstanceOwn]
	// Normals is sensor.camera.normals.
	Normals = Options[NormalsOwn]
)

// RGBOwn are the options that a colour camera has beside those of all cameras.
type RGBOwn struct {
	Light
	Encoding string `attribute:"encoding" default:"rgb8" enum:"rgb8,bgr8,bgra8" doc:"order of the bytes of a pixel; bgra8 is CARLA's, alpha 255"`
	Compression
}

// DepthOwn are the options that a depth camera has beside those of all cameras.
type DepthOwn struct {
	Output   string   `attribute:"output" default:"metres" enum:"metres,carla,svl" doc:"metres is 32FC1. carla is bgra8, where red + 256 green + 65536 blue is 2^24 - 1 at 1000 m. svl is mono8, the tenth root of distance over far_clip"`
	MinDepth float64  `attribute:"min_depth" unit:"m" max:"100000" usual:"0 100" doc:"nearer surfaces read -Inf (REP-117), or black in other encodings"`
	MaxDepth *float64 `attribute:"max_depth" unit:"m" default:"1000" max:"100000" usual:"1 10000" doc:"farther surfaces and the sky read +Inf, or white in other encodings"`
	Compression
}

// SemanticOwn are the options that a camera of tags has beside those of all cameras.
type SemanticOwn struct {
	Output      string `attribute:"output" default:"tag" enum:"tag,palette,palette_bgra8,carla,svl" doc:"tag is mono8, one tag a pixel. palette is rgb8 in CityScapes colours, palette_bgra8 the same as CARLA's ROS bridge has them. carla is bgra8, the tag in red. svl is rgb8 in SVL's colours"`
	Compression `defaults:"jpeg_quality=100"`
}

// InstanceOwn are the options that a camera of actors has beside those of all cameras.
type InstanceOwn struct {
	Output      string `attribute:"output" default:"id" enum:"id,carla,svl" doc:"id is the number alone. carla is bgra8: the tag in red, the id's low byte in green and its high one in blue. A bridge may make it a run's default. svl is rgb8, the class's hue in a shade of the actor's own"`
	Encoding    string `attribute:"encoding" default:"16UC1" enum:"16UC1,32SC1" doc:"type of a pixel of output id"`
	Compression `defaults:"jpeg_quality=100"`
}

// NormalsOwn are the options that a camera of normals has beside those of all cameras: none.
type NormalsOwn struct{}

// Compression are the options of cameras whose pictures can be compressed.
type Compression struct {
	Compressed  string `attribute:"compressed" default:"none" enum:"none,jpeg,png" doc:"format of a compressed image published beside the plain one. jpeg is for pictures in colours or greys, not for labels or codes. png is not for metres or 32SC1"`
	JPEGQuality int    `attribute:"jpeg_quality" default:"75" min:"1" max:"100" doc:"size against fidelity of JPEG, whose colours have half the resolution at any"`
	PublishRaw  *bool  `attribute:"publish_raw" default:"true" doc:"publish the plain image; without it only a compressed one"`
}

// Light are the options of the cameras that see light, with CARLA's names and defaults
// where CARLA has them.
type Light struct {
	Samples              int     `attribute:"samples" default:"1" min:"1" max:"16" doc:"points of a pixel that its colour is the mean of: 1, its centre, or 4, 9 or 16 in a square, which smooth edges. Depth, labels, normals and flow are those of the centre"`
	MotionBlur           int     `attribute:"motion_blur" default:"1" min:"1" max:"16" doc:"instants of an exposure that a pixel's colour is the mean of: 4, 9 or 16, as many samples, each at a time of its own. 1 blurs nothing. A picture of a global shutter is then exposed up to the instant at which it is due. Depth, labels and normals are of one time"`
	Shadows              string  `attribute:"shadows" default:"mapped" enum:"mapped,traced" doc:"mapped looks shadows up in maps around the vehicle: quick, soft by some centimetres, and none far away. traced sends a ray to the sun from each point that is seen: exact at any distance, at two to three times the work"`
	ToneCurve            string  `attribute:"tone_curve" default:"filmic" enum:"filmic,none" doc:"how bright light is shown: filmic rolls off softly, none clips at white"`
	Postprocess          *bool   `attribute:"enable_postprocess_effects" default:"true" doc:"without them the picture is linear: no tone curve, no balance, no gamma"`
	ExposureMode         string  `attribute:"exposure_mode" live:"true" default:"histogram" enum:"histogram,manual" doc:"histogram takes the scene's exposure for what a meter would find, and in weather as much more as clouds take from the light. manual multiplies it by what iso, fstop, shutter_speed and calibration_constant give, which is 1 at their defaults"`
	ExposureCompensation float64 `attribute:"exposure_compensation" live:"true" unit:"EV" min:"-16" max:"16" doc:"brightness over the scene's own exposure, in stops"`
	ISO                  float64 `attribute:"iso" live:"true" default:"100" min:"1" max:"1e6" usual:"25 25600" doc:"sensitivity, in exposure_mode manual"`
	FStop                float64 `attribute:"fstop" live:"true" default:"1.4" min:"0.1" max:"100" usual:"0.7 32" doc:"f-number of the aperture, in exposure_mode manual"`
	ShutterSpeed         float64 `attribute:"shutter_speed" live:"true" unit:"1/s" default:"200" min:"0.01" max:"1e6" usual:"1 10000" doc:"one over the time of exposure, in exposure_mode manual"`
	CalibrationConstant  float64 `attribute:"calibration_constant" live:"true" default:"16" min:"1" max:"100" doc:"of the light meter, in exposure_mode manual"`
	adaptation           `inert:"the exposure doesn't adapt. It is the scene's own, so that a picture depends on its instant alone"`
	Gamma                float64  `attribute:"gamma" default:"2.2" min:"0.1" max:"10" usual:"1 3" doc:"of the display: 2.2 is sRGB, more is brighter"`
	Temperature          float64  `attribute:"temp" unit:"K" default:"6500" min:"1500" max:"15000" doc:"temperature of the light that is shown as white"`
	Tint                 float64  `attribute:"tint" min:"-1" max:"1" doc:"of the white balance: above 0 towards magenta, below towards green"`
	Slope                *float64 `attribute:"slope" default:"0.88" max:"1" doc:"steepness of Unreal Engine's film curve, which tone_curve filmic becomes if this or the next four differ from their defaults"`
	Toe                  *float64 `attribute:"toe" default:"0.55" max:"1" doc:"darkness of the film curve's shadows"`
	Shoulder             *float64 `attribute:"shoulder" default:"0.26" max:"1" doc:"softness of the film curve's highlights"`
	BlackClip            float64  `attribute:"black_clip" max:"1" doc:"where the film curve's black is cut off"`
	WhiteClip            *float64 `attribute:"white_clip" default:"0.04" max:"1" doc:"where the film curve's white is cut off"`
	glare                `inert:"glass here scatters no light"`
	focus                `inert:"everything is in focus at any aperture"`
	motionBlur           `inert:"motion_blur and exposure_time blur what moves, as an exposure does"`
	aberration           `inert:"a pixel has one ray for all its colours, so they don't part"`
}

// Options of CARLA's cameras that change nothing here.
type (
	adaptation struct {
		MinBright *float64 `attribute:"exposure_min_bright" default:"10" doc:"least brightness that CARLA's eye adapts to"`
		MaxBright *float64 `attribute:"exposure_max_bright" default:"12" doc:"greatest brightness that CARLA's eye adapts to"`
		SpeedUp   *float64 `attribute:"exposure_speed_up" default:"3" doc:"speed of adaptation to light"`
		SpeedDown *float64 `attribute:"exposure_speed_down" default:"1" doc:"speed of adaptation to darkness"`
	}
	glare struct {
		Bloom     *float64 `attribute:"bloom_intensity" default:"0.675" doc:"glow around bright lights"`
		LensFlare *float64 `attribute:"lens_flare_intensity" default:"0.1" doc:"reflections in the lens"`
	}
	focus struct {
		MinFStop      *float64 `attribute:"min_fstop" default:"1.2" doc:"widest aperture"`
		FocalDistance *float64 `attribute:"focal_distance" unit:"cm" default:"1000" max:"1e9" doc:"distance at which the picture is sharp"`
		BladeCount    *int     `attribute:"blade_count" default:"5" doc:"blades of the aperture, which shape what is out of focus"`
		BlurAmount    *float64 `attribute:"blur_amount" default:"1" doc:"strength of blur by depth"`
		BlurRadius    float64  `attribute:"blur_radius" doc:"size of blur by depth"`
	}
	motionBlur struct {
		Intensity     *float64 `attribute:"motion_blur_intensity" default:"0.45" doc:"strength of motion blur"`
		MaxDistortion *float64 `attribute:"motion_blur_max_distortion" default:"0.35" doc:"longest motion blur"`
		MinObjectSize *float64 `attribute:"motion_blur_min_object_screen_size" default:"0.1" doc:"smallest thing with motion blur"`
	}
	aberration struct {
		Intensity float64 `attribute:"chromatic_aberration_intensity" doc:"how far colours part towards the edges"`
		Offset    float64 `attribute:"chromatic_aberration_offset" doc:"where colours begin to part"`
	}
)

// The cameras' definitions, with CARLA's ids.
var (
	RGBDefinition      = define[RGBOwn](kindRGB, "colour camera: sun, shadows, sky, tone curve, sRGB")
	DepthDefinition    = define[DepthOwn](kindDepth, "depth camera: distance along the optical axis in metres (REP-118)")
	SemanticDefinition = define[SemanticOwn](kindSemantic, "semantic labels: CARLA's tag of what each pixel sees")
	InstanceDefinition = define[InstanceOwn](kindInstance, "instance labels: the actor id of what each pixel sees, 0 for none")
	NormalsDefinition  = define[NormalsOwn](kindNormals, "surface normals: unit vectors towards the camera in the optical frame, NaN for the sky")
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

func define[K own](k kind, doc string) *sensors.Definition {
	d := sensors.Definition{
		ID: kindIDs[k], Number: uint16(k) + 1, Doc: doc, Tags: []string{"camera", "gpu"}, Rate: simtime.Hz(10), Looks: true,
	}
	if k == kindRGB || k == kindDVS {
		d.Weather = shown
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
	if k <= kindInstance { // those with Compression
		d.Outputs = append(d.Outputs, sensors.Declare[sample.CompressedImage](sensors.OutputSpec{
			Name: OutputCompressed, Suffix: "/image_raw/compressed", QoS: best,
			Doc: "sensor_msgs/CompressedImage, where the attribute compressed asks for it",
		}))
	}
	d.Outputs = append(d.Outputs, sensors.Declare[sample.CameraInfo](sensors.OutputSpec{
		Name: OutputInfo, Suffix: "/camera_info", QoS: best,
		Doc: "sensor_msgs/CameraInfo with the image's stamp and frame",
	}))
	return sensors.Define(d, func(spec sensors.Spec, v Options[K]) (sensors.Sensor, error) {
		o, err := v.resolve(k, &spec)
		if err != nil {
			return nil, err
		}
		s := &camera{spec: spec, options: o, events: o.events, frameID: spec.OpticalFrame()}
		s.off = o.lens.Info(o.origin, &s.calibration)
		o.asGiven(&s.calibration)
		s.calibration.Shutter = o.shutter.sample()
		return s, nil
	})
}

// setup is a camera's options in the form that the work needs.
type setup struct {
	kind      kind
	lens      Lens
	given     *calibration.Info // what a calibration file says for CameraInfo, or nil
	measured  bool              // there is such a file
	near, far float64
	origin    PrincipalPoint
	form      form

	gain       float64 // times the scene's exposure
	metered    bool    // by the light that the weather leaves
	toneCurve  bool
	grade      grade
	grid       int  // points seen across a pixel, and down it
	traced     bool // shadows are traced
	shutter    Shutter
	exposure   float64 // seconds that a line is exposed
	exposed    bool    // that was given as exposure_time
	minDepth   float64
	maxDepth   float64
	svlPalette bool

	compressed string // "", "jpeg" or "png"
	quality    int
	raw        bool

	events     *eventCamera // of a DVS camera
	thresholds thresholds   // of its next capture
}

// resolve works the options out. Errors wrap sensors.ErrValue.
func (v *Options[K]) resolve(k kind, spec *sensors.Spec) (o setup, err error) {
	o = setup{kind: k, near: v.NearClip, far: v.FarClip, form: forms[k][""], toneCurve: true, grade: usualGrade, grid: 1, raw: true}
	optics := Optics{v.Width, v.Height, v.FOV, v.Lens, v.Distortion, v.Xi, &v.Calibration}
	if o.lens, o.given, err = optics.read(spec); err != nil {
		return o, err
	}
	o.measured = v.Calibration.File != ""
	if o.far <= o.near {
		return o, fmt.Errorf("%w: far_clip is %v m, it must be beyond near_clip, %v m", sensors.ErrValue, o.far, o.near)
	}
	if v.PrincipalPoint == "corner" {
		o.origin = CornerOrigin
	}
	if err := v.expose(&o, spec); err != nil {
		return o, err
	}
	if err := v.Own.read(&o, spec); err != nil || !o.shutter.timed() {
		return o, err
	}
	return o, o.shutter.fits(spec)
}

// expose reads when the picture is exposed.
func (v *Options[K]) expose(o *setup, spec *sensors.Spec) (err error) {
	if v.Shutter == shutterRolling && (o.kind == kindFlow || o.kind == kindDVS) {
		return fmt.Errorf("%w: shutter is rolling, and a %s compares pictures of one instant each: leave it global", sensors.ErrValue, kindIDs[o.kind])
	}
	if o.exposure, err = v.exposureTime(spec); err != nil {
		return err
	}
	o.exposed = spec.Settings != nil && spec.Settings.IsSet("exposure_time")
	o.shutter, err = v.Resolve(spec, o.lens)
	return err
}

func (p RGBOwn) read(o *setup, _ *sensors.Spec) error {
	o.form = forms[o.kind][p.Encoding]
	if err := p.Light.read(o); err != nil {
		return err
	}
	return p.Compression.read(o)
}

func (p DepthOwn) read(o *setup, _ *sensors.Spec) error {
	o.form, o.minDepth, o.maxDepth = forms[o.kind][p.Output], p.MinDepth, *p.MaxDepth
	if o.maxDepth <= o.minDepth {
		return fmt.Errorf("%w: max_depth is %v m, it must be beyond min_depth, %v m", sensors.ErrValue, o.maxDepth, o.minDepth)
	}
	return p.Compression.read(o)
}

func (p SemanticOwn) read(o *setup, _ *sensors.Spec) error {
	o.form, o.svlPalette = forms[o.kind][p.Output], p.Output == outputSVL
	return p.Compression.read(o)
}

func (p InstanceOwn) read(o *setup, spec *sensors.Spec) error {
	o.form = forms[o.kind][p.Output]
	if p.Output == "id" {
		o.form = idForms[p.Encoding]
	} else if spec.Settings.IsSet("encoding") {
		return fmt.Errorf("%w: encoding is that of output id, and output is %s: leave one of them out", sensors.ErrValue, p.Output)
	}
	return p.Compression.read(o)
}

func (NormalsOwn) read(*setup, *sensors.Spec) error { return nil }

// read reads how light is shown.
func (p *Light) read(o *setup) error {
	if o.exposed {
		p.ShutterSpeed = 1 / o.exposure
	}
	o.gain, o.metered = p.gain(), p.ExposureMode != "manual"
	o.grade = p.grade()
	o.toneCurve = p.ToneCurve == "filmic" && !o.grade.linear
	name, points := "samples", p.Samples
	if p.MotionBlur > 1 {
		if p.Samples > 1 && p.Samples != p.MotionBlur {
			return fmt.Errorf("%w: motion_blur is %d and samples %d, and the points of a pixel are both: leave samples out", sensors.ErrValue, p.MotionBlur, p.Samples)
		}
		name, points = "motion_blur", p.MotionBlur
		o.shutter.blur(o.exposure)
	}
	for o.grid = 1; o.grid*o.grid < points; o.grid++ {
	}
	if o.grid*o.grid != points {
		return fmt.Errorf("%w: %s is %d, a square of points has 1, 4, 9 or 16", sensors.ErrValue, name, points)
	}
	o.traced = p.Shadows == "traced"
	if side := o.grid * max(o.lens.Width, o.lens.Height); side > maxSize {
		return fmt.Errorf("%w: %s %d makes %d points a side of the picture, at most %d are possible", sensors.ErrValue, name, points, side, maxSize)
	}
	return nil
}

// read reads what is published.
func (p *Compression) read(o *setup) error {
	o.raw, o.quality = *p.PublishRaw, p.JPEGQuality
	if p.Compressed != "none" {
		o.compressed = p.Compressed
	}
	if o.compressed != "" && !slices.Contains(o.form.compressions, o.compressed) {
		return fmt.Errorf("%w: compressed is %s, but this %s picture (%s) has only %s",
			sensors.ErrValue, o.compressed, o.form.name, o.form.encoding, strings.Join(append([]string{"none"}, o.form.compressions...), ", "))
	}
	if !o.raw && o.compressed == "" {
		return fmt.Errorf("%w: publish_raw is false without compressed: nothing is left to publish", sensors.ErrValue)
	}
	return nil
}
