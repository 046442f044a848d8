// Package picture shows sensors' images as people see them: depth, labels, ids,
// normals and optical flow in colours, compressed pictures unpacked. The window, the
// report and saved files use it. It also writes PNG and, for cameras, JPEG. Everything here may be
// called from any goroutine, except the encoders.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // compressed pictures
	"image/png"
	"math"
	"strings"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
)

// errImage says that an image can't be shown: its encoding isn't known, or its
// data doesn't have its size.
var errImage = errors.New("can't show this image")

// Kind is how the pixels of one encoding are read.
type Kind struct {
	// Bytes is the size of a pixel.
	Bytes int
	// paint writes the colours of a row's pixels as RGBA.
	paint func(out, row []byte)
	// Describe says what a pixel, which begins at the slice's first byte, means.
	Describe func(pixel []byte) string
	// Smooth allows neighbouring pixels to be mixed; labels don't mix.
	Smooth bool
	// Legend says what the colours mean, "" where they are those of the picture itself.
	Legend string
}

// tagKind is a semantic camera's mono8: one tag a pixel.
var tagKind = Kind{1, each(1, func(p []byte) color.RGBA {
	return color.RGBA(scene.Tag(p[0]).Color()) // opaque, so alike in both models
}), func(p []byte) string { return scene.Tag(p[0]).String() }, false, "semantic tags in CityScapes colours"}

var pixelKinds = map[string]Kind{
	sample.EncodingRGB8:   {3, channels(3, 0, 1, 2), describeBytes, true, ""},
	sample.EncodingBGR8:   {3, channels(3, 2, 1, 0), describeBytes, true, ""},
	sample.EncodingBGRA8:  {4, channels(4, 2, 1, 0), describeBytes, true, ""},
	sample.EncodingMono8:  {1, channels(1, 0, 0, 0), describeBytes, true, ""},
	sample.EncodingMono16: {2, channels(2, 1, 1, 1), describeValue16, true, ""},
	sample.Encoding16UC1:  {2, each(2, func(p []byte) color.RGBA { return IDColor(uint32(binary.LittleEndian.Uint16(p))) }), describeID16, false, "a colour for each actor"},
	sample.Encoding32SC1:  {4, each(4, func(p []byte) color.RGBA { return IDColor(binary.LittleEndian.Uint32(p)) }), describeID32, false, "a colour for each actor"},
	sample.Encoding32FC1:  {4, each(4, func(p []byte) color.RGBA { return depthColor(float(p)) }), describeDepth, true, "depth in metres, bright is near"},
	sample.Encoding32FC3: {12, each(12, func(p []byte) color.RGBA {
		return normalColor(float(p), float(p[4:]), float(p[8:]))
	}), describeNormal, true, "normals as colours"},
	sample.Encoding32FC2: {8, each(8, func(p []byte) color.RGBA { return flowColor(float(p), float(p[4:])) }), describeFlow, true, "optical flow, red to the right, strong is fast"},
}

// channels paints pixels of a size whose bytes are colours.
func channels(size, r, g, b int) func(out, row []byte) {
	return func(out, row []byte) {
		for len(out) >= 4 && len(row) >= size {
			out[0], out[1], out[2], out[3] = row[r], row[g], row[b], 255
			out, row = out[4:], row[size:]
		}
	}
}

// each paints pixels of a size whose colour is worked out. Pixels equal to the
// one before, most of a label image, are worked out once.
func each(size int, colorOf func(pixel []byte) color.RGBA) func(out, row []byte) {
	return func(out, row []byte) {
		var before []byte
		var c color.RGBA
		for len(out) >= 4 && len(row) >= size {
			if !bytes.Equal(row[:size], before) {
				before, c = row[:size], colorOf(row)
			}
			out[0], out[1], out[2], out[3] = c.R, c.G, c.B, 255
			out, row = out[4:], row[size:]
		}
	}
}

func float(p []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(p)) }

// halfDepth is the distance in metres in the middle of the depth colours.
const halfDepth = 12

// depthColor spreads the near distances and squeezes the far ones; what is out
// of range (REP-117) is dark.
func depthColor(metres float32) color.RGBA {
	switch z := float64(metres); {
	case math.IsInf(z, 1):
		return color.RGBA{0x0c, 0x0e, 0x16, 255}
	case math.IsNaN(z), math.IsInf(z, -1), z < 0:
		return color.RGBA{0x38, 0x10, 0x18, 255}
	default:
		return DepthRamp.At(z / (z + halfDepth))
	}
}

func normalColor(x, y, z float32) color.RGBA {
	if x != x {
		return color.RGBA{0x0c, 0x0e, 0x16, 255}
	}
	to := func(v float32) uint8 { return uint8(max(0, min(255, v*127.5+127.5))) }
	// The optical frame's y and z point down and away. They are turned, so that surfaces that
	// face up are green and those that face the camera blue.
	return color.RGBA{to(x), to(-y), to(-z), 255}
}

// halfFlow is the movement, in widths and heights of the picture, that has half of
// its direction's colour.
const halfFlow = 0.01

// flowColor is the colour wheel of optical flow. The hue is where a pixel moves to, red for the
// right, and it is the stronger the faster. What stands still is white.
func flowColor(x, y float32) color.RGBA {
	length := math.Hypot(float64(x), float64(y))
	if math.IsNaN(length) {
		return color.RGBA{0x0c, 0x0e, 0x16, 255}
	}
	strength := 1.0
	if !math.IsInf(length, 0) {
		strength = length / (length + halfFlow)
	}
	turn := math.Atan2(float64(-y), float64(x)) / (2 * math.Pi) // y points down
	rgb := hue(turn - math.Floor(turn))
	for i := range rgb {
		rgb[i] = 255 * (1 - strength*(1-rgb[i]))
	}
	return color.RGBA{uint8(rgb[0]), uint8(rgb[1]), uint8(rgb[2]), 255}
}

func describeFlow(p []byte) string {
	return fmt.Sprintf("%+.4f %+.4f of the picture", float(p), float(p[4:]))
}

func describeBytes(p []byte) string { return strings.Trim(fmt.Sprint(p), "[]") }

func describeValue16(p []byte) string { return fmt.Sprint(binary.LittleEndian.Uint16(p)) }

func describeID16(p []byte) string { return fmt.Sprint("id ", binary.LittleEndian.Uint16(p)) }

func describeID32(p []byte) string { return fmt.Sprint("id ", binary.LittleEndian.Uint32(p)) }

func describeDepth(p []byte) string { return fmt.Sprintf("%.2f m", float(p)) }

func describeNormal(p []byte) string {
	return fmt.Sprintf("%+.2f %+.2f %+.2f", float(p), float(p[4:]), float(p[8:]))
}

// labelIDs begin the ids of the cameras whose mono8 means semantic tags.
const labelIDs = "sensor.camera.semantic"

// KindOf returns how the pixels of an image are read. The id of the type of sensor that took it, "" where that isn't
// known, tells semantic tags from grey.
// Errors wrap errImage.
func KindOf(m *sample.Image, typeID string) (Kind, error) {
	if strings.HasPrefix(typeID, labelIDs) && m.Encoding == sample.EncodingMono8 {
		return tagKind, checkImage(m, 1)
	}
	kind, ok := pixelKinds[m.Encoding]
	if !ok {
		return kind, fmt.Errorf("%w: unknown encoding %q", errImage, m.Encoding)
	}
	return kind, checkImage(m, kind.Bytes)
}

func checkImage(m *sample.Image, pixelBytes int) error {
	if m.Width <= 0 || m.Height <= 0 || m.Step < m.Width*pixelBytes || m.Height > len(m.Data)/m.Step {
		return fmt.Errorf("%w: %d bytes in rows of %d are no %dx%d %s", errImage, len(m.Data), m.Step, m.Width, m.Height, m.Encoding)
	}
	return nil
}

// Paint returns the image in colours, in dst where that has the size; dst may
// be nil.
func (k *Kind) Paint(dst *image.RGBA, m *sample.Image) *image.RGBA {
	if dst == nil || dst.Rect.Dx() != m.Width || dst.Rect.Dy() != m.Height {
		dst = image.NewRGBA(image.Rect(0, 0, m.Width, m.Height))
	}
	for y := range m.Height {
		row := m.Data[y*m.Step:][:m.Width*k.Bytes]
		k.paint(dst.Pix[y*dst.Stride:][:4*m.Width], row)
	}
	return dst
}

// PNGEncoder writes images as people see them. It is quick rather than thorough, since pictures come many a second.
// The zero value is ready. One goroutine at a time may use it.
type PNGEncoder struct{ canvas *image.RGBA }

var quickly = png.Encoder{CompressionLevel: png.BestSpeed}

// Append appends the image as a PNG file to dst; see KindOf for its sensor's type. Errors wrap errImage.
func (e *PNGEncoder) Append(dst []byte, m *sample.Image, typeID string) ([]byte, error) {
	kind, err := KindOf(m, typeID)
	if err != nil {
		return dst, err
	}
	e.canvas = kind.Paint(e.canvas, m)
	out := bytes.NewBuffer(dst)
	if err := quickly.Encode(out, e.canvas); err != nil {
		return dst, fmt.Errorf("%w: %w", errImage, err)
	}
	return out.Bytes(), nil
}

// Decode unpacks a compressed picture; tags and ids keep their values. Errors
// wrap errImage.
func Decode(m *sample.CompressedImage) (*sample.Image, error) {
	decoded, _, err := image.Decode(bytes.NewReader(m.Data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errImage, err)
	}
	size := decoded.Bounds().Size()
	out := &sample.Image{Header: m.Header, Width: size.X, Height: size.Y}
	switch p := decoded.(type) {
	case *image.Gray:
		out.Encoding, out.Step, out.Data = sample.EncodingMono8, p.Stride, p.Pix
	case *image.Gray16:
		out.Encoding, out.Step, out.Data = sample.Encoding16UC1, p.Stride, p.Pix
		for i := 0; i+1 < len(p.Pix); i += 2 { // PNG is big endian, images are little
			p.Pix[i], p.Pix[i+1] = p.Pix[i+1], p.Pix[i]
		}
	default:
		out.Encoding, out.Step = sample.EncodingRGB8, 3*size.X
		out.Data = make([]byte, 0, out.Step*size.Y)
		for y := range size.Y {
			for x := range size.X {
				r, g, b, _ := decoded.At(decoded.Bounds().Min.X+x, decoded.Bounds().Min.Y+y).RGBA()
				out.Data = append(out.Data, byte(r>>8), byte(g>>8), byte(b>>8))
			}
		}
	}
	return out, nil
}

// ramp is a scale of colours for a value from 0 to 1.
type ramp [256]color.RGBA

// newRamp spreads colours evenly and mixes between them.
func newRamp(stops ...color.RGBA) *ramp {
	var r ramp
	for i := range r {
		at := float64(i) / 255 * float64(len(stops)-1)
		k := min(int(at), len(stops)-2)
		a, b, t := stops[k], stops[k+1], at-float64(k)
		mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x)*(1-t) + float64(y)*t)) }
		r[i] = color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	}
	return &r
}

// At returns the colour of a value; values beyond the ends have the ends'.
func (r *ramp) At(value float64) color.RGBA {
	return r[max(0, min(255, int(value*256)))]
}

// Scales for clouds and depth.
var (
	// HeightRamp goes from the ground's blue to the roofs' red.
	HeightRamp = newRamp(
		color.RGBA{0x34, 0x4b, 0xb8, 255}, color.RGBA{0x2c, 0x8f, 0xdd, 255}, color.RGBA{0x2c, 0xc6, 0xb8, 255},
		color.RGBA{0x8a, 0xd9, 0x4e, 255}, color.RGBA{0xf3, 0xd0, 0x3c, 255}, color.RGBA{0xf0, 0x7b, 0x32, 255},
		color.RGBA{0xdc, 0x3f, 0x48, 255},
	)
	// IntensityRamp goes from dull to bright.
	IntensityRamp = newRamp(
		color.RGBA{0x46, 0x32, 0x8c, 255}, color.RGBA{0x8c, 0x36, 0x97, 255}, color.RGBA{0xd0, 0x47, 0x77, 255},
		color.RGBA{0xf3, 0x82, 0x53, 255}, color.RGBA{0xfb, 0xcf, 0x62, 255}, color.RGBA{0xfd, 0xfb, 0xd6, 255},
	)
	// DepthRamp goes from near, warm and bright, to far, dark.
	DepthRamp = newRamp(
		color.RGBA{0xfd, 0xee, 0xa8, 255}, color.RGBA{0xf6, 0xb0, 0x5b, 255}, color.RGBA{0xe0, 0x6a, 0x5c, 255},
		color.RGBA{0x9b, 0x45, 0x86, 255}, color.RGBA{0x51, 0x38, 0x86, 255}, color.RGBA{0x1c, 0x23, 0x4d, 255},
	)
)

// IDColor gives neighbouring ids hues far apart (the golden ratio's multiples,
// which spread evenly for any count); 0 is black.
func IDColor(id uint32) color.RGBA {
	if id == 0 {
		return color.RGBA{A: 255}
	}
	rgb := hue(math.Mod(float64(id)*0.6180339887498949, 1))
	value := 0.65 + 0.35*math.Mod(float64(id)*0.7548776662466927, 1)
	for i, x := range rgb {
		rgb[i] = value * (0.15 + 0.85*x) * 255
	}
	return color.RGBA{uint8(rgb[0]), uint8(rgb[1]), uint8(rgb[2]), 255}
}

// hue returns the pure colour of a place on the colour wheel, 0..1 from red over green.
func hue(turn float64) [3]float64 {
	h := 6 * turn
	rgb := [3]float64{math.Abs(h-3) - 1, 2 - math.Abs(h-2), 2 - math.Abs(h-4)}
	for i, x := range rgb {
		rgb[i] = max(0, min(1, x))
	}
	return rgb
}
