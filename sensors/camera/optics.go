package camera

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera/calibration"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Calibration are the options by which a camera is as a real one was measured.
type Calibration struct {
	File           string    `attribute:"calibration" file:"true" doc:"a calibration file: ROS's camera_info, OpenCV's FileStorage (YAML, JSON, XML), Kalibr's camchain, or NVIDIA's f-theta record. It gives the lens and, unless they are set, the picture's size"`
	Camera         string    `attribute:"camera" doc:"which of a calibration file's cameras, such as cam0"`
	FX             float64   `attribute:"fx" unit:"px" max:"1e6" doc:"focal length across, in place of fov; 0 leaves it to that"`
	FY             float64   `attribute:"fy" unit:"px" max:"1e6" doc:"focal length down; 0 is fx"`
	CX             *float64  `attribute:"cx" unit:"px" min:"-1e5" max:"1e5" doc:"principal point, counted from the centre of the first pixel. If it isn't set it is the picture's middle"`
	CY             *float64  `attribute:"cy" unit:"px" min:"-1e5" max:"1e5" doc:"likewise, down from the centre of the first row"`
	Skew           float64   `attribute:"skew" unit:"px" min:"-1e5" max:"1e5" doc:"K's second number: how far a focal length down shifts to the right"`
	Alpha          float64   `attribute:"alpha" max:"1" doc:"of double_sphere: how much of the second sphere it has"`
	Polynomial     []float64 `attribute:"polynomial" doc:"of f_theta: 2 to 8 coefficients in rising order, the first of them 0"`
	PolynomialType string    `attribute:"polynomial_type" default:"pixeldistance-to-angle" enum:"pixeldistance-to-angle,angle-to-pixeldistance" doc:"what the polynomial of f_theta leads from and to: pixels from the principal point, and radians from the axis"`
	Linear         []float64 `attribute:"linear" doc:"of f_theta: c, d, e of its matrix [c d; e 1]; none is the identity"`
	MaxAngle       float64   `attribute:"max_angle" unit:"deg" max:"180" doc:"of f_theta: the angle from the axis beyond which it sees nothing; 0 is where its polynomial turns back"`
	Table          string    `attribute:"table" file:"true" doc:"of lens table: a file that numpy.save wrote of the pixels' directions, x right, y down, z forward, in an array of float32 or float64 with the shape (image_size_y, image_size_x, 3). NaN sees nothing"`
}

// Optics are the options that make a lens, of a camera or of another sensor that sees as one.
type Optics struct {
	Width, Height int
	FOV           float64 // degrees
	Model         string  // of the attribute lens
	Distortion    []float64
	Xi            float64
	*Calibration
}

// Lens makes the lens that the options ask for. Errors wrap sensors.ErrValue.
func (o Optics) Lens(spec *sensors.Spec) (Lens, error) {
	l, _, err := o.read(spec)
	return l, err
}

// Values of the attribute lens that calibrations don't have.
const (
	lensSVL        = "svl"
	lensSVLFisheye = "svl_fisheye"
	lensOwn        = "table"
)

// read makes the lens, and returns what a calibration file says for CameraInfo.
func (o Optics) read(spec *sensors.Spec) (l Lens, given *calibration.Info, err error) {
	if o.File != "" {
		l, given, err = o.calibrated(spec)
	} else {
		l, err = o.described(spec)
	}
	if err != nil {
		return l, nil, fmt.Errorf("%w: %w", sensors.ErrValue, err)
	}
	return l, given, nil
}

// takes are the attributes that lenses have beside the focal lengths and the principal point, each with
// the lenses that have it.
var takes = []struct {
	attribute string
	lenses    []string
}{
	{"xi", []string{lensSVLFisheye, calibration.Mei, calibration.DoubleSphere}},
	{"alpha", []string{calibration.DoubleSphere}},
	{"polynomial", []string{calibration.FTheta}},
	{"linear", []string{calibration.FTheta}},
	{"max_angle", []string{calibration.FTheta}},
	{"polynomial_type", []string{calibration.FTheta}},
	{"table", []string{lensOwn}},
}

// counts are how many numbers distortion may have, beside none.
var counts = map[string][]int{
	calibration.PlumbBob: {4, 5}, calibration.Rational: {8}, calibration.ThinPrism: {12}, calibration.Equidistant: {4},
	calibration.Mei: {4}, lensSVL: {4}, lensSVLFisheye: {4},
}

// described makes a lens by the attributes that say how it is.
func (o Optics) described(spec *sensors.Spec) (Lens, error) {
	set := spec.Settings
	if o.Camera != "" {
		return Lens{}, fmt.Errorf("camera chooses one of a calibration file's, and there is no calibration")
	}
	for _, t := range takes {
		if v := set.Value(t.attribute); set.IsSet(t.attribute) && v != 0.0 && !slices.Contains(t.lenses, o.Model) {
			return Lens{}, fmt.Errorf("%s belongs to lens %s, and lens is %s", t.attribute, strings.Join(t.lenses, " or "), o.Model)
		}
	}
	if n := len(o.Distortion); n == 14 {
		return Lens{}, fmt.Errorf("distortion has 14 numbers, OpenCV's tilted model, which there isn't: %s", spec.Definition.Attribute("distortion").Doc)
	} else if n != 0 && !slices.Contains(counts[o.Model], n) {
		return Lens{}, fmt.Errorf("distortion has %d numbers: %s", n, spec.Definition.Attribute("distortion").Doc)
	}
	l, err := NewLens(o.Width, o.Height, o.FOV)
	if err != nil {
		return l, err
	}
	focal := o.FX != 0 || o.FY != 0
	switch {
	case focal && set.IsSet("fov"):
		return l, fmt.Errorf("fov and fx say the same: leave one of them out")
	case o.FY != 0 && o.FX == 0:
		return l, fmt.Errorf("fy without fx: give fx, or both")
	case focal && (o.Model == calibration.FTheta || o.Model == lensOwn):
		return l, fmt.Errorf("fx belongs to other lenses: a lens %s has its own scale", o.Model)
	case o.Model == lensOwn && (set.IsSet("cx") || set.IsSet("cy") || o.Skew != 0):
		return l, fmt.Errorf("cx, cy and skew belong to other lenses: a table has its own")
	}
	if focal {
		l.Fx, l.Fy = o.FX, o.FX
	}
	if o.FY != 0 {
		l.Fy = o.FY
	}
	if set.IsSet("cx") {
		l.Cx = *o.CX
	}
	if set.IsSet("cy") {
		l.Cy = *o.CY
	}
	l.Skew = o.Skew
	return o.bent(spec, l)
}

// bent gives the lens the distortion of the attributes.
func (o Optics) bent(spec *sensors.Spec, l Lens) (Lens, error) {
	switch o.Model {
	case lensSVL, lensSVLFisheye:
		var a [4]float64
		copy(a[:], o.Distortion)
		switch {
		case o.Model == lensSVLFisheye:
			return l.SVLFisheye(a, o.Xi)
		case a != [4]float64{}:
			return l.SVL(a)
		}
		return l, nil
	case lensOwn:
		if o.Table == "" {
			return l, fmt.Errorf("lens table without a table")
		}
		name, err := nameOf(spec, "table", o.Table)
		if err != nil {
			return l, err
		}
		rays, err := calibration.ParseRays(name, []byte(o.Table))
		if err != nil {
			return l, err
		}
		if rays.Width != l.Width || rays.Height != l.Height {
			return l, fmt.Errorf("the table has %dx%d rays, and image_size_x and image_size_y are %dx%d", rays.Width, rays.Height, l.Width, l.Height)
		}
		return l.Table(rays.Directions)
	}
	c := calibration.Camera{
		Lens: o.Model, D: o.Distortion, Xi: o.Xi, Alpha: o.Alpha,
		Polynomial: o.Polynomial, ToAngle: o.PolynomialType == "pixeldistance-to-angle", MaxAngle: o.MaxAngle * math.Pi / 180,
	}
	if n := copy(c.Linear[:], o.Linear); n != len(o.Linear) || n != 0 && n != 3 {
		return l, fmt.Errorf("linear has %d numbers, need c, d and e", len(o.Linear))
	}
	return l.as(&c)
}

// as gives the lens a calibration's distortion.
func (l Lens) as(c *calibration.Camera) (Lens, error) {
	var k [12]float64
	copy(k[:], c.D)
	switch c.Lens {
	case calibration.PlumbBob:
		if k == [12]float64{} {
			return l, nil
		}
		return l.PlumbBob(k[0], k[1], k[2], k[3], k[4])
	case calibration.Rational:
		return l.Rational(k[:8])
	case calibration.ThinPrism:
		return l.Rational(k[:])
	case calibration.Equidistant:
		return l.Equidistant([4]float64(k[:4]))
	case calibration.Mei:
		return l.Mei(c.Xi, k[0], k[1], k[2], k[3])
	case calibration.DoubleSphere:
		return l.DoubleSphere(c.Xi, c.Alpha)
	case calibration.FTheta:
		return l.FTheta(FTheta{Polynomial: c.Polynomial, ToAngle: c.ToAngle, Linear: c.Linear, MaxAngle: c.MaxAngle})
	}
	return l, nil
}

// nameOf returns the name of a file for errors: its path, or the attribute's where its content was given. It refuses a
// path of which nothing was read.
func nameOf(spec *sensors.Spec, attribute, content string) (string, error) {
	if !sensors.IsContent(content) {
		return "", fmt.Errorf("%s is the path %q, and paths are read from a rig's file alone: give the file's content", attribute, content)
	}
	return cmp.Or(spec.Config.PathOf(spec.Definition.Attribute(attribute)), attribute), nil
}

// others are the attributes that a calibration file has in itself.
var others = []string{
	"lens", "distortion", "xi", "alpha", "fov", "fx", "fy", "cx", "cy", "skew", "polynomial", "polynomial_type", "linear", "max_angle", "table",
}

// calibrated makes the lens of a calibration file.
func (o Optics) calibrated(spec *sensors.Spec) (l Lens, given *calibration.Info, err error) {
	set := spec.Settings
	if at := slices.IndexFunc(others, set.IsSet); at >= 0 {
		return l, nil, fmt.Errorf("calibration says what the lens is: leave out %s", others[at])
	}
	name, err := nameOf(spec, "calibration", o.File)
	if err != nil {
		return l, nil, err
	}
	c, err := calibration.Parse(name, []byte(o.File), o.Camera)
	if err != nil {
		return l, nil, err
	}
	if l, err = NewLens(o.Width, o.Height, 90); err != nil {
		return l, nil, err
	}
	for _, side := range []struct {
		attribute string
		size      *int
		of        int
	}{{"image_size_x", &l.Width, c.Width}, {"image_size_y", &l.Height, c.Height}} {
		switch {
		case side.of == 0 && !set.IsSet(side.attribute):
			return l, nil, fmt.Errorf("the calibration file has no picture's size: give image_size_x and image_size_y")
		case side.of == 0:
		case set.IsSet(side.attribute) && *side.size != side.of:
			return l, nil, fmt.Errorf("%s is %d, and the calibration file is for a picture of %dx%d: leave it out", side.attribute, *side.size, c.Width, c.Height)
		default:
			*side.size = side.of
		}
	}
	l.Fx, l.Fy, l.Cx, l.Cy, l.Skew = c.FX, c.FY, c.CX, c.CY, c.Skew
	l, err = l.as(c)
	return l, c.Info, err
}

// asGiven puts what a calibration file says into CameraInfo, to the digit.
func (o *setup) asGiven(info *sample.CameraInfo) {
	if o.given == nil {
		return
	}
	shift := 0.0
	if o.origin == CornerOrigin {
		shift = 0.5
	}
	g := o.given
	if g.Model != "" { // else K and D are those of a model that readers know
		info.DistortionModel, info.K = g.Model, g.K
		info.K[2], info.K[5] = g.K[2]+shift, g.K[5]+shift
		if len(g.D) > 0 {
			info.D = append(info.D[:0], g.D...)
		}
	}
	if g.R != nil {
		info.R = *g.R
	}
	if g.P != nil {
		info.P = *g.P
		info.P[2], info.P[6] = g.P[2]+shift, g.P[6]+shift
	}
}
