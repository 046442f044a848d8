package camera

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/sensors"
)

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
