package camera

import (
	"fmt"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// options are a camera's settings in the form that the work needs.
type options struct {
	kind      kind
	lens      Lens
	near, far float64
	origin    PrincipalPoint
	encoding  string

	exposure  float64 // stops over the scene's
	toneCurve bool
	samples   int // points seen across a pixel, and down it
	minDepth  float64
	maxDepth  float64

	compressed string // "", "jpeg" or "png"
	quality    int
	raw        bool
}

// readOptions reads a camera's settings. Errors wrap sensors.ErrValue.
func readOptions(k kind, s *sensors.Settings) (o options, err error) {
	o = options{
		kind: k, near: s.Float("near_clip"), far: s.Float("far_clip"),
		toneCurve: true, samples: 1, raw: true,
	}
	o.lens, err = NewLens(s.Int("image_size_x"), s.Int("image_size_y"), s.Float("fov"))
	if err != nil {
		return o, fmt.Errorf("%w: %w", sensors.ErrValue, err)
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

// readPicture reads what belongs to the camera's kind.
func (o *options) readPicture(s *sensors.Settings) error {
	switch o.kind {
	case kindRGB:
		o.encoding = s.String("encoding")
		o.quality = s.Int("jpeg_quality")
		return o.readColor(s)
	case kindDVS:
		o.encoding = sample.Encoding32SC1 // of the luminances
		return o.readColor(s)
	case kindDepth:
		o.encoding = sample.Encoding32FC1
		o.minDepth, o.maxDepth = s.Float("min_depth"), s.Float("max_depth")
		if o.maxDepth <= o.minDepth {
			return fmt.Errorf("%w: max_depth is %v m, it must be beyond min_depth, %v m", sensors.ErrValue, o.maxDepth, o.minDepth)
		}
	case kindSemantic:
		o.encoding = sample.EncodingMono8
		if s.String("output") == "palette" {
			o.encoding = sample.EncodingRGB8
		}
	case kindInstance:
		o.encoding = s.String("encoding")
	case kindNormals:
		o.encoding = sample.Encoding32FC3
	case kindFlow:
		o.encoding = sample.Encoding32FC2
	}
	return nil
}

// readColor reads how light is shown.
func (o *options) readColor(s *sensors.Settings) error {
	o.exposure = s.Float("exposure_compensation")
	o.toneCurve = s.String("tone_curve") == "filmic"
	o.samples = s.Int("supersampling")
	if side := o.samples * max(o.lens.Width, o.lens.Height); side > maxSize {
		return fmt.Errorf("%w: supersampling %d makes %d points a side of the picture, at most %d are possible", sensors.ErrValue, o.samples, side, maxSize)
	}
	return nil
}

func (o *options) readCompression(s *sensors.Settings) error {
	switch o.kind {
	case kindRGB, kindSemantic, kindInstance:
		o.raw = s.Bool("publish_raw")
		if format := s.String("compressed"); format != "none" {
			o.compressed = format
		}
	}
	if o.compressed != "" && o.encoding == sample.Encoding32SC1 {
		return fmt.Errorf("%w: compressed is %s, but %s has no compressed form: use encoding %s",
			sensors.ErrValue, o.compressed, o.encoding, sample.Encoding16UC1)
	}
	if !o.raw && o.compressed == "" {
		return fmt.Errorf("%w: publish_raw is false and compressed is none: nothing is left to publish", sensors.ErrValue)
	}
	return nil
}

// pixelBytes is the size of a pixel in each encoding.
var pixelBytes = map[string]int{
	sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingMono8: 1,
	sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
}

// step returns the bytes of a row: padded to whole words, as the shader writes
// them.
func (o *options) step() int {
	return (o.lens.Width*pixelBytes[o.encoding] + 3) / 4 * 4
}

// pictures is a set of the forms that camera_shade.comp can write.
type pictures uint16

// pictureNames are the constants that ask for them, in the order of the bits.
var pictureNames = [...]string{"COLOR", "DEPTH", "TAGS", "TAG_COLORS", "INSTANCES", "WIDE_INSTANCES", "NORMALS", "FLOW", "LUMINANCE"}

const (
	pictureColor pictures = 1 << iota
	pictureDepth
	pictureTags
	pictureTagColors
	pictureInstances
	pictureWideInstances
	pictureNormals
	pictureFlow
	pictureLuminance
)

// picture returns the one that the camera needs.
func (o *options) picture() pictures {
	switch o.kind {
	case kindDepth:
		return pictureDepth
	case kindSemantic:
		if o.encoding == sample.EncodingRGB8 {
			return pictureTagColors
		}
		return pictureTags
	case kindInstance:
		if o.encoding == sample.Encoding32SC1 {
			return pictureWideInstances
		}
		return pictureInstances
	case kindNormals:
		return pictureNormals
	case kindFlow:
		return pictureFlow
	case kindDVS:
		return pictureLuminance
	default:
		return pictureColor
	}
}
