package spatial_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/spatial"
)

func box(x, y, z, yaw float64, half mgl64.Vec3) spatial.OrientedBox {
	return spatial.OrientedBox{Pose: spatial.FromRPY(mgl64.Vec3{x, y, z}, 0, 0, yaw), Half: half}
}

func TestBoxesOverlap(t *testing.T) {
	unit := mgl64.Vec3{1, 1, 1}
	for name, c := range map[string]struct {
		a, b spatial.OrientedBox
		want bool
	}{
		"same":                      {box(0, 0, 0, 0, unit), box(0, 0, 0, 0, unit), true},
		"one inside the other":      {box(0, 0, 0, 0, unit), box(0.2, 0, 0, 30, unit.Mul(0.1)), true},
		"touching":                  {box(0, 0, 0, 0, unit), box(2, 0, 0, 0, unit), true},
		"beside":                    {box(0, 0, 0, 0, unit), box(2.001, 0, 0, 0, unit), false},
		"above":                     {box(0, 0, 0, 0, unit), box(0, 0, 2.001, 0, unit), false},
		"corner points at the side": {box(0, 0, 0, 0, unit), box(2.4, 0, 0, 45, unit), true},
		"corner stops before it":    {box(0, 0, 0, 0, unit), box(2.42, 0, 0, 45, unit), false},
		"corners pass by diagonal":  {box(0, 0, 0, 0, unit), box(2.05, 2.05, 0, 45, unit), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, c.a.Overlaps(c.b))
			assert.Equal(t, c.want, c.b.Overlaps(c.a), "the other way round")
		})
	}
}

// TestOverlapAgreesWithPoints holds the tests of axes against points drawn in the
// boxes: a common point proves an overlap.
func TestOverlapAgreesWithPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(scale float64) mgl64.Vec3 {
		return mgl64.Vec3{rng.NormFloat64() * scale, rng.NormFloat64() * scale, rng.NormFloat64() * scale}
	}
	overlapping := 0
	for range 2000 {
		a := spatial.OrientedBox{Pose: spatial.FromRPY(random(1), rng.Float64()*360, rng.Float64()*360, rng.Float64()*360), Half: mgl64.Vec3{rng.Float64(), rng.Float64(), rng.Float64()}}
		b := spatial.OrientedBox{Pose: spatial.FromRPY(random(1), rng.Float64()*360, rng.Float64()*360, rng.Float64()*360), Half: mgl64.Vec3{rng.Float64(), rng.Float64(), rng.Float64()}}
		common := false
		toA := a.Pose.Inverse()
		for range 200 {
			p := toA.Apply(b.Pose.Apply(mgl64.Vec3{(2*rng.Float64() - 1) * b.Half[0], (2*rng.Float64() - 1) * b.Half[1], (2*rng.Float64() - 1) * b.Half[2]}))
			if p[0] < a.Half[0] && p[0] > -a.Half[0] && p[1] < a.Half[1] && p[1] > -a.Half[1] && p[2] < a.Half[2] && p[2] > -a.Half[2] {
				common = true
				break
			}
		}
		got := a.Overlaps(b)
		if common {
			overlapping++
			assert.True(t, got)
		}
		assert.Equal(t, got, b.Overlaps(a))
		touches := false
		c := b.Corners()
		for _, face := range [12][3]int{{0, 1, 3}, {0, 3, 2}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4}, {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 3, 7}, {1, 7, 5}} {
			touches = touches || a.OverlapsTriangle([3]mgl64.Vec3{toA.Apply(c[face[0]]), toA.Apply(c[face[1]]), toA.Apply(c[face[2]])})
		}
		if touches {
			assert.True(t, got, "a face reaches into the box")
		}
		inside := true // a lies in b as a whole: none of b's faces reaches it
		toB := b.Pose.Inverse()
		for _, p := range a.Corners() {
			q := toB.Apply(p)
			inside = inside && q[0] <= b.Half[0] && q[0] >= -b.Half[0] && q[1] <= b.Half[1] && q[1] >= -b.Half[1] && q[2] <= b.Half[2] && q[2] >= -b.Half[2]
		}
		if got && !inside {
			assert.True(t, touches, "boxes that overlap, neither in the other's inside, meet at a face")
		}
	}
	assert.Greater(t, overlapping, 200)
}
