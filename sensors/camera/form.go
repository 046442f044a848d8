package camera

import (
	"github.com/raybridge/raybridge/sensors/sample"
)

// pictures is a set of the forms that camera_shade.comp can write.
type pictures uint16

// pictureNames are the constants that ask for them, in the order of the bits.
var pictureNames = [...]string{
	"COLOR", "WIDE_COLOR", "LUMINANCE", "DEPTH", "DEPTH_CODES", "DEPTH_GREYS", "TAGS", "TAG_COLORS", "WIDE_TAG_COLORS", "WIDE_TAGS",
	"INSTANCES", "WIDE_INSTANCES", "INSTANCE_CODES", "INSTANCE_COLORS", "NORMALS", "FLOW",
}

const (
	pictureColor pictures = 1 << iota
	pictureWideColor
	pictureLuminance
	pictureDepth
	pictureDepthCodes
	pictureDepthGreys
	pictureTags
	pictureTagColors
	pictureWideTagColors
	pictureWideTags
	pictureInstances
	pictureWideInstances
	pictureInstanceCodes
	pictureInstanceColors
	pictureNormals
	pictureFlow
)

// form is how a camera's pixels are written down.
type form struct {
	name         string // in messages
	picture      pictures
	encoding     string
	compressions []string // the formats of a compressed picture that keep its meaning
}

// Values of the attribute output.
const (
	outputCARLA = "carla"
	outputSVL   = "svl"
)

// What JPEG may be made of: pictures for the eye. Codes and labels would be lost.
var (
	anyFormat = []string{"jpeg", "png"}
	lossless  = []string{"png"}
)

// forms are those of each kind, by the attribute that chooses: encoding of a colour
// camera, output of the others, none for the kinds that have but one.
var forms = [kinds]map[string]form{
	kindRGB: {
		sample.EncodingRGB8:  {"colour", pictureColor, sample.EncodingRGB8, anyFormat},
		sample.EncodingBGR8:  {"colour", pictureColor, sample.EncodingBGR8, anyFormat},
		sample.EncodingBGRA8: {"colour", pictureWideColor, sample.EncodingBGRA8, anyFormat},
	},
	kindDepth: {
		"metres":    {"depth", pictureDepth, sample.Encoding32FC1, nil},
		outputCARLA: {"depth", pictureDepthCodes, sample.EncodingBGRA8, lossless},
		outputSVL:   {"depth", pictureDepthGreys, sample.EncodingMono8, anyFormat},
	},
	kindSemantic: {
		"tag":           {"semantic", pictureTags, sample.EncodingMono8, lossless},
		"palette":       {"semantic", pictureTagColors, sample.EncodingRGB8, anyFormat},
		"palette_bgra8": {"semantic", pictureWideTagColors, sample.EncodingBGRA8, anyFormat},
		outputCARLA:     {"semantic", pictureWideTags, sample.EncodingBGRA8, lossless},
		outputSVL:       {"semantic", pictureTagColors, sample.EncodingRGB8, anyFormat},
	},
	kindInstance: {
		outputCARLA: {"instance", pictureInstanceCodes, sample.EncodingBGRA8, lossless},
		outputSVL:   {"instance", pictureInstanceColors, sample.EncodingRGB8, anyFormat},
	},
	kindNormals: {"": {"normals", pictureNormals, sample.Encoding32FC3, nil}},
	kindFlow:    {"": {"flow", pictureFlow, sample.Encoding32FC2, nil}},
	kindDVS:     {"": {"luminance", pictureLuminance, sample.Encoding32SC1, nil}},
}

// idForms are those of instance ids, by the attribute encoding.
var idForms = map[string]form{
	sample.Encoding16UC1: {"instance", pictureInstances, sample.Encoding16UC1, lossless},
	sample.Encoding32SC1: {"instance", pictureWideInstances, sample.Encoding32SC1, nil},
}

// pixelBytes is the size of a pixel in each encoding.
var pixelBytes = map[string]int{
	sample.EncodingRGB8: 3, sample.EncodingBGR8: 3, sample.EncodingBGRA8: 4, sample.EncodingMono8: 1,
	sample.Encoding16UC1: 2, sample.Encoding32SC1: 4, sample.Encoding32FC1: 4, sample.Encoding32FC2: 8, sample.Encoding32FC3: 12,
}

// step returns the bytes of a row: padded to whole words, as the shader writes
// them.
func (o *options) step() int {
	return (o.lens.Width*pixelBytes[o.form.encoding] + 3) / 4 * 4
}
