package stream

import (
	"bytes"
	"fmt"
	"image"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// viewQuality is the quality of JPEG for pages, 1 to 100.
const viewQuality = 85

// pictureForm shows pictures: colours and grey as JPEG, values deflated. A page colours those by itself, and tells what is
// under the pointer.
type pictureForm struct {
	sensorType string
	jpeg       picture.JPEGEncoder
	deflater   *flate.Writer
	rows       []byte // of a picture that is deflated
	canvas     *image.RGBA
	shown      sample.CompressedImage
}

func newPictureForm(sensorType string) *pictureForm {
	return &pictureForm{sensorType: sensorType}
}

func (f *pictureForm) fresh() simtime.Stamped { return new(sample.Image) }

func (f *pictureForm) copy(dst, src simtime.Stamped) {
	sample.Copy(dst.(*sample.Image), src.(*sample.Image))
}

// show encodes a picture. It has no points.
func (f *pictureForm) show(m simtime.Stamped, _ bool) (shown simtime.Stamped, points uint32, err error) {
	src := m.(*sample.Image)
	kind, err := picture.KindOf(src, f.sensorType)
	if err != nil {
		return nil, 0, err
	}
	f.shown.Header = src.Header
	switch src.Encoding {
	case sample.EncodingRGB8:
		err = f.compress(src, 3, [3]int{0, 1, 2})
	case sample.EncodingBGR8:
		err = f.compress(src, 3, [3]int{2, 1, 0})
	case sample.EncodingBGRA8:
		err = f.compress(src, 4, [3]int{2, 1, 0})
	case sample.EncodingMono8:
		if kind.Smooth {
			err = f.compress(src, 1, [3]int{})
		} else { // tags
			err = f.deflate(src, kind.Bytes, src.Encoding, "")
		}
	case sample.EncodingMono16, sample.Encoding16UC1, sample.Encoding32SC1:
		err = f.deflate(src, kind.Bytes, src.Encoding, "")
	case sample.Encoding32FC1:
		err = f.depth(src)
	default: // vectors, in colours
		f.canvas = kind.Paint(f.canvas, src)
		painted := sample.Image{Width: src.Width, Height: src.Height, Step: f.canvas.Stride, Data: f.canvas.Pix}
		err = f.compress(&painted, 4, [3]int{0, 1, 2})
	}
	return &f.shown, 0, err
}

// compress encodes as JPEG what has pixels of so many bytes, with red, green and blue at these places.
func (f *pictureForm) compress(src *sample.Image, size int, rgb [3]int) (err error) {
	f.shown.Format = "jpeg"
	f.shown.Data, err = f.jpeg.Append(f.shown.Data[:0], &picture.Packed{
		Pixels: src.Data, Width: src.Width, Height: src.Height, Stride: src.Step, Size: size, Red: rgb[0], Green: rgb[1], Blue: rgb[2],
	}, viewQuality)
	return err
}

// deflate compresses pixels of so many bytes. The format says the encoding, the size and, where it has one, the unit.
func (f *pictureForm) deflate(src *sample.Image, size int, encoding, unit string) error {
	f.shown.Format = fmt.Sprintf("%s %dx%d%s; deflate", encoding, src.Width, src.Height, unit)
	out := bytes.NewBuffer(f.shown.Data[:0])
	if f.deflater == nil {
		f.deflater, _ = flate.NewWriter(out, flate.BestSpeed) // there is such a level
	} else {
		f.deflater.Reset(out)
	}
	for y := range src.Height {
		if _, err := f.deflater.Write(src.Data[y*src.Step:][:src.Width*size]); err != nil {
			return fmt.Errorf("deflate picture: %w", err)
		}
	}
	if err := f.deflater.Close(); err != nil {
		return fmt.Errorf("deflate picture: %w", err)
	}
	f.shown.Data = out.Bytes()
	return nil
}

const (
	// farthestShort is how many metres 16 bits hold in millimetres, beside the value for nothing in range.
	farthestShort = 65.534
	nothingShort  = math.MaxUint16
	// depthSteps is into how many parts a metre of other depths is rounded: they deflate well then.
	depthSteps = 2048
)

// depth shows metres: in millimetres of 16 bits where these hold them, else rounded to a part of one.
func (f *pictureForm) depth(src *sample.Image) error {
	farthest := float32(0)
	f.rows = f.rows[:0]
	for y := range src.Height {
		f.rows = append(f.rows, src.Data[y*src.Step:][:4*src.Width]...)
	}
	for i := 0; i < len(f.rows); i += 4 {
		if z := math.Float32frombits(le.Uint32(f.rows[i:])); z > farthest && z <= math.MaxFloat32 {
			farthest = z
		}
	}
	tight := sample.Image{Width: src.Width, Height: src.Height, Data: f.rows}
	if farthest <= farthestShort {
		for i, o := 0, 0; i < len(f.rows); i, o = i+4, o+2 {
			le.PutUint16(f.rows[o:], millimetres(math.Float32frombits(le.Uint32(f.rows[i:]))))
		}
		tight.Step = 2 * src.Width
		return f.deflate(&tight, 2, sample.Encoding16UC1, " mm")
	}
	for i := 0; i < len(f.rows); i += 4 {
		z := math.Float32frombits(le.Uint32(f.rows[i:]))
		if z-z == 0 {
			z = float32(math.RoundToEven(float64(z)*depthSteps)) / depthSteps
		}
		le.PutUint32(f.rows[i:], math.Float32bits(z))
	}
	tight.Step = 4 * src.Width
	return f.deflate(&tight, 4, sample.Encoding32FC1, "")
}

// millimetres returns a depth: 0 for what is too near or no number, nothingShort for nothing in range.
func millimetres(z float32) uint16 {
	switch {
	case math.IsInf(float64(z), 1):
		return nothingShort
	case !(z > 0):
		return 0
	default:
		return uint16(z*1000 + 0.5)
	}
}
