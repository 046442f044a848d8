//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/spatial"
)

// coverage returns the share of the square of side 1 around (u, v) where n.x >= d, for a unit
// vector n. It is the trapezium between two corners' distances, integrated.
func coverage(u, v float64, n mgl64.Vec2, d float64) float64 {
	a, b := math.Abs(n[0])/2, math.Abs(n[1])/2
	low, high := min(a, b), max(a, b)
	x := n[0]*u + n[1]*v - d // the centre's distance from the edge
	// The share farther than -x from the centre: the integral of the square's width.
	ramp := func(t float64) float64 { return max(t, 0) * max(t, 0) / 2 }
	if low < 1e-9 {
		return clamp(x/(2*high)+0.5, 0, 1)
	}
	return (ramp(x+low+high) - ramp(x+low-high) - ramp(x-low+high) + ramp(x-low-high)) / (4 * low * high)
}

// TestEdgesAreSmoothedBySamples has a glowing sheet end at a straight edge before the dark, at
// some slants. A pixel shows the share of its points that the sheet covers, which is about
// the area that it covers.
func TestEdgesAreSmoothedBySamples(t *testing.T) {
	const width, height, distance = 64, 48, 10.0
	for _, name := range []string{"pinhole", "svl_fisheye"} { // without xi it draws a pinhole's picture, by rays
		for _, degrees := range []float64{0.7, 20, 45, 83, 131} {
			b := scenetest.NewBuilder("sheet")
			b.Scene.Light = scene.Light{Exposure: 1}
			sheet := scenetest.Matte("sheet", 0, 0, 0)
			sheet.Emissive = mgl32.Vec3{1, 1, 1}
			// A plane that faces the camera, turned about its axis: its edge is 0.031 m off the middle.
			turn := spatial.FromRPY(mgl64.Vec3{distance, 0, 0}, 0, -90, 0).Compose(spatial.FromRPY(mgl64.Vec3{}, 0, 0, degrees))
			turn = turn.Compose(spatial.FromRPY(mgl64.Vec3{50.031, 0, 0}, 0, 0, 0))
			b.Put("sheet", scenetest.Plane(100, 1), sheet, scene.Placement{Pose: turn, Tag: scene.TagWall})
			view := func(samples int) map[string]any {
				return size(width, height, "lens", name, "samples", samples, "enable_postprocess_effects", false)
			}
			labels := size(width, height, "lens", name)
			r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), view(1)}, mounted{camera.RGBDefinition, forward(0), view(4)},
				mounted{camera.RGBDefinition, forward(0), view(9)}, mounted{camera.RGBDefinition, forward(0), view(16)}, mounted{camera.SemanticDefinition, forward(0), labels})
			r.fire(0)
			l := lens(t, width, height, 90)
			// The edge in the picture: n.x = d in pixels, n towards the sheet.
			toOptical := spatial.OpticalInBody().Inverse()
			edge := func(y float64) mgl64.Vec2 {
				u, v, _ := l.Project(toOptical.Apply(turn.Apply(mgl64.Vec3{-50, y, 0})))
				return mgl64.Vec2{u, v}
			}
			p, q := edge(-1), edge(1)
			n := mgl64.Vec2{p[1] - q[1], q[0] - p[0]}.Normalize()
			u, v, _ := l.Project(toOptical.Apply(turn.Apply(mgl64.Vec3{-49, 0, 0})))
			d := n.Dot(p)
			if n.Dot(mgl64.Vec2{u, v}) < d {
				n, d = n.Mul(-1), -d
			}
			partly := 0
			var sum [4]float64
			for v := range height {
				for u := range width {
					area := coverage(float64(u), float64(v), n, d)
					for i, grid := range []int{1, 2, 3, 4} {
						covered, near := 0, false
						for k := range grid * grid {
							x := float64(u) + (float64(k%grid)+0.5)/float64(grid) - 0.5
							y := float64(v) + (float64(k/grid)+0.5)/float64(grid) - 0.5
							off := n.Dot(mgl64.Vec2{x, y}) - d
							near = near || math.Abs(off) < 0.01 // the rasteriser's rounding
							if off >= 0 {
								covered++
							}
						}
						got := float64(pixelAt(r.picture(i), u, v)[1]) / 255
						assert.LessOrEqual(t, math.Abs(got-area), 0.5/float64(grid)+0.01, "%s, %v°, %d points: pixel %d, %d shows %.3f of %.3f", name, degrees, grid*grid, u, v, got, area)
						if !near {
							assert.InDelta(t, float64(covered)/float64(grid*grid), got, 0.003, "%s, %v°, %d points: pixel %d, %d", name, degrees, grid*grid, u, v)
						}
						sum[i] += math.Abs(got - area)
					}
					if area > 1e-9 && area < 1-1e-9 {
						partly++
					}
					tag := scene.Tag(at(r.picture(4), u, v, 1)[0])
					if off := n.Dot(mgl64.Vec2{float64(u), float64(v)}) - d; math.Abs(off) > 0.01 {
						assert.Equal(t, off > 0, tag == scene.TagWall, "labels are those of the centre: pixel %d, %d", u, v)
					}
				}
			}
			assert.Greater(t, partly, 40)
			t.Logf("%s, %v°: pixels of the edge are off by %.3f, %.3f, %.3f, %.3f of their area", name, degrees, sum[0]/float64(partly), sum[1]/float64(partly), sum[2]/float64(partly), sum[3]/float64(partly))
			assert.Less(t, sum[1], 0.7*sum[0], "four points are nearer to the area than one")
			assert.Less(t, sum[3], 0.7*sum[1], "and sixteen than four")
		}
	}
}
