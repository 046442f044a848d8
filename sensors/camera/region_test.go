package camera

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/spatial"
)

// TestFrustumKeepsWhatIsSeen holds the frustum against the lens: a box with a
// point that the lens puts on the picture is never left out.
func TestFrustumKeepsWhatIsSeen(t *testing.T) {
	l, err := NewLens(320, 200, 75)
	require.NoError(t, err)
	const near, far = 0.5, 60
	frustum := l.frustum(near, far)
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(scale float64) mgl64.Vec3 {
		return mgl64.Vec3{(rng.Float64() - 0.5) * scale, (rng.Float64() - 0.5) * scale, (rng.Float64() - 0.5) * scale}
	}
	seen, out := 0, 0
	for range 20000 {
		camera := spatial.FromRPY(random(20), rng.Float64()*360, rng.Float64()*180-90, rng.Float64()*360)
		toOptical := camera.Inverse().Mat4()
		low := random(100)
		high := low.Add(mgl64.Vec3{rng.Float64() * 4, rng.Float64() * 4, rng.Float64() * 4})
		inside := mgl64.Vec3{}
		for i := range inside {
			inside[i] = low[i] + rng.Float64()*(high[i]-low[i])
		}
		planes := frustum.inFrame(nil, &toOptical)
		excluded := planes.excludes(low, high)
		p := mgl64.TransformCoordinate(inside, toOptical)
		u, v, ok := l.Project(p)
		if ok && l.Contains(u, v) && p[2] >= near && p[2] <= far {
			seen++
			require.False(t, excluded, "box %v to %v has %v in sight", low, high, inside)
		}
		if excluded {
			out++
		}
	}
	assert.Greater(t, seen, 300)
	assert.Greater(t, out, 10000, "most boxes are beside the picture and left out")
}

func TestDrawListJoinsNeighbours(t *testing.T) {
	d := &drawing{
		world: []chunk{
			{first: 0, count: 256, high: mgl64.Vec3{1, 1, 1}},
			{first: 256, count: 256, high: mgl64.Vec3{1, 1, 1}},
			{first: 512, count: 256, low: mgl64.Vec3{50, 0, 0}, high: mgl64.Vec3{51, 1, 1}},
			{first: 768, count: 100, high: mgl64.Vec3{1, 1, 1}, cut: true},
		},
		movers: []chunk{{first: 900, count: 10, high: mgl64.Vec3{1, 1, 1}}, {first: 900, count: 10, high: mgl64.Vec3{1, 1, 1}}},
	}
	near := region{{mgl64.Vec3{-1, 0, 0}, 10}} // x <= 10
	there, away := mgl64.Ident4(), mgl64.Translate3D(20, 0, 0)
	var l drawList
	l.addWorld(d, near, &there)
	// The second row is of a slot whose model has no second mover.
	r := &renderer{drawing: d, stage: stage{cast: []scene.Shown{{Mover: 0}, {Mover: -1}, {Mover: 1}, {Mover: 1}}}}
	l.addMovers(r, near, []mgl64.Mat4{there, there, {}, away, there})
	assert.Equal(t, []gpu.DrawCall{{First: 0, Count: 3 * 512, Index: 0}, {First: 2700, Count: 30, Index: 1}, {First: 2700, Count: 30, Index: 4}}, l.plain)
	assert.Equal(t, []gpu.DrawCall{{First: 3 * 768, Count: 300, Index: 0}}, l.cut)
	l.reset()
	assert.Empty(t, append(l.plain, l.cut...))
}

func TestDividedLensSeesTheSame(t *testing.T) {
	l, err := NewLens(64, 48, 70)
	require.NoError(t, err)
	fine := l.divided(3)
	p := mgl64.Vec3{0.3, -0.2, 2}
	u, v, _ := l.Project(p)
	fu, fv, _ := fine.Project(p)
	assert.InDelta(t, 3*(u+0.5), fu+0.5, 1e-9)
	assert.InDelta(t, 3*(v+0.5), fv+0.5, 1e-9)
	assert.Equal(t, l, l.divided(1))
}

func TestProjectionPutsDepthInReverse(t *testing.T) {
	l, err := NewLens(64, 48, 70)
	require.NoError(t, err)
	p := l.projection(0.5, 200)
	depth := func(z float32) float32 { return (p.depth[0] + p.depth[1]*z) / z }
	assert.InDelta(t, 1, depth(0.5), 1e-6)
	assert.InDelta(t, 0, depth(200), 1e-6)
	assert.Greater(t, depth(10), depth(11))
}
