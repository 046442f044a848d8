package scene_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// cubes is a scene with a mesh that is a cube of 2 m around its origin.
func cubes(t testing.TB) (s *scene.Scene, cube int) {
	t.Helper()
	b := scenetest.NewBuilder("cubes")
	b.Put("cube", scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{})
	return b.Scene, b.Scene.Actors[0].Parts[0].Mesh
}

func TestBoxOfKnownCubes(t *testing.T) {
	s, cube := cubes(t)
	at, scale, turn := mgl64.Translate3D, mgl64.Scale3D, mgl64.HomogRotate3DZ
	swing := func(stamp simtime.Stamp) mgl64.Mat4 { // a pendulum of 1 m about y, 0.8 Hz
		return mgl64.HomogRotate3DY(0.5 * math.Sin(2*math.Pi*0.8*float64(stamp)*1e-9)).Mul4(at(0, 0, -1))
	}
	parts := func(local ...mgl64.Mat4) (out []scene.Part) {
		for _, m := range local {
			out = append(out, scene.Part{Mesh: cube, Local: m})
		}
		return out
	}
	for name, c := range map[string]struct {
		parts        []scene.Part
		center, half mgl64.Vec3
	}{
		"as it is":        {parts(mgl64.Ident4()), mgl64.Vec3{}, mgl64.Vec3{1, 1, 1}},
		"moved":           {parts(at(1, 2, 3)), mgl64.Vec3{1, 2, 3}, mgl64.Vec3{1, 1, 1}},
		"scaled":          {parts(at(1, 0, 0).Mul4(scale(2, 3, 0.5))), mgl64.Vec3{1, 0, 0}, mgl64.Vec3{2, 3, 0.5}},
		"mirrored":        {parts(scale(-2, 1, 1)), mgl64.Vec3{}, mgl64.Vec3{2, 1, 1}},
		"turned by 45":    {parts(turn(math.Pi / 4)), mgl64.Vec3{}, mgl64.Vec3{math.Sqrt2, math.Sqrt2, 1}},
		"scaled, turned":  {parts(at(0, 0, 5).Mul4(turn(math.Pi / 2)).Mul4(scale(4, 1, 1))), mgl64.Vec3{0, 0, 5}, mgl64.Vec3{1, 4, 1}},
		"two parts":       {parts(at(-3, 0, 0), at(5, 0, 1)), mgl64.Vec3{1, 0, 0.5}, mgl64.Vec3{5, 1, 1.5}},
		"without a part":  {nil, mgl64.Vec3{}, mgl64.Vec3{}},
		"an unknown mesh": {[]scene.Part{{Mesh: 99}}, mgl64.Vec3{}, mgl64.Vec3{}},
	} {
		box := s.BoxOf(&scene.Actor{Parts: c.parts})
		assertVec(t, c.center, box.Center, 1e-12)
		assert.InDelta(t, 0, c.half.Sub(box.Half).Len(), 1e-12, name)
	}

	// A leg that swings stays in its box through the whole cycle. The box is not much larger
	// than the circle that its farthest corner draws.
	box := s.BoxOf(&scene.Actor{Parts: []scene.Part{{Mesh: cube, Joints: swing}}})
	reach := mgl64.Vec3{1, 1, 2}.Len()
	for k := range int64(500) {
		for _, v := range s.Meshes[cube].Positions {
			p := mgl64.TransformCoordinate(wide(v), swing(simtime.Stamp(k*7_777_777))).Sub(box.Center)
			for a := range 3 {
				require.LessOrEqual(t, math.Abs(p[a]), box.Half[a]+0.01)
				require.LessOrEqual(t, math.Abs(box.Center[a])+box.Half[a], 1.5*reach)
			}
		}
	}
}

// A turned mesh's box touches its vertices: the corners of its own box don't.
func TestBoxOfTurnedMeshIsExact(t *testing.T) {
	b := scenetest.NewBuilder("ball")
	b.Put("ball", scenetest.Sphere(2, 64), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{})
	b.Scene.Actors[0].Parts[0].Local = spatial.FromRPY(mgl64.Vec3{}, 20, 30, 45).Mat4()
	box := b.Scene.BoxOf(b.Scene.Actors[0])
	assertVec(t, mgl64.Vec3{2, 2, 2}, box.Half, 0.01)
}

// The history's boxes, found together, are those of each actor's vertices.
func TestHistoryBoxesOfTheCity(t *testing.T) {
	s, err := city.Generate(city.Options{Triangles: city.MinTriangles})
	require.NoError(t, err)
	h := scene.NewHistory(s, nil, 1)
	for _, a := range s.Actors {
		box, ok := h.Box(a.ID)
		require.True(t, ok)
		low, high := box.Center.Sub(box.Half), box.Center.Add(box.Half)
		for i := range a.Parts {
			p := &a.Parts[i]
			for _, v := range s.Meshes[p.Mesh].Positions {
				q := mgl64.TransformCoordinate(wide(v), p.At(123e6))
				for k := range 3 {
					require.True(t, q[k] >= low[k]-0.01 && q[k] <= high[k]+0.01, "%s leaves its box", a.Name)
				}
			}
		}
		if a.TypeID == "vehicle.sedan" {
			assert.InDelta(t, 2.3, box.Half[0], 0.4)
		}
		if !a.Static() && a.Parts[0].Tag == scene.TagPedestrian {
			assert.InDelta(t, 0.88, box.Half[2], 0.06, "the height of a walker")
			assert.Less(t, box.Half[0], 0.8)
		}
	}
	ego, _ := h.Box(scene.EgoID)
	assert.Equal(t, scene.DefaultEgoBox, ego)
	_, ok := h.Box(70_000)
	assert.False(t, ok)
}
