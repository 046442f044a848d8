package gltf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path"

	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/scene"
)

// Limits of pictures.
const (
	maxSide        = 16384
	maxPixels      = 1 << 26 // a picture
	maxTotalPixels = 1 << 28 // all of a model
	// maxPixelsPerByte is the most that PNG or JPEG can pack into a byte:
	// deflate's 1032:1, eight one-bit pixels a byte.
	maxPixelsPerByte = 8256
)

// picture is a decoded image; textures with different sampling share it.
type picture struct {
	name  string
	image *image.NRGBA
}

type textureKey struct {
	picture *picture
	sampler scene.Sampler
}

// texture returns the asset's texture for one of the document's.
func (l *loader) texture(i int) (int, error) {
	if err := checkIndex("textures", i, len(l.doc.Textures)); err != nil {
		return 0, err
	}
	t := l.doc.Textures[i]
	if name := extensionAmong(t.Extensions, pictureCompressions); t.Source == nil && name != "" {
		return 0, faultf(ErrUnsupported, "textures[%d] has its picture by %s alone, which is not supported: export it as PNG or JPEG", i, name)
	}
	if t.Source == nil {
		return 0, invalid("textures[%d] has no source: export its picture as PNG or JPEG", i)
	}
	p, err := l.picture(*t.Source)
	if err != nil {
		return 0, fmt.Errorf("textures[%d]: %w", i, err)
	}
	sampler, err := l.sampler(t)
	if err != nil {
		return 0, fmt.Errorf("textures[%d]: %w", i, err)
	}
	key := textureKey{p, sampler}
	if known, ok := l.textures[key]; ok {
		return known, nil
	}
	name := t.Name
	if name == "" {
		name = p.name
	}
	l.asset.Textures = append(l.asset.Textures, scene.Texture{Name: name, Image: p.image, Sampler: sampler})
	l.textures[key] = len(l.asset.Textures) - 1
	return l.textures[key], nil
}

// sampler reads how a texture is sampled. By default it is repeated and trilinear.
func (l *loader) sampler(t *gltf.Texture) (scene.Sampler, error) {
	if t.Sampler == nil {
		return scene.Sampler{}, nil
	}
	if err := checkIndex("samplers", *t.Sampler, len(l.doc.Samplers)); err != nil {
		return scene.Sampler{}, err
	}
	s := l.doc.Samplers[*t.Sampler]
	return scene.Sampler{WrapS: wraps[s.WrapS], WrapT: wraps[s.WrapT], Magnify: magnifications[s.MagFilter], Minify: minifications[s.MinFilter]}, nil
}

var (
	wraps = map[gltf.WrappingMode]scene.Wrap{
		gltf.WrapRepeat: scene.WrapRepeat, gltf.WrapClampToEdge: scene.WrapClamp, gltf.WrapMirroredRepeat: scene.WrapMirror,
	}
	magnifications = map[gltf.MagFilter]scene.Filter{gltf.MagLinear: scene.FilterLinear, gltf.MagNearest: scene.FilterNearest}
	minifications  = map[gltf.MinFilter]scene.Filter{
		gltf.MinLinear: scene.FilterLinear, gltf.MinNearest: scene.FilterNearest,
		gltf.MinLinearMipMapLinear: scene.FilterTrilinear, gltf.MinLinearMipMapNearest: scene.FilterLinearMipmapNearest,
		gltf.MinNearestMipMapLinear: scene.FilterNearestMipmapLinear, gltf.MinNearestMipMapNearest: scene.FilterNearestMipmapNearest,
	}
)

// picture decodes an image once, however often it is named.
func (l *loader) picture(i int) (*picture, error) {
	if err := checkIndex("images", i, len(l.doc.Images)); err != nil {
		return nil, err
	}
	im := l.doc.Images[i]
	key := "uri " + im.URI
	if im.URI == "" && im.BufferView != nil {
		key = fmt.Sprintf("view %d", *im.BufferView)
	}
	if p, ok := l.images[key]; ok {
		return p, nil
	}
	data, err := l.imageBytes(im)
	if err != nil {
		return nil, fmt.Errorf("images[%d]: %w", i, err)
	}
	decoded, err := l.decodePicture(data)
	if err != nil {
		return nil, fmt.Errorf("images[%d]: %w", i, err)
	}
	p := &picture{name: im.Name, image: decoded}
	if p.name == "" {
		p.name = fmt.Sprintf("image_%d", i)
		if name, err := localName(im.URI); err == nil {
			p.name = path.Base(name)
		}
	}
	l.images[key] = p
	return p, nil
}

func (l *loader) imageBytes(im *gltf.Image) ([]byte, error) {
	switch {
	case im.URI != "":
		return l.readURI(im.URI, maxFileBytes)
	case im.BufferView != nil:
		return l.view(*im.BufferView)
	}
	return nil, invalid("has neither uri nor bufferView")
}

// decodePicture decodes PNG or JPEG, whichever the bytes are, to 8-bit RGBA.
func (l *loader) decodePicture(data []byte) (*image.NRGBA, error) {
	configure, decode, kind := png.DecodeConfig, png.Decode, "PNG"
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
	case bytes.HasPrefix(data, []byte{0xff, 0xd8, 0xff}):
		configure, decode, kind = jpeg.DecodeConfig, jpeg.Decode, "JPEG"
	default:
		return nil, faultf(ErrUnsupported, "is %s: export it as PNG or JPEG", otherPicture(data))
	}
	c, err := configure(bytes.NewReader(data))
	if err != nil {
		return nil, invalid("read %s header: %w", kind, err)
	}
	if err := l.spendPixels(c.Width, c.Height, len(data)); err != nil {
		return nil, err
	}
	while := decoding(c)
	if err := l.memory.Take(fmt.Sprintf("picture of %dx%d pixels", c.Width, c.Height), 4*pixels(c)+while); err != nil {
		return nil, err
	}
	defer l.memory.Give(while)
	decoded, err := decode(&waited{l.ctx, bytes.NewReader(data)})
	if l.ctx.Err() != nil {
		return nil, l.ctx.Err()
	}
	if err != nil {
		return nil, invalid("decode %s: %w", kind, err)
	}
	return toNRGBA(decoded), nil
}

// otherPicture says what a picture is that is neither PNG nor JPEG.
func otherPicture(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xabKTX 20\xbb")):
		return "KTX2 (KHR_texture_basisu), which is not supported"
	case bytes.HasPrefix(data, []byte("RIFF")) && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "WebP (EXT_texture_webp), which is not supported"
	case bytes.HasPrefix(data, []byte("DDS ")):
		return "DDS (MSFT_texture_dds), which is not supported"
	}
	return fmt.Sprintf("neither PNG nor JPEG (it starts with %q)", data[:min(len(data), 8)])
}

func pixels(c image.Config) int64 { return int64(c.Width) * int64(c.Height) }

// decoding is how many bytes the decoder's own picture takes beside the 8-bit RGBA that is
// made of it: none where it is that already.
func decoding(c image.Config) int64 {
	switch c.ColorModel {
	case color.NRGBAModel, color.RGBAModel:
		return 0
	case color.GrayModel:
		return pixels(c)
	case color.Gray16Model:
		return 2 * pixels(c)
	case color.RGBA64Model, color.NRGBA64Model:
		return 8 * pixels(c)
	case color.YCbCrModel:
		return 3 * pixels(c)
	}
	if _, paletted := c.ColorModel.(color.Palette); paletted {
		return pixels(c)
	}
	return 4 * pixels(c)
}

func (l *loader) spendPixels(width, height, size int) error {
	pixels := int64(width) * int64(height)
	switch {
	case pixels <= 0:
		return invalid("picture has no pixels")
	case width > maxSide, height > maxSide, pixels > maxPixels:
		return faultf(ErrTooLarge, "picture has %dx%d pixels: at most %d a side and %d in all are read", width, height, maxSide, maxPixels)
	case pixels > maxPixelsPerByte*int64(size):
		return invalid("picture says %dx%d pixels, its %d bytes can't hold them", width, height, size)
	case pixels > l.pixels:
		return faultf(ErrTooLarge, "the model's pictures have more than %d pixels in all: make them smaller", maxTotalPixels)
	}
	l.pixels -= pixels
	return nil
}

// toNRGBA converts what the decoders return; colours keep their bytes, 16-bit
// channels their upper one.
func toNRGBA(src image.Image) *image.NRGBA {
	b := src.Bounds()
	switch n := src.(type) {
	case *image.NRGBA:
		if b.Min == (image.Point{}) && n.Stride == 4*b.Dx() {
			return n
		}
	case *image.RGBA: // the PNG decoder's type for pictures without alpha
		return &image.NRGBA{Pix: n.Pix, Stride: n.Stride, Rect: b.Sub(b.Min)}
	}
	dst := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	at := pixelReader(src)
	for y := range b.Dy() {
		row := dst.Pix[y*dst.Stride:]
		for x := range b.Dx() {
			c := at(b.Min.X+x, b.Min.Y+y)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, c.A
		}
	}
	return dst
}

func pixelReader(src image.Image) func(x, y int) color.NRGBA {
	switch src := src.(type) {
	case *image.Gray:
		return func(x, y int) color.NRGBA {
			v := src.GrayAt(x, y).Y
			return color.NRGBA{v, v, v, 255}
		}
	case *image.YCbCr:
		return func(x, y int) color.NRGBA {
			c := src.YCbCrAt(x, y)
			r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			return color.NRGBA{r, g, b, 255}
		}
	case *image.Paletted:
		var palette [256]color.NRGBA
		for i, c := range src.Palette {
			palette[i] = color.NRGBAModel.Convert(c).(color.NRGBA)
		}
		return func(x, y int) color.NRGBA { return palette[src.ColorIndexAt(x, y)] }
	case *image.NRGBA64:
		return func(x, y int) color.NRGBA {
			c := src.NRGBA64At(x, y)
			return color.NRGBA{uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8), uint8(c.A >> 8)}
		}
	}
	return func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(src.At(x, y)).(color.NRGBA) }
}
