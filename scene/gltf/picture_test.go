package gltf_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pictured is a quad with one material that has a texture, as JSON, for its base colour.
func pictured(texture object, images ...object) *model {
	m := newModel()
	for _, im := range images {
		m.add("images", im)
	}
	return withMaterial(m, object{"name": "wall", "pbrMetallicRoughness": object{
		"baseColorTexture": object{"index": m.add("textures", texture), "texCoord": 5}, "baseColorFactor": list{0.5, 0.25, 1, 1}, "metallicFactor": 0,
	}})
}

// by is a texture whose picture only an extension gives.
func by(extension string) object {
	return object{"extensions": object{extension: object{"source": 0}}}
}

// A picture in a format that isn't read costs its material nothing but that picture.
func TestPicturesOfOtherFormatsAreLeftOut(t *testing.T) {
	const ktx2 = "\xabKTX 20\xbb\r\n\x1a\n"
	wall, own := object{"uri": "wall.bin"}, object{"source": 0}
	const convert = "convert the pictures to PNG or JPEG"
	for name, c := range map[string]struct {
		m       *model
		content string
		want    string
	}{
		"KTX2": {pictured(by("KHR_texture_basisu"), object{"uri": "absent/wall.ktx2", "mimeType": "image/ktx2"}), "",
			"KTX2 is not supported: materials have only their factors in place of 1 picture (wall.ktx2); " + convert + ", by gltf-transform ktxdecompress IN.glb OUT.glb for example"},
		"AVIF":            {pictured(by("EXT_texture_avif"), object{"name": "wall", "uri": "wall.bin"}), "", "AVIF is not supported: materials have only their factors in place of 1 picture (wall); " + convert},
		"DDS":             {pictured(by("MSFT_texture_dds"), wall), "", "DDS is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert},
		"KTX2 by content": {pictured(own, wall), ktx2, "KTX2 is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert + ", by gltf-transform ktxdecompress IN.glb OUT.glb for example"},
		"DDS by content":  {pictured(own, wall), "DDS |\x00\x00\x00", "DDS is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert},
		"AVIF by content": {pictured(own, wall), "\x00\x00\x00\x20ftypavif", "AVIF is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert},
		"BMP":             {pictured(own, wall), "BM\x36\x00\x00\x00", "BMP is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert},
		"moving WebP": {pictured(by("EXT_texture_webp"), wall), webpFile("VP8X", "\x02\x00\x00\x00\x0f\x00\x00\x0f\x00\x00", "ANIM", "\x00\x00\x00\x00\x00\x00", "ANMF", "xx"),
			"animated WebP is not supported: materials have only their factors in place of 1 picture (wall.bin); " + convert},
		"no source":         {pictured(object{}), "", "textures[0]: names no picture that is read: materials have only their factors in its place"},
		"unknown extension": {pictured(by("ACME_texture_fractal")), "", "textures[0]: names no picture that is read: materials have only their factors in its place"},
		"names none":        {pictured(object{"extensions": object{"KHR_texture_basisu": object{}}}), "", "textures[0]: names no picture that is read: materials have only their factors in its place"},
	} {
		c.m.doc["extensionsUsed"] = list{"KHR_texture_basisu", "EXT_texture_webp", "EXT_texture_avif", "MSFT_texture_dds"}
		c.m.doc["extensionsRequired"] = c.m.doc["extensionsUsed"]
		a, err := loadFiles(map[string][]byte{"m.glb": c.m.glb(), "wall.bin": []byte(c.content)}, gltf.Options{})
		require.NoError(t, err, name)
		checkAsset(t, a)
		assert.Equal(t, []string{c.want}, a.Warnings, name)
		assert.Empty(t, a.Textures, name)
		assert.Equal(t, []scene.Material{{
			Name: "wall", BaseColor: mgl32.Vec4{0.5, 0.25, 1, 1}, Roughness: 1, Reflectance: -1,
			BaseColorTexture: scene.NoTexture, MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture,
		}}, a.Materials, name)
	}

	// One in the place of a TGA's, which has no mark of its own.
	a, err := loadFiles(map[string][]byte{"m.glb": pictured(own, object{"uri": "Wall.TGA"}).glb(), "Wall.TGA": {0, 0, 2, 0}}, gltf.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"TGA is not supported: materials have only their factors in place of 1 picture (Wall.TGA); " + convert}, a.Warnings)
}

// Many pictures of a format are one warning, which names the first of them once each.
func TestPicturesThatAreLeftOutAreCounted(t *testing.T) {
	m := newModel()
	p := object{"POSITION": m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}), "TEXCOORD_0": m.accessor("VEC2", []float32{0, 0, 1, 0, 0, 1})}
	var primitives []object
	for _, uri := range []string{"a.ktx2", "b.ktx2", "c.ktx2", "b.ktx2", "d.ktx2", "e.ktx2", "f.ktx2", "g.ktx2"} {
		texture := m.add("textures", object{"extensions": object{"KHR_texture_basisu": object{"source": m.add("images", object{"uri": uri})}}})
		ref := object{"index": texture}
		primitives = append(primitives, object{"attributes": p, "material": m.add("materials", object{"emissiveTexture": ref,
			"pbrMetallicRoughness": object{"baseColorTexture": ref, "metallicRoughnessTexture": object{"index": texture, "texCoord": 1}}})})
	}
	texture := m.add("textures", object{"source": m.add("images", object{"uri": "h.dds"})})
	primitives = append(primitives, object{"attributes": p, "material": m.add("materials", object{"emissiveTexture": object{"index": texture}})})
	a, err := loadFiles(map[string][]byte{"m.glb": oneNode(m, m.mesh(primitives...)).glb(), "h.dds": []byte("DDS ")}, gltf.Options{})
	require.NoError(t, err)
	checkAsset(t, a)
	assert.Equal(t, []string{
		"KTX2 is not supported: materials have only their factors in place of 7 pictures (a.ktx2, b.ktx2, c.ktx2, d.ktx2, e.ktx2 and 2 more); " +
			"convert the pictures to PNG or JPEG, by gltf-transform ktxdecompress IN.glb OUT.glb for example",
		"DDS is not supported: materials have only their factors in place of 1 picture (h.dds); convert the pictures to PNG or JPEG",
	}, a.Warnings)
}

// A texture that has a picture in a format that is read, beside another, has that one.
func TestATextureHasThePictureThatIsRead(t *testing.T) {
	for name, texture := range map[string]object{
		"PNG and KTX2":  {"source": 1, "extensions": object{"KHR_texture_basisu": object{"source": 0}}},
		"WebP and KTX2": {"extensions": object{"KHR_texture_basisu": object{"source": 0}, "EXT_texture_webp": object{"source": 2}}},
	} {
		m := pictured(texture, object{"uri": "absent.ktx2"}, object{"uri": "lossless.png"}, object{"uri": "lossless.webp"})
		m.doc["extensionsUsed"] = list{"KHR_texture_basisu", "EXT_texture_webp"}
		files := map[string][]byte{"m.glb": m.glb(), "lossless.png": fixture(t, "lossless.png"), "lossless.webp": fixture(t, "lossless.webp")}
		a, err := loadFiles(files, gltf.Options{})
		require.NoError(t, err, name)
		require.Len(t, a.Textures, 1, name)
		assert.Equal(t, image.Rect(0, 0, 24, 16), a.Textures[0].Image.Rect)
		assert.Equal(t, []string{"meshes[0].primitives[0]: has a texture but no TEXCOORD_5: it takes the colour at the texture's origin"}, a.Warnings, name)
	}
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

// webpFile is a WebP file of chunks, each a name and a content.
func webpFile(chunks ...string) string {
	var b bytes.Buffer
	b.WriteString("WEBP")
	for i := 0; i < len(chunks); i += 2 {
		b.WriteString(chunks[i])
		_ = binary.Write(&b, binary.LittleEndian, uint32(len(chunks[i+1])))
		b.WriteString(chunks[i+1])
		if b.Len()%2 == 1 {
			b.WriteByte(0)
		}
	}
	return "RIFF" + string(packed(uint32(b.Len()))) + b.String()
}

// vp8x is a chunk of that name for a picture of 24x16 pixels.
func vp8x(flags byte) string { return string([]byte{flags, 0, 0, 0, 23, 0, 0, 15, 0, 0}) }

func loadWebP(data []byte, o gltf.Options) (*scene.Asset, error) {
	m := pictured(by("EXT_texture_webp"), object{"uri": "a.webp"})
	return loadFiles(map[string][]byte{"m.glb": m.glb(), "a.webp": data}, o)
}

// The pictures in testdata are cwebp's, of version 1.2.4. The wanted pixels are dwebp -nofancy's.
func TestWebP(t *testing.T) {
	lossless, lossy := string(fixture(t, "lossless.webp")), string(fixture(t, "lossy.webp"))
	for name, c := range map[string]struct {
		data      string
		reference string
		tolerance float64 // of 255, for the rounding of colours
	}{
		"lossless":                    {lossless, "lossless.png", 0},
		"lossy":                       {lossy, "lossy.png", 1},
		"lossy with alpha":            {string(fixture(t, "translucent.webp")), "translucent.png", 1},
		"lossless in a container":     {webpFile("VP8X", vp8x(0x30), "ICCP", "abc", "VP8L", lossless[20:]), "lossless.png", 0},
		"alpha is said and not there": {webpFile("VP8X", vp8x(0x10), "VP8 ", lossy[20:], "EXIF", "x"), "lossy.png", 1},
	} {
		a, err := loadWebP([]byte(c.data), gltf.Options{})
		require.NoError(t, err, name)
		checkAsset(t, a)
		require.Len(t, a.Textures, 1, name)
		want, err := png.Decode(bytes.NewReader(fixture(t, c.reference)))
		require.NoError(t, err)
		got := a.Textures[0].Image
		require.Equal(t, want.Bounds(), got.Rect, name)
		worst := 0.0
		for i, v := range got.Pix {
			c := color.NRGBAModel.Convert(want.At(i/4%24, i/4/24)).(color.NRGBA)
			worst = max(worst, math.Abs(float64([]uint8{c.R, c.G, c.B, c.A}[i%4])-float64(v)))
		}
		assert.LessOrEqual(t, worst, c.tolerance, name)
	}
}

// A WebP file that breaks its format is an error, as a broken PNG is.
func TestBrokenWebPIsRefused(t *testing.T) {
	lossless, lossy := string(fixture(t, "lossless.webp")), string(fixture(t, "lossy.webp"))
	wide := string([]byte{0x10, 0, 0, 0, 24, 0, 0, 15, 0, 0})
	for name, c := range map[string]struct{ data, want string }{
		"cut":            {lossy[:100], "images[0]: decode WebP: chunk \"VP8 \" says "},
		"no picture":     {webpFile("EXIF", "x"), "images[0]: decode WebP: it has no picture"},
		"another canvas": {webpFile("VP8X", wide, "VP8 ", lossy[20:]), "images[0]: decode WebP: the picture has 24x16 pixels, its canvas 25x16"},
		"short VP8X":     {webpFile("VP8X", "x", "VP8L", lossless[20:]), "images[0]: decode WebP: chunk \"VP8X\" has 1 byte, want 10"},
		"no VP8L":        {webpFile("VP8L", "xxxxxxxx"), "images[0]: read WebP header: vp8l: invalid header"},
		"no alpha":       {webpFile("VP8X", vp8x(0x10), "ALPH", "", "VP8 ", lossy[20:]), "images[0]: decode WebP: "},
	} {
		_, err := loadWebP([]byte(c.data), gltf.Options{})
		require.ErrorIs(t, err, gltf.ErrFormat, name)
		assert.ErrorContains(t, err, c.want, name)
	}
	_, err := loadWebP(fixture(t, "lossy.webp"), gltf.Options{Memory: memory.New(3000)})
	assert.ErrorIs(t, err, memory.ErrExceeded)
}

func FuzzWebP(f *testing.F) {
	for _, name := range []string{"lossy.webp", "lossless.webp", "translucent.webp"} {
		f.Add(fixture(f, name))
	}
	f.Add([]byte(webpFile("VP8X", vp8x(0x10), "ALPH", "\x00", "VP8L", "x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := loadWebP(data, gltf.Options{Memory: memory.New(32 << 20)})
		if err == nil {
			checkAsset(t, a)
		}
	})
}
