package scene_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
)

func picture(w, h int, at func(x, y int) color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(3, 5, 3+w, 5+h)) // an origin of its own
	for y := range h {
		for x := range w {
			img.SetNRGBA(3+x, 5+y, at(x, y))
		}
	}
	return img
}

func TestResampledAveragesInLinearLight(t *testing.T) {
	checker := picture(4, 4, func(x, y int) color.NRGBA {
		v := uint8(255 * ((x + y) % 2))
		return color.NRGBA{v, v, v, 100}
	})
	// Half of white is sRGB 188, but 128 as data.
	assert.Equal(t, []byte{188, 188, 188, 100}, scene.Resampled(checker, 1, 1, true))
	assert.Equal(t, []byte{128, 128, 128, 100}, scene.Resampled(checker, 1, 1, false))
	assert.Len(t, scene.Resampled(checker, 2, 1, true), 8)

	flat := picture(13, 9, func(int, int) color.NRGBA { return color.NRGBA{10, 200, 90, 255} })
	for _, size := range []int{1, 2, 4, 8, 9} {
		for i, v := range scene.Resampled(flat, size, size, true) {
			assert.Equal(t, []byte{10, 200, 90, 255}[i%4], v)
		}
	}
	// Each of two pixels covers one and a half of three.
	row := picture(3, 1, func(x, _ int) color.NRGBA { return color.NRGBA{uint8(90 * x), 0, 0, 255} })
	assert.Equal(t, []byte{30, 0, 0, 255, 150, 0, 0, 255}, scene.Resampled(row, 2, 1, false))
	assert.Equal(t, []byte{0, 0, 0, 255, 90, 0, 0, 255, 180, 0, 0, 255}, scene.Resampled(row, 3, 1, false))
}

// Every byte decodes, averages with itself and encodes to itself.
func TestBytesSurviveLinearLight(t *testing.T) {
	for v := range 256 {
		c := uint8(v)
		pair := picture(2, 1, func(int, int) color.NRGBA { return color.NRGBA{c, c, c, c} })
		assert.Equal(t, []byte{c, c, c, c}, scene.Resampled(pair, 1, 1, true))
		assert.Equal(t, []byte{c, c, c, c}, scene.Resampled(pair, 1, 1, false))
	}
}

// A picture keeps its size and lies in the corner of its layer. Its first column and row are
// behind the last ones where there is room.
func TestPicturesLieInTheirLayers(t *testing.T) {
	s := scene.New("pictures")
	grey := func(v uint8) color.NRGBA { return color.NRGBA{v, v, v, 255} }
	s.Textures = []scene.Texture{
		{Image: picture(4, 4, func(int, int) color.NRGBA { return grey(7) })},
		{Image: picture(3, 2, func(x, y int) color.NRGBA { return grey(uint8(10*y + x)) })},
		{Image: picture(2500, 50, func(int, int) color.NRGBA { return grey(9) })},
	}
	s.Materials = []scene.Material{{BaseColorTexture: 0, EmissiveTexture: 1, MetalRoughTexture: 1}}
	sizes, pixels := scene.Mipmaps(s, true, 1)
	assert.Equal(t, [][2]int{{4, 3}, {2, 2}}, sizes)
	var reds []byte
	for i := 0; i < len(pixels[0]); i += 4 {
		reds = append(reds, pixels[0][i])
	}
	assert.Equal(t, []byte{0, 1, 2, 0, 10, 11, 12, 10, 0, 1, 2, 0}, reds)
	sizes, _ = scene.Mipmaps(s, true, 0)
	assert.Equal(t, [][2]int{{4, 4}, {2, 2}, {1, 1}}, sizes, "a layer that is full")
	s.Materials[0].MetalRoughTexture = 2
	sizes, _ = scene.Mipmaps(s, false, 0)
	assert.Equal(t, [2]int{1024, 21}, sizes[0], "what is too large shrinks and keeps its shape")
	assert.Len(t, sizes, 11)
}

// A lidar's beam covers as much of the scene's own pictures whatever larger ones the actors have that may come.
func TestBeamsDontDependOnWhoMayCome(t *testing.T) {
	white := func(size int) scene.Texture {
		return scene.Texture{Image: picture(size, size, func(int, int) color.NRGBA { return color.NRGBA{255, 255, 255, 255} })}
	}
	s := scene.New("yard")
	s.Textures = []scene.Texture{white(128), white(32)}
	for i := range s.Textures {
		s.Materials = append(s.Materials, scene.Material{BaseColorTexture: i, MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture})
	}
	s.Meshes = []scene.Mesh{{Groups: []scene.Group{{Material: 0}, {Material: 1}}}}
	s.Actors = []*scene.Actor{{Parts: []scene.Part{{Mesh: 0}}}}
	alone := scene.Sampling(s, true)
	s.Textures = append(s.Textures, white(512))
	s.Materials = append(s.Materials, scene.Material{BaseColorTexture: 2, MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture})
	s.Meshes = append(s.Meshes, scene.Mesh{Groups: []scene.Group{{Material: 2}}})
	s.Reserve(&scene.Actor{TypeID: "car", Parts: []scene.Part{{Mesh: 1}}}, 1)
	assert.Equal(t, alone, scene.Sampling(s, true)[:2])
}
