//go:build cgo

package camera_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/spatial"
)

// TestCutOutMaterialsAreAbsentWhereTheirAlphaSays puts a panel, of which a half is
// cut out, before a wall: what is behind is seen through it, and lit through it.
func TestCutOutMaterialsAreAbsentWhereTheirAlphaSays(t *testing.T) {
	for _, moving := range []bool{false, true} {
		img := image.NewNRGBA(image.Rect(0, 0, 32, 32))
		for y := range 32 {
			for x := range 32 {
				img.SetNRGBA(x, y, color.NRGBA{255, 255, 255, uint8(255 * (x / 16))})
			}
		}
		b := scenetest.NewBuilder("panel")
		b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 0.2}.Normalize()
		b.Put("wall", scenetest.Box(1, 40, 40), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(10.5, 0, 0, scene.TagWall))
		// The plane's +x, along which u grows, is turned to the left (+y).
		panel := scenetest.Plane(4, 2)
		for i := range panel.Positions {
			p := panel.Positions[i]
			panel.Positions[i], panel.Normals[i] = mgl32.Vec3{0, p[0], p[1]}, mgl32.Vec3{-1, 0, 0}
		}
		panel.Groups = []scene.Group{{Count: len(panel.Indices)}}
		m := scenetest.Matte("panel", 1, 1, 1)
		m.BaseColorTexture, m.AlphaMode, m.AlphaCutoff = 0, scene.AlphaMask, 0.5
		asset := &scene.Asset{
			Name: "panel", Textures: []scene.Texture{{Name: "half", Image: img, Wrap: scene.WrapClamp}},
			Materials: []scene.Material{m}, Meshes: []scene.Mesh{panel},
			Nodes: []scene.Node{{Name: "panel", Parent: -1, Local: scene.IdentityTRS()}},
		}
		place := scenetest.At(5, 0, 0, scene.TagFence)
		if moving {
			place.Motion = scenetest.Linear{Start: place.Pose}
		}
		_, err := b.Scene.Add(asset, place)
		assert.NoError(t, err)

		high := spatial.FromRPY(mgl64.Vec3{0, 0, 6}, 0, 0, 0)
		r := newRig(t, b.Scene, nil,
			mounted{camera.Depth, forward(0), size(80, 80)},
			mounted{camera.Semantic, forward(0), size(80, 80)},
			mounted{camera.RGB, high, size(80, 80)})
		r.fire(0)
		// u below 0.5 is right of the middle.
		for u := 26; u < 54; u++ {
			depth, tag := 10.0, scene.TagWall
			if u < 40 {
				depth, tag = 5, scene.TagFence
			}
			if u == 39 || u == 40 {
				continue // the edge
			}
			assert.InDelta(t, depth, depthAt(r.picture(0), u, 40), 1e-3, "column %d, moving %v", u, moving)
			assert.Equal(t, byte(tag), at(r.picture(1), u, 40, 1)[0], "column %d, moving %v", u, moving)
		}
		// The panel's shadow on the wall lies 1 m lower; the sun comes through
		// where it is cut out. Pixel (40 - 4y, 40 + 4(6 - z)) sees (10, y, z).
		shade := pixelAt(r.picture(2), 40-4*1, 40+4*7)
		lit := pixelAt(r.picture(2), 40+4*1, 40+4*7)
		open := pixelAt(r.picture(2), 40+4*4, 40+4*7)
		assert.Greater(t, lit[0], shade[0]+30, "light falls through the cut-out half, moving %v", moving)
		assert.InDelta(t, open[0], lit[0], 3, "as beside the panel, moving %v", moving)
	}
}
