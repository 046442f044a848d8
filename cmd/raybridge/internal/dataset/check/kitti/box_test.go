package kitti

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestContains holds the box against points that the format's words place: heading is (cos ry, 0, -sin ry), the bottom is at y.
func TestContains(t *testing.T) {
	for ry := -3.0; ry < 3.2; ry += 0.37 {
		l := label{height: 1.5, width: 1.8, length: 4, x: 3, y: 1.6, z: 20, ry: ry}
		heading := vector{math.Cos(ry), 0, -math.Sin(ry)}
		for _, c := range []struct {
			forward, up float64
			in          bool
		}{{1.99, 0.1, true}, {-1.99, 1.4, true}, {2.01, 0.1, false}, {0, 1.51, false}, {0, -0.01, false}} {
			p := vector{l.x + c.forward*heading[0], l.y - c.up, l.z + c.forward*heading[2]}
			assert.Equal(t, c.in, l.contains(p, 0), "%v %v", ry, c)
		}
		right := vector{-heading[2], 0, heading[0]} // heading x up is to the right where y is down
		for _, side := range []float64{-0.89, 0.89, 0.91} {
			p := vector{l.x + side*right[0], l.y - 1, l.z + side*right[2]}
			assert.Equal(t, math.Abs(side) < 0.9, l.contains(p, 0), "%v %v", ry, side)
		}
		for _, c := range l.corners() {
			assert.True(t, l.contains(c, 1e-9))
			assert.False(t, l.contains(c, -1e-9))
		}
	}
}

// TestOverlap compares overlaps with those that are computed by hand and by counting samples.
func TestOverlap(t *testing.T) {
	box := label{height: 2, width: 2, length: 4, y: 2, z: 10, ry: 0}
	for _, c := range []struct {
		name         string
		change       func(l *label)
		above, space float64
	}{
		{"itself", func(*label) {}, 1, 1},
		{"1 m along", func(l *label) { l.x++ }, 3.0 / 5, 3.0 / 5},
		{"1 m aside", func(l *label) { l.z++ }, 1.0 / 3, 1.0 / 3},
		{"1 m up", func(l *label) { l.y-- }, 1, 1.0 / 3},
		{"turned by 180 degrees", func(l *label) { l.ry = math.Pi }, 1, 1},
		{"turned by 90 degrees", func(l *label) { l.ry = math.Pi / 2 }, 4.0 / 12, 4.0 / 12},
		{"half as high", func(l *label) { l.height = 1 }, 1, 0.5},
		{"far", func(l *label) { l.x += 9 }, 0, 0},
		{"above", func(l *label) { l.y -= 3 }, 1, 0},
	} {
		other := box
		c.change(&other)
		assert.InDelta(t, c.above, overlapAbove(&box, &other), 1e-9, c.name)
		assert.InDelta(t, c.space, overlapInSpace(&box, &other), 1e-9, c.name)
	}
	// An octagon: two equal squares, turned by 45 degrees, share 2(sqrt 2 - 1) of their area.
	a, b := label{height: 1, width: 2, length: 2}, label{height: 1, width: 2, length: 2, ry: math.Pi / 4}
	share := 2 * (math.Sqrt2 - 1)
	assert.InDelta(t, share/(2-share), overlapAbove(&a, &b), 1e-12)

	random := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		any := func() label {
			return label{height: 1, width: 1 + random.Float64(), length: 2 + 3*random.Float64(), x: random.Float64(), z: random.Float64(), ry: 7 * random.Float64()}
		}
		a, b := any(), any()
		both, one := 0, 0
		for range 100_000 {
			p := vector{8*random.Float64() - 3.5, -0.5, 8*random.Float64() - 3.5}
			inA, inB := a.contains(p, 0), b.contains(p, 0)
			if inA && inB {
				both++
			}
			if inA || inB {
				one++
			}
		}
		assert.InDelta(t, float64(both)/float64(one), overlapAbove(&a, &b), 0.02)
	}
}

// TestProject cuts lines at the camera.
func TestProject(t *testing.T) {
	camera := matrix{100, 0, 50, 0, 0, 100, 40, 0, 0, 0, 1, 0}
	_, _, ok := camera.project(vector{0, 0, -1}, vector{1, 0, -5})
	assert.False(t, ok, "all of it is behind")
	a, b, ok := camera.project(vector{1, 0, 2}, vector{1, 0, -2})
	assert.True(t, ok)
	assert.InDeltaSlice(t, []float64{100, 40}, a[:], 1e-9)
	assert.InDeltaSlice(t, []float64{50 + 100/nearest, 40}, b[:], 1e-6)
}
