package kitti

import (
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/spatial"
)

// TestLabelLines compares lines with the columns that the format's description lists.
func TestLabelLines(t *testing.T) {
	l := label{"Car", 0.125, 1, rectangle{10, 20.5, 110.456, 90}, place{1.5, 1.8, 4.25, mgl64.Vec3{-2, 1.65, 20}, -1.5}}
	// alpha = -1.5 - atan2(-2, 20) = -1.5 + 0.0997
	assert.Equal(t, "Car 0.13 1 -1.40 10.00 20.50 110.46 90.00 1.50 1.80 4.25 -2.00 1.65 20.00 -1.50\n", string(l.append(nil)))
	box := rectangle{1, 2, 3, 4}
	assert.Equal(t, "DontCare -1 -1 -10 1.00 2.00 3.00 4.00 -1 -1 -1 -1000 -1000 -1000 -10\n", string(box.appendDontCare(nil)))
	l.place.bottom, l.truncated = mgl64.Vec3{-0.001, 0, 20}, 0
	assert.NotContains(t, string(l.append(nil)), "-0.00")
	for line := range strings.Lines(string(box.appendDontCare(l.append(nil)))) {
		assert.Len(t, strings.Fields(line), 15)
	}
}

func TestAlphaIsWrapped(t *testing.T) {
	p := place{bottom: mgl64.Vec3{10, 0, 1}, heading: -3}
	assert.InDelta(t, -3-math.Atan2(10, 1)+2*math.Pi, p.alpha(), 1e-12)
	p = place{bottom: mgl64.Vec3{-10, 0, 1}, heading: 3}
	assert.InDelta(t, 3+math.Atan2(10, 1)-2*math.Pi, p.alpha(), 1e-12)
}

func TestOcclusionIsALevel(t *testing.T) {
	for hidden, want := range map[float64]int{-1: 3, 0: 0, 0.1: 0, 0.11: 1, 0.5: 1, 0.51: 2, 1: 2} {
		assert.Equal(t, want, occluded(hidden), hidden)
	}
}

// camera is one that looks along x of the vehicle, level, at a place.
func camera(at mgl64.Vec3) mounting {
	return mounting{mount: spatial.Pose{Position: at, Orientation: mgl64.QuatIdent()}}
}

// TestPlaceOfABox turns a car in front of a camera. The heading is -yaw - pi/2, and the corners that KITTI's readers
// compute are the box's.
func TestPlaceOfABox(t *testing.T) {
	size := mgl64.Vec3{4, 1.8, 1.5} // length, width, height
	c := camera(mgl64.Vec3{1.5, 0, 1.6})
	toCamera := c.optical().Inverse()
	for _, yaw := range []float64{0, 30, 90, 135, -60, -150, 179} {
		box := spatial.FromRPY(mgl64.Vec3{20, 3, 0.75}, 0, 0, yaw) // on the ground
		p := placeOf(toCamera.Compose(box), size)
		assert.Equal(t, [3]float64{1.5, 1.8, 4}, [3]float64{p.height, p.width, p.length})
		require.InDeltaSlice(t, []float64{-3, 1.6, 18.5}, p.bottom[:], 1e-9, "x right, y down, z forward")
		require.InDelta(t, 0, math.Remainder(p.heading-(-mgl64.DegToRad(yaw)-math.Pi/2), 2*math.Pi), 1e-9)
		sin, cos := math.Sincos(p.heading)
		for _, sign := range [][3]float64{{1, 1, 0}, {1, -1, 0}, {-1, 1, -1}, {-1, -1, -1}} {
			// l along the heading (cos, 0, -sin), w across it, y from 0 down to -h
			along, across := sign[0]*p.length/2, sign[1]*p.width/2
			got := mgl64.Vec3{
				p.bottom[0] + cos*along + sin*across, p.bottom[1] + sign[2]*p.height, p.bottom[2] - sin*along + cos*across,
			}
			corner := mgl64.Vec3{sign[0] * size[0] / 2, sign[1] * size[1] / 2, (-0.5 - sign[2]) * size[2]}
			want := toCamera.Apply(box.Apply(corner))
			// Whether "across" is left or right makes no difference to a box: the other side's corner is one too.
			other := toCamera.Apply(box.Apply(mgl64.Vec3{corner[0], -corner[1], corner[2]}))
			require.Less(t, min(got.Sub(want).Len(), got.Sub(other).Len()), 1e-9)
		}
	}
}
