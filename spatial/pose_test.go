package spatial_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/spatial"
)

func assertVec(t *testing.T, want, got mgl64.Vec3) {
	t.Helper()
	assert.InDeltaSlice(t, want[:], got[:], 1e-9)
}

func TestFromRPYAppliesYawFirst(t *testing.T) {
	p := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 90)
	assertVec(t, mgl64.Vec3{1, 3, 3}, p.Apply(mgl64.Vec3{1, 0, 0}))

	// A nose-down pitch after a left turn: forward goes left and down.
	p = spatial.FromRPY(mgl64.Vec3{}, 0, 30, 90)
	assertVec(t, mgl64.Vec3{0, math.Cos(math.Pi / 6), -0.5}, p.Rotate(mgl64.Vec3{1, 0, 0}))
}

func TestRPYRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r, p, y := rng.Float64()*340-170, rng.Float64()*170-85, rng.Float64()*340-170
		gr, gp, gy := spatial.FromRPY(mgl64.Vec3{}, r, p, y).RPY()
		assert.InDeltaSlice(t, []float64{r, p, y}, []float64{gr, gp, gy}, 1e-7)
	}
}

func TestComposeAndInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		random := func() spatial.Pose {
			return spatial.FromRPY(mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()},
				rng.Float64()*360, rng.Float64()*180-90, rng.Float64()*360)
		}
		a, b := random(), random()
		v := mgl64.Vec3{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		assertVec(t, a.Apply(b.Apply(v)), a.Compose(b).Apply(v))
		assertVec(t, v, a.Inverse().Apply(a.Apply(v)))
		assertVec(t, a.Apply(v), a.Mat4().Mul4x1(v.Vec4(1)).Vec3())
	}
}

func TestInterpolateTakesTheShorterArc(t *testing.T) {
	a := spatial.FromRPY(mgl64.Vec3{0, 0, 0}, 0, 0, 170)
	b := spatial.FromRPY(mgl64.Vec3{2, 0, 0}, 0, 0, -170)
	mid := spatial.Interpolate(a, b, 0.5)
	assertVec(t, mgl64.Vec3{1, 0, 0}, mid.Position)
	assertVec(t, mgl64.Vec3{-1, 0, 0}, mid.Rotate(mgl64.Vec3{1, 0, 0}))
}

func TestOpticalFrame(t *testing.T) {
	o := spatial.OpticalInBody()
	assertVec(t, mgl64.Vec3{1, 0, 0}, o.Rotate(mgl64.Vec3{0, 0, 1})) // optical z is forward
	assertVec(t, mgl64.Vec3{0, -1, 0}, o.Rotate(mgl64.Vec3{1, 0, 0}))
	assertVec(t, mgl64.Vec3{0, 0, -1}, o.Rotate(mgl64.Vec3{0, 1, 0}))
}
