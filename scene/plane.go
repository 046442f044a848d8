package scene

import (
	"image"
	"image/color"
	"math/rand/v2"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
)

// PlaneSize is how long and wide the ground of Plane is, metres.
const PlaneSize = 4000

// The ground has planeCells squares along each side. Its texture repeats every planeTile metres.
const (
	planeCells = 80
	planeTile  = 10
	tilePixels = 512
)

// Plane returns flat ground around a point of the map, metres, under the light that cameras give
// a scene without one. It is for worlds that bring everything else. The ground is asphalt with
// the tag TagRoads and a faint grid of 10 m. The ego stands in its middle and looks east. The
// scene is the caller's alone; any goroutine may call it.
func Plane(middle mgl64.Vec3) *Scene {
	s := New("plane")
	s.Ego.Position = middle
	s.Textures = []Texture{{Name: "asphalt", Image: asphaltTile()}}
	s.Materials = []Material{{
		Name: "asphalt", BaseColor: mgl32.Vec4{1, 1, 1, 1}, Roughness: 0.95, Reflectance: 0.16, ReflectsAsClass: true,
		MetalRoughTexture: NoTexture, EmissiveTexture: NoTexture,
	}}
	s.Meshes = []Mesh{planeMesh()}
	s.Actors = []*Actor{{
		ID: 1, Name: "ground", TypeID: "static.road", Pose: s.Ego,
		Parts: []Part{{Name: "ground", Local: mgl64.Ident4(), Tag: TagRoads}},
	}}
	return s
}

// planeMesh returns the ground about its own origin. Its cells are exact in float32.
func planeMesh() Mesh {
	const cell, row = PlaneSize / planeCells, planeCells + 1
	m := Mesh{Name: "ground"}
	for j := range row {
		for i := range row {
			x, y := float32(i*cell-PlaneSize/2), float32(j*cell-PlaneSize/2)
			m.Positions = append(m.Positions, mgl32.Vec3{x, y, 0})
			m.Normals = append(m.Normals, mgl32.Vec3{0, 0, 1})
			m.UVs = append(m.UVs, mgl32.Vec2{x / planeTile, -y / planeTile})
		}
	}
	for j := range planeCells {
		for i := range planeCells {
			a := uint32(j*row + i)
			m.Indices = append(m.Indices, a, a+1, a+row, a+row, a+1, a+row+1)
		}
	}
	m.Groups = []Group{{Count: len(m.Indices)}}
	return m
}

// asphaltTile returns the picture of planeTile metres of ground. It has squares of chance in
// several sizes, for what looks for features near and far, and the lines of the grid.
func asphaltTile() *image.NRGBA {
	tile := image.NewNRGBA(image.Rect(0, 0, tilePixels, tilePixels))
	rng := rand.New(rand.NewPCG(0, 0))
	var grey [tilePixels][tilePixels]float64
	for _, layer := range []struct {
		size  int // pixels
		depth float64
	}{{1, 14}, {4, 8}, {32, 7}, {128, 6}} {
		for y := 0; y < tilePixels; y += layer.size {
			for x := 0; x < tilePixels; x += layer.size {
				shade := layer.depth * (2*rng.Float64() - 1)
				for k := range layer.size * layer.size {
					grey[y+k/layer.size][x+k%layer.size] += shade
				}
			}
		}
	}
	const mean, line, lineWidth = 104, 20, 4
	for y := range grey {
		for x, g := range grey[y] {
			if min(x, y) < lineWidth {
				g += line
			}
			v := uint8(mean + g)
			tile.SetNRGBA(x, y, color.NRGBA{v, v, v, 255})
		}
	}
	return tile
}
