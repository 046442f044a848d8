//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// door is a panel 4 m wide about its node. For a second a joint moves it by 2 m/s towards -x and by
// 1 m/s to the left. In the next it turns about z by 90 degrees. A morph target does the first
// second alone.
func door(morph bool) *scene.Asset {
	mesh := scenetest.Plane(4, 1)
	target := scene.MorphTarget{}
	for i, p := range mesh.Positions {
		mesh.Positions[i], mesh.Normals[i] = mgl32.Vec3{0, p[0], p[1]}, mgl32.Vec3{-1, 0, 0}
		mesh.Joints, mesh.Weights = append(mesh.Joints, 0, 1), append(mesh.Weights, 0, 1)
		target.Positions = append(target.Positions, mgl32.Vec3{-2, 1, 0})
	}
	mesh.Groups = []scene.Group{{Count: len(mesh.Indices)}}
	paint := scenetest.Matte("paint", 0.25, 0.5, 0.75)
	paint.Unlit = true
	half := math.Sqrt2 / 2
	identity := scene.IdentityTRS()
	a := &scene.Asset{
		Name: "door", Materials: []scene.Material{paint}, Meshes: []scene.Mesh{mesh},
		Nodes: []scene.Node{{Name: "door", Parent: -1, Mesh: 0, Local: identity}, {Name: "hinge", Parent: -1, Mesh: -1, Local: identity}},
	}
	keys := []int64{0, 1e9, 2e9}
	channels := []scene.Channel{
		{Node: 1, Path: scene.PathTranslation, TimesNs: keys, Values: []float64{0, 0, 0, -2, 1, 0, -2, 1, 0}},
		{Node: 1, Path: scene.PathRotation, TimesNs: keys, Values: []float64{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, half, half}},
	}
	if morph {
		a.Meshes[0].Targets = []scene.MorphTarget{target}
		channels = []scene.Channel{{Node: 0, Path: scene.PathWeight, TimesNs: keys, Values: []float64{0, 1, 1}}}
	} else {
		a.Nodes[0].Skin = &scene.Skin{Joints: []int{1, 1}, Bind: []mgl64.Mat4{mgl64.Ident4(), mgl64.Ident4()}}
	}
	a.Animations = []scene.Animation{{DurationNs: 2e9, Channels: channels}}
	return a
}

// What moves in itself is in every picture where it is at the instant. That is depth, tag,
// instance, colour, normal, and how far it moved since the firing before. Lenses that are traced see the
// same.
func TestWhatMovesInItself(t *testing.T) {
	for _, morph := range []bool{false, true} {
		b := scenetest.NewBuilder("door")
		b.Put("wall", scenetest.Box(1, 80, 80), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(20.5, 0, 0, scene.TagWall))
		place := scenetest.At(7, 0, 0, scene.TagPedestrian)
		place.Whole = true
		actors, err := b.Scene.Add(door(morph), place)
		require.NoError(t, err)
		r := newRig(t, b.Scene, nil,
			mounted{camera.DepthDefinition, forward(0), size(80, 80)}, mounted{camera.SemanticDefinition, forward(0), size(80, 80)},
			mounted{camera.InstanceDefinition, forward(0), size(80, 80)}, mounted{camera.RGBDefinition, forward(0), size(80, 80)},
			mounted{camera.NormalsDefinition, forward(0), size(80, 80)}, mounted{camera.OpticalFlowDefinition, forward(0), size(80, 80)},
			mounted{camera.DepthDefinition, forward(0), size(80, 80, "lens", "plumb_bob", "distortion", "1e-6,0,0,0")},
			// It looks past where the panel is at time 0.
			mounted{camera.DepthDefinition, spatial.FromRPY(mgl64.Vec3{0, 2.6, 0}, 0, 0, 0), size(8, 8, "fov", 6)})
		paint := shown(mgl64.Vec3{0.25, 0.5, 0.75}, false)
		for step, seconds := range []float64{0.2, 0.3, 0.9, 1.0, 0.3} { // back, too
			r.fire(simtime.Stamp(seconds * 1e9))
			x, y := 7-2*seconds, seconds
			for _, off := range []float64{-1.6, 0, 1.6} { // points of the panel, from its middle to the left
				u, v := int(40-40*(y+off)/x), 40
				left := -(float64(u) + 0.5 - 40) / 40 * x // what the pixel sees
				assert.InDelta(t, x, depthAt(r.picture(0), u, v), 1e-3, "%v s, %v m, morph %v", seconds, off, morph)
				assert.InDelta(t, x, depthAt(r.picture(6), u, v), 1e-3, "traced: %v s, %v m, morph %v", seconds, off, morph)
				assert.Equal(t, byte(scene.TagPedestrian), at(r.picture(1), u, v, 1)[0])
				assert.Equal(t, byte(actors[0].ID), at(r.picture(2), u, v, 2)[0])
				assertPixel(t, paint, r.picture(3), u, v, 0.6, "painted")
				normal := normalAt(r.picture(4), u, v)
				assert.InDeltaSlice(t, []float64{0, 0, -1}, normal[:], 1e-4)
				moved := -(left/x - (left-0.1)/(x+0.2)) * 40 / 80 // it was 0.2 m farther and 0.1 m more to the right
				if step == 0 || step == 4 {                       // the first firing, and the first after time went back
					moved = 0
				}
				assert.InDelta(t, moved, flowAt(r.picture(5), u, v)[0], 1e-5, "flow at %v s, %v m, morph %v", seconds, off, morph)
			}
			if beside := depthAt(r.picture(7), 4, 4); y > 0.7 {
				assert.InDelta(t, x, beside, 1e-3)
			} else {
				assert.InDelta(t, 20, beside, 1e-3)
			}
			assert.Equal(t, byte(scene.TagWall), at(r.picture(1), int(40-40*(y+2.3)/x), 40, 1)[0])
			assert.Equal(t, byte(scene.TagWall), at(r.picture(1), int(40-40*(y-2.3)/x), 40, 1)[0])
		}
		if morph {
			continue
		}
		// Half-way through its turn the door stands at 45 degrees.
		r.fire(1.5e9)
		normal := normalAt(r.picture(4), 40-40/5, 40)
		assert.InDeltaSlice(t, []float64{math.Sqrt2 / 2, 0, -math.Sqrt2 / 2}, normal[:], 1e-3)
	}
}

// Without normals of its own, what moves in itself has those of its triangles as they are.
func TestFlatNormalsFollowTheShape(t *testing.T) {
	for _, flat := range []bool{true, false} {
		asset := door(true)
		mesh := &asset.Meshes[0]
		mesh.Flat = flat
		for i, p := range mesh.Positions { // its left side comes nearer by 2 m
			mesh.Targets[0].Positions[i] = mgl32.Vec3{-1 - p[1]/2, 0, 0}
		}
		b := scenetest.NewBuilder("door")
		place := scenetest.At(7, 0, 0, scene.TagPedestrian)
		place.Whole = true
		_, err := b.Scene.Add(asset, place)
		require.NoError(t, err)
		r := newRig(t, b.Scene, nil, mounted{camera.NormalsDefinition, forward(0), size(80, 80)})
		r.fire(1e9)
		want := []float64{0, 0, -1}
		if flat { // 2 m nearer over 4 m; optical x points to the right
			want = []float64{1 / math.Sqrt(5), 0, -2 / math.Sqrt(5)}
		}
		normal := normalAt(r.picture(0), 40, 40)
		assert.InDeltaSlice(t, want, normal[:], 1e-3, "flat %v", flat)
	}
}

// A pane that a joint moves throws its shadow where it is.
func TestTheShadowOfWhatMovesInItself(t *testing.T) {
	b := scenetest.NewBuilder("door")
	b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 1}.Normalize()
	b.Put("floor", scenetest.Plane(100, 2), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, -3, scene.TagRoads))
	place := scenetest.At(10, 0, 0, scene.TagPedestrian)
	place.Whole = true
	_, err := b.Scene.Add(door(false), place)
	require.NoError(t, err)
	// From above, 1 m a 4 pixels: the pane's shadow lies 3 m behind it, 4 m long.
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{12, 0, 17}, 0, 90, 0), size(160, 160)})
	grey := func(x, y float64) int { return pixelAt(r.picture(0), int(80-4*y), int(80-4*(x-12)))[0] }
	for _, seconds := range []float64{0.1, 0.9} {
		r.fire(simtime.Stamp(seconds * 1e9))
		middle, left := 10-2*seconds+3, seconds
		assert.Greater(t, grey(middle, left+3), grey(middle, left)+40, "%v s", seconds)
		assert.Greater(t, grey(middle+3, left), grey(middle+1.3, left)+40, "%v s", seconds)
	}
}
