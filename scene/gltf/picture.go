package gltf

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// Limits of pictures.
const (
	maxSide        = 16384
	maxPixels      = 1 << 26 // a picture
	maxTotalPixels = 1 << 28 // all of a model
	// maxPixelsPerByte is the most that PNG or JPEG can pack into a byte: deflate's 1032:1, eight
	// one-bit pixels a byte. WebP has no such bound.
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

// texture returns the asset's texture for one of the document's. It is scene.NoTexture where no
// picture of it is in a format that is read; a warning says so.
func (l *loader) texture(i int) (int, error) {
	if err := checkIndex("textures", i, len(l.doc.Textures)); err != nil {
		return 0, err
	}
	t := l.doc.Textures[i]
	p, err := l.pictureOf(i)
	if err != nil {
		return 0, fmt.Errorf("textures[%d]: %w", i, err)
	}
	if p == nil {
		return scene.NoTexture, nil
	}
	sampler, err := l.sampler(t)
	if err != nil {
		return 0, fmt.Errorf("textures[%d]: %w", i, err)
	}
	key := textureKey{p, sampler}
	if known, ok := l.textures[key]; ok {
		return known, nil
	}
	l.asset.Textures = append(l.asset.Textures, scene.Texture{Name: cmp.Or(t.Name, p.name), Image: p.image, Sampler: sampler})
	l.textures[key] = len(l.asset.Textures) - 1
	return l.textures[key], nil
}

// pictureOf returns a texture's own picture, or else the one that an extension gives it. It is nil
// where that is left out.
func (l *loader) pictureOf(i int) (*picture, error) {
	t := l.doc.Textures[i]
	if t.Source != nil {
		return l.picture(*t.Source)
	}
	if source, err := sourceBy(t, extWebP); source != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return l.picture(*source)
	}
	for k := range otherFormats {
		if otherFormats[k].extension == "" {
			continue
		}
		source, err := sourceBy(t, otherFormats[k].extension)
		if err != nil {
			return nil, err
		}
		if source != nil {
			return nil, l.skipPicture(*source, &otherFormats[k])
		}
	}
	l.warn(fmt.Sprintf("textures[%d]", i), "names no picture that is read: materials have only their factors in its place")
	return nil, nil
}

// sourceBy returns the image that an extension gives a texture, or nil for none.
func sourceBy(t *gltf.Texture, name string) (*int, error) {
	var by struct {
		Source *int `json:"source"`
	}
	_, err := extension(t.Extensions, name, object(optional("source", indexValue)), &by)
	return by.Source, err
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

// picture decodes an image once, however often it is named. It is nil for one that is left out.
func (l *loader) picture(i int) (*picture, error) {
	key, err := l.imageKey(i)
	if err != nil {
		return nil, err
	}
	if p, ok := l.images[key]; ok {
		return p, nil
	}
	im := l.doc.Images[i]
	data, err := l.imageBytes(im)
	if err != nil {
		return nil, fmt.Errorf("images[%d]: %w", i, err)
	}
	for k := range otherFormats {
		if otherFormats[k].is(data, im.URI) {
			return nil, l.skipPicture(i, &otherFormats[k])
		}
	}
	decoded, err := l.decodePicture(data)
	if err != nil {
		return nil, fmt.Errorf("images[%d]: %w", i, err)
	}
	l.images[key] = &picture{l.imageName(i), decoded}
	return l.images[key], nil
}

// imageKey is the same for images with the same bytes.
func (l *loader) imageKey(i int) (string, error) {
	if err := checkIndex("images", i, len(l.doc.Images)); err != nil {
		return "", err
	}
	im := l.doc.Images[i]
	if im.URI == "" && im.BufferView != nil {
		return fmt.Sprintf("view %d", *im.BufferView), nil
	}
	return "uri " + im.URI, nil
}

func (l *loader) imageName(i int) string {
	im := l.doc.Images[i]
	if im.Name != "" {
		return im.Name
	}
	if name, err := localName(im.URI); err == nil {
		return path.Base(name)
	}
	return fmt.Sprintf("image_%d", i)
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

// pictureFormat is how a picture is decoded.
type pictureFormat struct {
	name   string
	data   []byte // what config and decode read: the file or a part of it
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	most   int64 // pixels that the file's bytes may hold
}

// formatOf returns the format that the bytes of a picture are in.
func formatOf(data []byte) (pictureFormat, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return pictureFormat{"PNG", data, png.DecodeConfig, png.Decode, maxPixelsPerByte * int64(len(data))}, nil
	case bytes.HasPrefix(data, []byte{0xff, 0xd8, 0xff}):
		return pictureFormat{"JPEG", data, jpeg.DecodeConfig, jpeg.Decode, maxPixelsPerByte * int64(len(data))}, nil
	case isWebP(data):
		return webpFormat(data)
	}
	return pictureFormat{}, faultf(ErrUnsupported, "is neither PNG, JPEG nor WebP (it starts with %q): export it as PNG or JPEG", data[:min(len(data), 8)])
}

// decodePicture decodes a picture, in whatever format its bytes are, to 8-bit RGBA.
func (l *loader) decodePicture(data []byte) (*image.NRGBA, error) {
	f, err := formatOf(data)
	if err != nil {
		return nil, err
	}
	c, err := f.config(bytes.NewReader(f.data))
	if err != nil {
		return nil, invalid("read %s header: %w", f.name, err)
	}
	if err := l.spendPixels(c.Width, c.Height, f.most); err != nil {
		return nil, err
	}
	while := decoding(c)
	if err := l.memory.Take(fmt.Sprintf("picture of %dx%d pixels", c.Width, c.Height), 4*pixels(c)+while); err != nil {
		return nil, err
	}
	defer l.memory.Give(while)
	decoded, err := f.decode(&endingReader{l.ctx, bytes.NewReader(f.data)})
	if l.ctx.Err() != nil {
		return nil, l.ctx.Err()
	}
	if err != nil {
		return nil, invalid("decode %s: %w", f.name, err)
	}
	return toNRGBA(decoded), nil
}

// otherFormat is a format of pictures that isn't decoded. A picture in it is left out.
type otherFormat struct {
	name      string
	extension string // by which a texture has such a picture, or ""
	is        func(data []byte, uri string) bool
	convert   string // a command that makes PNG of it, or ""
}

var otherFormats = []otherFormat{
	{"KTX2", "KHR_texture_basisu", begins("\xabKTX 20\xbb"), "gltf-transform ktxdecompress IN.glb OUT.glb"},
	{"AVIF", "EXT_texture_avif", func(data []byte, _ string) bool { return len(data) >= 12 && string(data[4:12]) == "ftypavif" }, ""},
	{"DDS", "MSFT_texture_dds", begins("DDS "), ""},
	{"animated WebP", "", func(data []byte, _ string) bool { return isWebP(data) && animated(data) }, ""},
	{"KTX", "", begins("\xabKTX 11\xbb"), ""},
	{"BMP", "", begins("BM"), ""},
	{"GIF", "", begins("GIF8"), ""},
	{"TIFF", "", begins("II*\x00", "MM\x00*"), ""},
	{"PSD", "", begins("8BPS"), ""},
	{"OpenEXR", "", begins("\x76\x2f\x31\x01"), ""},
	{"Radiance HDR", "", begins("#?RADIANCE"), ""},
	{"TGA", "", func(data []byte, uri string) bool {
		return strings.EqualFold(path.Ext(uri), ".tga") && len(data) > 1 && data[1] <= 1 // with a palette or none
	}, ""},
}

// givesPictures reports whether an extension gives textures their pictures in a format that isn't decoded.
func givesPictures(extension string) bool {
	return slices.ContainsFunc(otherFormats, func(f otherFormat) bool { return extension != "" && f.extension == extension })
}

// begins is true of bytes that start with one of the marks.
func begins(marks ...string) func([]byte, string) bool {
	return func(data []byte, _ string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool { return bytes.HasPrefix(data, []byte(mark)) })
	}
}

// skipPicture notes a picture that is left out, once however often it is named.
func (l *loader) skipPicture(i int, f *otherFormat) error {
	key, err := l.imageKey(i)
	if err != nil {
		return err
	}
	if _, known := l.images[key]; !known {
		l.images[key] = nil
		l.skipped[f.name] = append(l.skipped[f.name], cut(l.imageName(i)))
	}
	return nil
}

// warnOfSkipped adds one warning for each format of the pictures that were left out.
func (l *loader) warnOfSkipped() {
	const most = 5 // that are named
	for _, f := range otherFormats {
		names := l.skipped[f.name]
		if len(names) == 0 {
			continue
		}
		list := strings.Join(names[:min(len(names), most)], ", ")
		if more := len(names) - most; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		by := ""
		if f.convert != "" {
			by = ", by " + f.convert + " for example"
		}
		l.warn("", "%s is not supported: materials have only their factors in place of %s (%s); convert the pictures to PNG or JPEG%s",
			f.name, fault.Count(len(names), "picture"), list, by)
	}
}

func pixels(c image.Config) int64 { return int64(c.Width) * int64(c.Height) }

// decoding is how many bytes the decoder's own picture takes beside the 8-bit RGBA that is
// made of it: none where it is that already.
func decoding(c image.Config) int64 {
	switch c.ColorModel {
	case color.NRGBAModel, color.RGBAModel:
		return 0
	case color.NYCbCrAModel:
		return 7 * pixels(c) // WebP's alpha is a picture of its own, of four bytes a pixel
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

// spendPixels takes a picture's pixels from what all may have. Its bytes hold at most so many.
func (l *loader) spendPixels(width, height int, most int64) error {
	pixels := int64(width) * int64(height)
	switch {
	case pixels <= 0:
		return invalid("picture has no pixels")
	case width > maxSide, height > maxSide, pixels > maxPixels:
		return faultf(ErrTooLarge, "picture has %dx%d pixels: at most %d a side and %d in all are read", width, height, maxSide, maxPixels)
	case pixels > most:
		return invalid("picture says %dx%d pixels, its bytes hold at most %d", width, height, most)
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
