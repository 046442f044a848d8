package gltf

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// noMaterial stands for the specification's default material.
const noMaterial = -1

// uvMapping is how a material's textures are reached from a vertex.
type uvMapping struct {
	textured bool
	set      int // TEXCOORD_<set>
	// transform maps (u, v, 1) to the texture's coordinates (rows).
	transform [2][3]float64
}

var identityUV = [2][3]float64{{1, 0, 0}, {0, 1, 0}}

// material returns the asset's material for one of the document's.
func (l *loader) material(i int) (int, error) {
	if known, ok := l.materials[i]; ok {
		return known, nil
	}
	source := &gltf.Material{Name: "default"}
	if i != noMaterial {
		if err := checkIndex("materials", i, len(l.doc.Materials)); err != nil {
			return 0, err
		}
		source = l.doc.Materials[i]
	}
	m, uv, err := l.readMaterial(i, source)
	if err != nil {
		return 0, atItem("materials", i, err)
	}
	l.asset.Materials = append(l.asset.Materials, m)
	l.uvs = append(l.uvs, uv)
	l.materials[i] = len(l.asset.Materials) - 1
	return l.materials[i], nil
}

func (l *loader) readMaterial(i int, source *gltf.Material) (scene.Material, uvMapping, error) {
	m := scene.Material{
		Name: source.Name, BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1,
		DoubleSided: source.DoubleSided, Reflectance: -1,
	}
	if m.Name == "" {
		m.Name = fmt.Sprintf("material_%d", i)
	}
	if pbr := source.PBRMetallicRoughness; pbr != nil {
		for c, v := range pbr.BaseColorFactorOrDefault() {
			m.BaseColor[c] = unit(v)
		}
		m.Metallic, m.Roughness = unit(pbr.MetallicFactorOrDefault()), unit(pbr.RoughnessFactorOrDefault())
	}
	switch source.AlphaMode {
	case gltf.AlphaMask:
		// Above 1 nothing is there, however far above.
		m.AlphaMode, m.AlphaCutoff = scene.AlphaMask, float32(mgl64.Clamp(source.AlphaCutoffOrDefault(), 0, 2))
	case gltf.AlphaBlend:
		m.AlphaMode = scene.AlphaBlend
	}
	if err := readEmission(&m, source); err != nil {
		return m, uvMapping{}, err
	}
	if _, m.Unlit = source.Extensions[extUnlit]; m.Unlit {
		m.Metallic, m.Roughness = 0, 1 // for sensors that ask for them
	}
	if err := readExtras(&m, source.Extras); err != nil {
		return m, uvMapping{}, within("extras", err)
	}
	uv, err := l.readTextures(&m, i, source)
	return m, uv, err
}

// unit brings a factor into 0..1, where the specification wants it.
func unit(v float64) float32 { return float32(mgl64.Clamp(v, 0, 1)) }

func readEmission(m *scene.Material, source *gltf.Material) error {
	var strength struct {
		EmissiveStrength *float64 `json:"emissiveStrength"`
	}
	schema := object(optional("emissiveStrength", number))
	if _, err := extension(source.Extensions, extEmissiveStrength, schema, &strength); err != nil {
		return err
	}
	factor := 1.0
	if s := strength.EmissiveStrength; s != nil {
		if *s < 0 || !finite(*s) {
			return within("extensions."+extEmissiveStrength+".emissiveStrength", invalid("%v is out of range: want 0 or more", *s))
		}
		factor = *s
	}
	for c, v := range source.EmissiveFactor {
		m.Emissive[c] = float32(mgl64.Clamp(v, 0, 1) * factor)
	}
	return nil
}

// readExtras reads what glTF has no property for.
func readExtras(m *scene.Material, extras any) error {
	all, _ := extras.(map[string]any)
	if v, ok := all["lidar_reflectance"]; ok {
		r, isNumber := v.(float64)
		if !isNumber || r < 0 || r > 1 {
			return within("lidar_reflectance", invalid("%v is out of range: want a number from 0 to 1", v))
		}
		m.Reflectance = float32(r)
	}
	if v, ok := all["retroreflective"]; ok {
		retro, isBool := v.(bool)
		if !isBool {
			return within("retroreflective", invalid("want true or false"))
		}
		m.Retro = retro
	}
	m.Paint = strings.Contains(strings.ToLower(m.Name), "paint")
	if v, ok := all["paint"]; ok {
		paint, isBool := v.(bool)
		if !isBool {
			return within("paint", invalid("want true or false"))
		}
		m.Paint = paint
	}
	return readLamps(m, all["lamps"])
}

// lampNames are the lamps that a material's extras may name.
var lampNames = map[string]scene.Lamps{
	"head": scene.LampHead, "brake": scene.LampBrake, "left": scene.LampLeft, "right": scene.LampRight,
	"indicator": scene.LampLeft | scene.LampRight, "reverse": scene.LampReverse,
	"red": scene.LampRed, "yellow": scene.LampYellow, "green": scene.LampGreen,
}

// readLamps reads which lamps a material is: a list of names.
func readLamps(m *scene.Material, v any) error {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return within("lamps", invalid("want a list of lamps, such as [\"brake\"]"))
	}
	for _, x := range list {
		name, _ := x.(string)
		lamp, known := lampNames[name]
		if !known {
			return within("lamps", invalid("%v: %s", x, fault.Hint(name, slices.Sorted(maps.Keys(lampNames)))))
		}
		m.Lamps |= lamp
	}
	return nil
}

// readTextures reads a material's textures: base colour, emission, metallic-roughness. Vertices
// have the first one's texture coordinates, from which the others' follow.
func (l *loader) readTextures(m *scene.Material, i int, source *gltf.Material) (uvMapping, error) {
	var pbr gltf.PBRMetallicRoughness
	if source.PBRMetallicRoughness != nil {
		pbr = *source.PBRMetallicRoughness
	}
	var shared uvMapping
	for _, t := range []struct {
		place string
		info  *gltf.TextureInfo
		index *int
		own   *scene.UVTransform
	}{
		{"pbrMetallicRoughness.baseColorTexture", pbr.BaseColorTexture, &m.BaseColorTexture, nil},
		{"emissiveTexture", source.EmissiveTexture, &m.EmissiveTexture, &m.EmissiveUV},
		{"pbrMetallicRoughness.metallicRoughnessTexture", pbr.MetallicRoughnessTexture, &m.MetalRoughTexture, &m.MetalRoughUV},
	} {
		*t.index = scene.NoTexture
		if t.info == nil {
			continue
		}
		var err error
		if *t.index, err = l.texture(t.info.Index); err != nil {
			return shared, within(t.place, err)
		}
		uv, err := readUVMapping(t.info)
		switch {
		case err != nil:
			return shared, within(t.place, err)
		case !shared.textured:
			shared = uv
		case uv != shared:
			var ok bool
			if *t.own, ok = uv.after(&shared); !ok {
				l.warn(fmt.Sprintf("materials[%d].%s", i, t.place), "has its own texture coordinates: those of the material's first texture are used")
			}
		}
	}
	return shared, nil
}

func readUVMapping(info *gltf.TextureInfo) (uvMapping, error) {
	uv := uvMapping{textured: true, set: info.TexCoord, transform: identityUV}
	t := struct {
		Offset   [2]float64 `json:"offset"`
		Rotation float64    `json:"rotation"`
		Scale    [2]float64 `json:"scale"`
		TexCoord *int       `json:"texCoord"`
	}{Scale: [2]float64{1, 1}}
	schema := object(optional("offset", numbers(2)), optional("rotation", number),
		optional("scale", numbers(2)), optional("texCoord", indexValue))
	found, err := extension(info.Extensions, extTextureTransform, schema, &t)
	if err != nil || !found {
		return uv, err
	}
	if t.TexCoord != nil {
		uv.set = *t.TexCoord
	}
	// Scale, then turn counter-clockwise as seen in the picture (whose v
	// points down), then shift.
	sin, cos := math.Sincos(t.Rotation)
	uv.transform = [2][3]float64{
		{cos * t.Scale[0], sin * t.Scale[1], t.Offset[0]},
		{-sin * t.Scale[0], cos * t.Scale[1], t.Offset[1]},
	}
	return uv, nil
}

// after returns what leads from another mapping's coordinates to these. It returns false where
// nothing does: they are of another set, or the other mapping flattens them.
func (m *uvMapping) after(other *uvMapping) (t scene.UVTransform, ok bool) {
	a, b := m.transform, other.transform
	det := b[0][0]*b[1][1] - b[0][1]*b[1][0]
	if m.set != other.set || math.Abs(det) < 1e-12 {
		return t, false
	}
	for row := range 2 {
		u := (a[row][0]*b[1][1] - a[row][1]*b[1][0]) / det
		v := (a[row][1]*b[0][0] - a[row][0]*b[0][1]) / det
		shift := a[row][2] - u*b[0][2] - v*b[1][2]
		if !finite(u, v, shift) {
			return scene.UVTransform{}, false
		}
		t[row] = [3]float32{float32(u), float32(v), float32(shift)}
	}
	return t, true
}

// apply maps a vertex's coordinates to the texture's.
func (m *uvMapping) apply(u, v float32) mgl32.Vec2 {
	if m.transform == identityUV {
		return mgl32.Vec2{u, v}
	}
	var out mgl32.Vec2
	for row, t := range m.transform {
		out[row] = float32(t[0]*float64(u) + t[1]*float64(v) + t[2])
	}
	return out
}

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
