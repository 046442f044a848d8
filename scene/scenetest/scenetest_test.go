package scenetest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func TestTracerOnAPlane(t *testing.T) {
	b := scenetest.NewBuilder("plane")
	ground := b.Put("ground", scenetest.Plane(200, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 1, scene.TagRoads))
	tr := scenetest.NewTracer(b.Scene, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		d := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), -0.1 - rng.Float64()}.Normalize()
		h, ok := tr.Trace(mgl64.Vec3{0.3, 0.2, 4}, d, 0, 100, 0)
		want := 3 / -d[2]
		if want > 60 {
			continue
		}
		require.True(t, ok)
		assert.InDelta(t, want, h.T, 1e-12*want)
		assert.Equal(t, mgl64.Vec3{0, 0, 1}, h.Normal)
		assert.Same(t, ground, h.Actor)
		assert.Equal(t, scene.TagRoads, h.Tag())
		assert.InDelta(t, (h.Point[0]+100)/200, h.UV[0], 1e-9)
	}
	h, ok := tr.Trace(mgl64.Vec3{0, 0, -4}, mgl64.Vec3{0, 0, 1}, 0, 100, 0)
	require.True(t, ok, "the back counts as well")
	assert.Equal(t, mgl64.Vec3{0, 0, -1}, h.Normal)
	_, ok = tr.Trace(mgl64.Vec3{0, 0, 4}, mgl64.Vec3{0, 0, -1}, 0, 3, 0)
	assert.False(t, ok, "t < tmax")
	_, ok = tr.Trace(mgl64.Vec3{0, 0, 4}, mgl64.Vec3{0, 0, -1}, 3.1, 9, 0)
	assert.False(t, ok, "t >= tmin")
}

func TestTracerOnASphere(t *testing.T) {
	const radius, rings = 2.0, 64
	b := scenetest.NewBuilder("sphere")
	b.Put("ball", scenetest.Sphere(radius, rings), scenetest.Matte("red", 1, 0, 0), scenetest.At(10, 0, 0, scene.TagOther))
	tr := scenetest.NewTracer(b.Scene, nil)
	sag := radius * math.Pow(math.Pi/rings, 2)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		off := rng.Float64() * 1.5
		around := rng.Float64() * 2 * math.Pi
		o := mgl64.Vec3{0, off * math.Cos(around), off * math.Sin(around)}
		h, ok := tr.Trace(o, mgl64.Vec3{1, 0, 0}, 0, 100, 0)
		require.True(t, ok)
		along := math.Sqrt(radius*radius - off*off)
		assert.InDelta(t, 10-along, h.T, 2*sag)
		assert.GreaterOrEqual(t, h.T, 10-along-1e-6, "facets lie inside")
	}
}

// The tree finds what trying every triangle finds.
func TestTracerAgainstEveryTriangle(t *testing.T) {
	s := scenetest.Soup(3, 300, true)
	tr := scenetest.NewTracer(s, nil)
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		o := mgl64.Vec3{rng.Float64()*40 - 20, rng.Float64()*40 - 20, rng.Float64() * 8}
		d := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), 0.2 * rng.NormFloat64()}.Normalize()
		const at = 70_000_000
		best := 200.0
		for _, a := range s.Actors {
			pose := a.Pose
			if a.Motion != nil {
				pose = a.Motion.PoseAt(at)
			}
			for _, p := range a.Parts {
				local := p.Local
				if p.Joints != nil {
					local = p.Joints(at)
				}
				m := &s.Meshes[p.Mesh]
				for i := 0; i < len(m.Indices); i += 3 {
					var v [3]mgl64.Vec3
					for k := range v {
						x := m.Positions[m.Indices[i+k]]
						v[k] = mgl64.TransformCoordinate(mgl64.Vec3{float64(x[0]), float64(x[1]), float64(x[2])}, pose.Mat4().Mul4(local))
					}
					best = min(best, planeHit(o, d, v))
				}
			}
		}
		h, ok := tr.Trace(o, d, 0, 200, at)
		assert.Equal(t, best < 200, ok)
		assert.InDelta(t, best, h.T, 1e-8)
	}
}

// planeHit cuts the ray with the triangle's plane and looks on which side of
// each edge the point lies: another test than the tracer's.
func planeHit(o, d mgl64.Vec3, v [3]mgl64.Vec3) float64 {
	n := v[1].Sub(v[0]).Cross(v[2].Sub(v[0]))
	t := v[0].Sub(o).Dot(n) / d.Dot(n)
	p := o.Add(d.Mul(t))
	for k := range v {
		if v[(k+1)%3].Sub(v[k]).Cross(p.Sub(v[k])).Dot(n) < 0 {
			return math.Inf(1)
		}
	}
	if !(t >= 0) {
		return math.Inf(1)
	}
	return t
}

func TestMovingWall(t *testing.T) {
	tr := scenetest.NewTracer(scenetest.MovingWall(30, 20), nil)
	for _, at := range []int64{0, 100e6, 1e9} {
		h, ok := tr.Trace(mgl64.Vec3{0, 0, 2}, mgl64.Vec3{1, 0, 0}, 0, 100, simtime.Stamp(at))
		require.True(t, ok)
		assert.InDelta(t, 30-20*float64(at)*1e-9, h.T, 1e-9)
		assert.Equal(t, scene.TagWall, h.Tag())
	}
	still := scenetest.NewTracer(scenetest.MovingWall(30, 20), func(uint32, simtime.Stamp) (spatial.Pose, bool) {
		return spatial.Pose{Position: mgl64.Vec3{8.5, 0, 5}, Orientation: mgl64.QuatIdent()}, true
	})
	h, _ := still.Trace(mgl64.Vec3{0, 0, 2}, mgl64.Vec3{1, 0, 0}, 0, 100, 0)
	assert.InDelta(t, 8, h.T, 1e-12)
}

func TestAgreementTellsEdgesFromErrors(t *testing.T) {
	tr := scenetest.NewTracer(scenetest.MovingWall(30, 0), nil)
	var a scenetest.Agreement
	add := func(y, z, got float64) {
		a.Add(tr, mgl64.Vec3{0, y, z}, mgl64.Vec3{1, 0, 0}, 0, 100, 0, got)
	}
	add(0, 2, 30.0005)           // within the tolerance
	add(0, 11, math.Inf(1))      // above the wall
	add(9.99999, 5, math.Inf(1)) // the wall's edge
	add(0, 2, 30.1)              // wrong
	add(0, 2, math.Inf(1))       // wrong
	assert.Equal(t, []int{2, 1, 2, 5}, []int{a.Equal, a.Edge, a.Wrong, a.Rays()})
	assert.InDelta(t, 0.4, a.Share(), 1e-12)
	assert.Len(t, a.Examples, 2)
	assert.Contains(t, a.String(), "1 at edges, 2 wrong")
}

func ExampleTracer() {
	b := scenetest.NewBuilder("example")
	b.Put("box", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scenetest.At(5, 0, 1, scene.TagStatic))
	tr := scenetest.NewTracer(b.Scene, nil)
	h, ok := tr.Trace(mgl64.Vec3{0, 0, 1}, mgl64.Vec3{1, 0, 0}, 0, 100, 0)
	fmt.Println(ok, h.T, h.Actor.Name, h.Tag(), b.Scene.Materials[h.Material].Name)
	// Output: true 4 box static red
}
