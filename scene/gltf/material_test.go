package gltf_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/gltf"
	"github.com/raybridge/raybridge/world"
)

// checker is a 2x2 picture: red, half-clear green; blue, white.
func checker() *image.NRGBA {
	im := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	im.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	im.SetNRGBA(1, 0, color.NRGBA{0, 255, 0, 128})
	im.SetNRGBA(0, 1, color.NRGBA{0, 0, 255, 255})
	im.SetNRGBA(1, 1, color.NRGBA{255, 255, 255, 255})
	return im
}

func pngOf(im image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func jpegOf(im image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func pngURI(im image.Image) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(pngOf(im))
}

// texturedMaterial appends a material with a base colour texture; info joins
// the reference to it.
func texturedMaterial(m *model, info object) int {
	image := m.add("images", object{"uri": pngURI(checker())})
	ref := object{"index": m.add("textures", object{"source": image})}
	for k, v := range info {
		ref[k] = v
	}
	return m.add("materials", object{"name": "textured", "pbrMetallicRoughness": object{"baseColorTexture": ref}})
}

// withMaterial is a textured quad with a material's JSON.
func withMaterial(m *model, material object) *model {
	p := object{"material": m.add("materials", material), "attributes": object{
		"POSITION":   m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0}),
		"TEXCOORD_0": m.accessor("VEC2", []float32{0, 0, 1, 0, 0, 1}),
		"TEXCOORD_1": m.accessor("VEC2", []float32{0.5, 0.5, 0.25, 0.5, 0.5, 0.25}),
	}}
	return oneNode(m, m.mesh(p))
}

func TestMaterialFactors(t *testing.T) {
	for _, c := range []struct {
		json object
		want scene.Material
	}{
		{object{}, scene.Material{Name: "material_0", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1, Reflectance: -1}},
		{
			object{
				"name": "all", "doubleSided": true, "alphaMode": "MASK", "alphaCutoff": 0.25, "emissiveFactor": list{0.5, 0, 2},
				"pbrMetallicRoughness": object{"baseColorFactor": list{0.5, 0.25, 1, 0.75}, "metallicFactor": 0, "roughnessFactor": 0.5},
				"extras":               object{"lidar_reflectance": 0.75, "retroreflective": true, "lamps": list{"brake", "indicator"}, "paint": true, "other": "x"},
			},
			scene.Material{
				Name: "all", BaseColor: mgl32.Vec4{0.5, 0.25, 1, 0.75}, Metallic: 0, Roughness: 0.5, DoubleSided: true, Reflectance: 0.75,
				Retro: true, Paint: true, Lamps: world.LightBrake | world.LightLeft | world.LightRight, AlphaMode: scene.AlphaMask, AlphaCutoff: 0.25, Emissive: mgl32.Vec3{0.5, 0, 1},
			},
		},
		{
			object{"name": "blend", "alphaMode": "BLEND"},
			scene.Material{Name: "blend", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1, Reflectance: -1, AlphaMode: scene.AlphaBlend},
		},
		{object{"name": "CarPaint_red"}, scene.Material{Name: "CarPaint_red", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1, Reflectance: -1, Paint: true}},
		{
			object{"name": "painted wall", "extras": object{"paint": false}},
			scene.Material{Name: "painted wall", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1, Reflectance: -1},
		},
		{
			object{"name": "mask", "alphaMode": "MASK"},
			scene.Material{Name: "mask", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1, Reflectance: -1, AlphaMode: scene.AlphaMask, AlphaCutoff: 0.5},
		},
		{
			object{"name": "lamp", "emissiveFactor": list{1, 0.5, 0}, "extensions": object{
				"KHR_materials_emissive_strength": object{"emissiveStrength": 4}, "KHR_materials_unlit": object{}, "VENDOR_x": object{}}},
			scene.Material{Name: "lamp", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Roughness: 1, Unlit: true, Reflectance: -1, Emissive: mgl32.Vec3{4, 2, 0}},
		},
	} {
		a := withMaterial(newModel(), c.json).load(t, gltf.Options{})
		checkAsset(t, a)
		c.want.BaseColorTexture, c.want.MetalRoughTexture, c.want.EmissiveTexture = scene.NoTexture, scene.NoTexture, scene.NoTexture
		assert.Equal(t, []scene.Material{c.want}, a.Materials)
	}
}

// Pictures from a file, a data URI and a buffer view, in either format.
func TestTextureSources(t *testing.T) {
	red := image.NewNRGBA(image.Rect(0, 0, 16, 8))
	for i := range red.Pix {
		red.Pix[i] = []byte{200, 30, 40, 255}[i%4]
	}
	for name, c := range map[string]struct {
		image func(m *model) object
		want  image.Image
	}{
		"png file":     {func(*model) object { return object{"uri": "tex/check%20er.png"} }, checker()},
		"jpeg file":    {func(*model) object { return object{"uri": "red.jpg", "mimeType": "image/png"} }, red},
		"png data URI": {func(*model) object { return object{"uri": pngURI(checker())} }, checker()},
		"png buffer view": {func(m *model) object {
			return object{"bufferView": m.view(pngOf(checker()), nil), "mimeType": "image/png"}
		}, checker()},
		"jpeg in a view": {func(m *model) object { return object{"bufferView": m.view(jpegOf(red), nil), "mimeType": "image/jpeg"} }, red},
	} {
		m := newModel()
		texture := m.add("textures", object{"source": m.add("images", c.image(m))})
		withMaterial(m, object{"pbrMetallicRoughness": object{"baseColorTexture": object{"index": texture}}})
		a, err := loadFiles(map[string][]byte{"m.glb": m.glb(), "tex/check er.png": pngOf(checker()), "red.jpg": jpegOf(red)}, gltf.Options{})
		require.NoError(t, err, name)
		checkAsset(t, a)
		require.Len(t, a.Textures, 1)
		got := a.Textures[0].Image
		require.Equal(t, c.want.Bounds(), got.Bounds(), name)
		tolerance := 0.0
		if c.want == red {
			tolerance = 4 // JPEG's loss on a plain colour
		}
		for i, v := range c.want.(*image.NRGBA).Pix {
			assert.InDelta(t, float64(v), float64(got.Pix[i]), tolerance, "%s, byte %d", name, i)
		}
	}
}

// Every colour model that the decoders return becomes 8-bit RGBA.
func TestPictureColorModels(t *testing.T) {
	r := image.Rect(0, 0, 3, 2)
	gray, gray16, palette := image.NewGray(r), image.NewGray16(r), image.NewPaletted(r, color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{200, 100, 50, 128}})
	deep, opaque := image.NewNRGBA64(r), image.NewRGBA(r)
	for i := range 6 {
		x, y := i%3, i/3
		gray.SetGray(x, y, color.Gray{uint8(40 * i)})
		gray16.SetGray16(x, y, color.Gray16{uint16(0x2801 * i)})
		palette.SetColorIndex(x, y, uint8(i%2))
		deep.SetNRGBA64(x, y, color.NRGBA64{uint16(0x2801 * i), 0x8000, 0x1234, uint16(0xff00 - 0x2000*i)})
		opaque.SetRGBA(x, y, color.RGBA{uint8(40 * i), 5, 6, 255})
	}
	for name, c := range map[string]struct {
		im   image.Image
		want func(i int) color.NRGBA
	}{
		"gray":     {gray, func(i int) color.NRGBA { v := uint8(40 * i); return color.NRGBA{v, v, v, 255} }},
		"gray16":   {gray16, func(i int) color.NRGBA { v := uint8(40 * i); return color.NRGBA{v, v, v, 255} }},
		"palette":  {palette, func(i int) color.NRGBA { return palette.Palette[i%2].(color.NRGBA) }},
		"16-bit":   {deep, func(i int) color.NRGBA { return color.NRGBA{uint8(40 * i), 0x80, 0x12, uint8(0xff - 0x20*i)} }},
		"no alpha": {opaque, func(i int) color.NRGBA { return color.NRGBA{uint8(40 * i), 5, 6, 255} }},
	} {
		m := newModel()
		texture := m.add("textures", object{"source": m.add("images", object{"uri": pngURI(c.im)})})
		a := withMaterial(m, object{"emissiveTexture": object{"index": texture}}).load(t, gltf.Options{})
		require.Len(t, a.Textures, 1)
		assert.Zero(t, a.Materials[0].EmissiveTexture)
		for i := range 6 {
			assert.Equal(t, c.want(i), a.Textures[0].Image.NRGBAAt(i%3, i/3), "%s, pixel %d", name, i)
		}
	}
}

func TestTexturesAreShared(t *testing.T) {
	m := newModel()
	im := m.add("images", object{"name": "bricks", "uri": "a.png"})
	again := m.add("images", object{"uri": "a.png"})
	m.doc["samplers"] = list{object{}, object{"wrapS": 33071, "wrapT": 33071}, object{"wrapS": 33648, "wrapT": 10497, "magFilter": 9728}}
	var refs []object
	for _, texture := range []object{{"source": im}, {"source": again, "sampler": 0}, {"source": im, "sampler": 1, "name": "clamped"}, {"source": im, "sampler": 2}} {
		refs = append(refs, object{"index": m.add("textures", texture)})
	}
	p := func(material object) object {
		return object{"material": m.add("materials", material), "attributes": object{"POSITION": 0, "TEXCOORD_0": 1}}
	}
	m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})
	m.accessor("VEC2", []float32{0, 0, 1, 0, 0, 1})
	oneNode(m, m.mesh(
		p(object{"pbrMetallicRoughness": object{"baseColorTexture": refs[0], "metallicRoughnessTexture": refs[2]}}),
		p(object{"pbrMetallicRoughness": object{"baseColorTexture": refs[1]}, "emissiveTexture": refs[3]})))
	a, err := loadFiles(map[string][]byte{"m.gltf": m.embedded(), "a.png": pngOf(checker())}, gltf.Options{})
	require.NoError(t, err)
	checkAsset(t, a)
	require.Len(t, a.Textures, 3)
	names, samplers := []string{}, []scene.Sampler{}
	for _, tex := range a.Textures {
		names, samplers = append(names, tex.Name), append(samplers, tex.Sampler)
		assert.Same(t, a.Textures[0].Image, tex.Image)
	}
	assert.Equal(t, []string{"bricks", "clamped", "bricks"}, names)
	assert.Equal(t, []scene.Sampler{{}, {WrapS: scene.WrapClamp, WrapT: scene.WrapClamp}, {WrapS: scene.WrapMirror, Magnify: scene.FilterNearest}}, samplers)
	assert.Equal(t, 0, a.Materials[1].BaseColorTexture)
	assert.Equal(t, 1, a.Materials[0].MetalRoughTexture)
	assert.Equal(t, 2, a.Materials[1].EmissiveTexture)
	assert.Empty(t, a.Warnings)
}

// A sampler's numbers are OpenGL's (glTF 2.0, section 5.26).
func TestSamplers(t *testing.T) {
	for name, c := range map[string]struct {
		sampler object
		want    scene.Sampler
	}{
		"nothing said":           {object{}, scene.Sampler{}},
		"repeat":                 {object{"wrapS": 10497, "wrapT": 10497}, scene.Sampler{}},
		"along u":                {object{"wrapS": 33071}, scene.Sampler{WrapS: scene.WrapClamp}},
		"along v":                {object{"wrapT": 33648}, scene.Sampler{WrapT: scene.WrapMirror}},
		"both":                   {object{"wrapS": 33648, "wrapT": 33071}, scene.Sampler{WrapS: scene.WrapMirror, WrapT: scene.WrapClamp}},
		"nearest":                {object{"magFilter": 9728, "minFilter": 9728}, scene.Sampler{Magnify: scene.FilterNearest, Minify: scene.FilterNearest}},
		"linear":                 {object{"magFilter": 9729, "minFilter": 9729}, scene.Sampler{Magnify: scene.FilterLinear, Minify: scene.FilterLinear}},
		"nearest, nearest level": {object{"minFilter": 9984}, scene.Sampler{Minify: scene.FilterNearestMipmapNearest}},
		"linear, nearest level":  {object{"minFilter": 9985}, scene.Sampler{Minify: scene.FilterLinearMipmapNearest}},
		"nearest, two levels":    {object{"minFilter": 9986}, scene.Sampler{Minify: scene.FilterNearestMipmapLinear}},
		"trilinear":              {object{"minFilter": 9987}, scene.Sampler{}},
	} {
		m := newModel()
		m.doc["samplers"] = list{c.sampler}
		index := m.add("textures", object{"source": m.add("images", object{"uri": "a.png"}), "sampler": 0})
		m.accessor("VEC3", []float32{0, 0, 0, 1, 0, 0, 0, 1, 0})
		material := m.add("materials", object{"pbrMetallicRoughness": object{"baseColorTexture": object{"index": index}}})
		oneNode(m, m.mesh(object{"material": material, "attributes": object{"POSITION": 0}}))
		a, err := loadFiles(map[string][]byte{"m.gltf": m.embedded(), "a.png": pngOf(checker())}, gltf.Options{})
		require.NoError(t, err, name)
		require.Len(t, a.Textures, 1, name)
		assert.Equal(t, c.want, a.Textures[0].Sampler, name)
	}
}

func TestTextureCoordinateSets(t *testing.T) {
	load := func(info object) *scene.Asset {
		m := newModel()
		image := m.add("images", object{"uri": pngURI(checker())})
		info["index"] = m.add("textures", object{"source": image})
		return withMaterial(m, object{"pbrMetallicRoughness": object{"baseColorTexture": info}}).load(t, gltf.Options{})
	}
	transform := func(t object) object { return object{"KHR_texture_transform": t} }

	a := load(object{"texCoord": 1})
	assert.Equal(t, []mgl32.Vec2{{0.5, 0.5}, {0.25, 0.5}, {0.5, 0.25}}, a.Meshes[0].UVs)

	a = load(object{"texCoord": 1, "extensions": transform(object{"texCoord": 0, "offset": list{0.25, 0.5}, "scale": list{2, -1}})})
	assert.Equal(t, []mgl32.Vec2{{0.25, 0.5}, {2.25, 0.5}, {0.25, -0.5}}, a.Meshes[0].UVs)

	// The extension's own example: the lower left quadrant, turned by 90°.
	a = load(object{"extensions": transform(object{"offset": list{0, 1}, "rotation": math.Pi / 2, "scale": list{0.5, 0.5}})})
	for i, want := range []mgl32.Vec2{{0, 1}, {0, 0.5}, {0.5, 1}} {
		assert.InDeltaSlice(t, want[:], a.Meshes[0].UVs[i][:], 1e-6)
	}

	a = load(object{"texCoord": 3})
	assert.Equal(t, []string{"meshes[0].primitives[0]: has a texture but no TEXCOORD_3: it takes the colour at the texture's origin"}, a.Warnings)
	checkAsset(t, a)
}

// Textures of one set have transforms of their own, which start from the first one's.
func TestTransformsOfEachTexture(t *testing.T) {
	m := newModel()
	index := m.add("textures", object{"source": m.add("images", object{"uri": pngURI(checker())})})
	ref := func(transform object) object {
		return object{"index": index, "extensions": object{"KHR_texture_transform": transform}}
	}
	a := withMaterial(m, object{
		"pbrMetallicRoughness": object{
			"baseColorTexture":         ref(object{"offset": list{0.25, 0.5}, "scale": list{2, 4}, "rotation": 0.3}),
			"metallicRoughnessTexture": ref(object{"offset": list{-1, 0.125}, "scale": list{0, -1}, "rotation": 1}),
		},
		"emissiveTexture": ref(object{"texCoord": 0}),
	}).load(t, gltf.Options{})
	checkAsset(t, a)
	assert.Empty(t, a.Warnings)
	mesh, got := a.Meshes[0], a.Materials[0]
	own := []mgl32.Vec2{{0, 0}, {1, 0}, {0, 1}} // of the model's vertices
	sin, cos := float32(math.Sin(1)), float32(math.Cos(1))
	for i, uv := range mesh.UVs {
		apply := func(t scene.UVTransform) []float32 {
			return []float32{t[0][0]*uv[0] + t[0][1]*uv[1] + t[0][2], t[1][0]*uv[0] + t[1][1]*uv[1] + t[1][2]}
		}
		assert.InDeltaSlice(t, own[i][:], apply(got.EmissiveUV), 1e-6)
		assert.InDeltaSlice(t, []float32{-sin*own[i][1] - 1, -cos*own[i][1] + 0.125}, apply(got.MetalRoughUV), 1e-6)
	}

	// A first texture of one point has nothing that the others' coordinates could follow from.
	m = newModel()
	index = m.add("textures", object{"source": m.add("images", object{"uri": pngURI(checker())})})
	a = withMaterial(m, object{"pbrMetallicRoughness": object{"baseColorTexture": ref(object{"scale": list{0, 0}})}, "emissiveTexture": object{"index": index}}).load(t, gltf.Options{})
	assert.Equal(t, []string{"materials[0].emissiveTexture: has its own texture coordinates: those of the material's first texture are used"}, a.Warnings)
}

func TestOneSetOfCoordinatesAMaterial(t *testing.T) {
	m := newModel()
	ref := object{"index": m.add("textures", object{"source": m.add("images", object{"uri": pngURI(checker())})})}
	other := object{"index": 0, "texCoord": 1}
	a := withMaterial(m, object{
		"pbrMetallicRoughness": object{"baseColorTexture": ref, "metallicRoughnessTexture": other},
		"emissiveTexture":      ref,
		"normalTexture":        object{"index": 77}, "occlusionTexture": object{"index": 78},
	}).load(t, gltf.Options{})
	assert.Equal(t, []string{"materials[0].pbrMetallicRoughness.metallicRoughnessTexture: has its own texture coordinates: those of the material's first texture are used"}, a.Warnings)
	assert.Equal(t, mgl32.Vec2{1, 0}, a.Meshes[0].UVs[1])
}
